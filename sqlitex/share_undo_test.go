package sqlitex_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/pragma"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// halves are statements that fail, and of which SQLite keeps what they did before.
var halves = map[string]struct {
	schema, sql string
	cause       error
}{
	"OR FAIL": {
		`CREATE TABLE u (n INTEGER PRIMARY KEY); INSERT INTO u VALUES (2)`,
		`INSERT OR FAIL INTO u VALUES (1), (2), (3)`, tx.ErrUnique,
	},
	"ON CONFLICT FAIL": {
		`CREATE TABLE u (n INTEGER PRIMARY KEY, x UNIQUE ON CONFLICT FAIL); INSERT INTO u VALUES (9, 2)`,
		`INSERT INTO u (x) VALUES (1), (2), (3)`, tx.ErrUnique,
	},
	"RAISE(FAIL)": {
		`CREATE TABLE u (n INTEGER PRIMARY KEY); CREATE TRIGGER g BEFORE INSERT ON u WHEN new.n = 2 BEGIN SELECT RAISE(FAIL, 'no'); END`,
		`INSERT INTO u VALUES (1), (2)`, tx.ErrConstraint,
	},
	"RAISE(FAIL) behind another statement of the trigger": {
		`CREATE TABLE u (n INTEGER PRIMARY KEY); CREATE TABLE a (n);
		 CREATE TRIGGER g BEFORE INSERT ON a BEGIN INSERT INTO u VALUES (new.n); SELECT RAISE(FAIL, 'no'); END`,
		`INSERT INTO a VALUES (1)`, tx.ErrConstraint,
	},
	"RAISE(FAIL) in a cascade": {
		`CREATE TABLE a (n INTEGER PRIMARY KEY); CREATE TABLE u (n INTEGER PRIMARY KEY, a REFERENCES a ON DELETE CASCADE);
		 INSERT INTO a VALUES (1); INSERT INTO u VALUES (1, 1), (2, 1), (3, 1);
		 CREATE TRIGGER g BEFORE DELETE ON u WHEN old.n = 2 BEGIN SELECT RAISE(FAIL, 'no'); END`,
		`DELETE FROM a`, tx.ErrConstraint,
	},
	"RAISE(FAIL) where REPLACE deletes": {
		`CREATE TABLE u (n INTEGER PRIMARY KEY, x); INSERT INTO u VALUES (1, 'old');
		 CREATE TRIGGER g AFTER DELETE ON u BEGIN SELECT RAISE(FAIL, 'no'); END`,
		`REPLACE INTO u VALUES (1, 'new')`, tx.ErrConstraint,
	},
	"OR FAIL into a view": {
		`CREATE TABLE u (n INTEGER PRIMARY KEY, x UNIQUE); CREATE VIEW a AS SELECT * FROM u;
		 CREATE TRIGGER g INSTEAD OF INSERT ON a BEGIN INSERT INTO u (x) SELECT value FROM json_each('["x", "x"]'); END`,
		`INSERT OR FAIL INTO a VALUES (1, 2)`, tx.ErrUnique,
	},
	"OR FAIL in a trigger": {
		`CREATE TABLE u (n INTEGER PRIMARY KEY, x UNIQUE); CREATE TABLE a (n);
		 CREATE TRIGGER g BEFORE INSERT ON a BEGIN INSERT OR FAIL INTO u (x) SELECT value FROM json_each('["x", "x"]'); END`,
		`INSERT INTO a VALUES (1)`, tx.ErrUnique,
	},
	"ON CONFLICT FAIL in a trigger": {
		`CREATE TABLE u (n INTEGER PRIMARY KEY, x UNIQUE ON CONFLICT FAIL); CREATE TABLE a (n);
		 CREATE TRIGGER g BEFORE INSERT ON a BEGIN INSERT INTO u (x) SELECT value FROM json_each('["x", "x"]'); END`,
		`INSERT INTO a VALUES (1)`, tx.ErrUnique,
	},
	"a wrong type in a STRICT table": {
		`CREATE TABLE u (n INTEGER) STRICT`,
		`INSERT INTO u VALUES (1), ('x')`, tx.ErrConstraint,
	},
	"a wrong type in a STRICT table, updated": {
		`CREATE TABLE u (n INTEGER) STRICT; INSERT INTO u VALUES (1), (2), (3)`,
		`UPDATE u SET n = CASE n WHEN 3 THEN 'x' ELSE n + 10 END`, tx.ErrConstraint,
	},
	"a table-valued function that fails at its second row": {
		`CREATE TABLE u (n); CREATE TABLE a (x); INSERT INTO a VALUES ('[1]'), ('[')`,
		`INSERT INTO u SELECT value FROM a, json_each(a.x)`, tx.ErrSyntax,
	},
	"an aggregate that fails at its second group": {
		`CREATE TABLE u (n); CREATE TABLE a (k, x); INSERT INTO a VALUES (1, 1), (2, 9223372036854775807), (2, 1)`,
		`INSERT INTO u SELECT sum(x) FROM a GROUP BY k`, tx.ErrSyntax,
	},
	"too many rows": {
		`CREATE TABLE u (n)`,
		`INSERT INTO u VALUES (1), (2) RETURNING n`, tx.ErrTooManyRows,
	},
	"a row that does not fit": {
		`CREATE TABLE u (n)`,
		`INSERT INTO u VALUES ('x') RETURNING n`, tx.ErrScan,
	},
}

// case T7: an error leaves nothing, also where SQLite keeps rows, and is the same alone and among others.
func TestAStatementThatFailsLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for name, half := range halves {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &sqlitex.Options{Pragmas: pragma.Config{RecursiveTriggers: pragma.On}}
			db := dbtest.Open(t, o, schema+`;`+half.schema)
			state := func() []string {
				rows, err := sqlitex.All[string](t.Context(), db, `SELECT quote(n) FROM u ORDER BY 1`)
				require.NoError(t, err)
				return rows
			}
			before := state()
			calls := map[string]func() error{
				"ExecOne": returns(db, half.sql),
				"Batch": batches(db, func(w *tx.Writer) error {
					_, err := tx.One[int64](w, half.sql)
					return err
				}),
			}
			if name != "too many rows" && name != "a row that does not fit" {
				calls["Exec"] = executes(db, half.sql)
			}
			for way, call := range calls {
				require.ErrorIs(t, call(), half.cause, "%s alone", way)
				require.Equal(t, before, state(), "%s alone", way)
				runs := 0
				outcomes := together(t, db, call, adds(db, "leader"), batchAdds(db, "batch", &runs), call, call, batchAdds(db, "batch", &runs), adds(db, "last"))
				for _, i := range []int{0, 3, 4} {
					require.ErrorIs(t, outcomes[i].err, half.cause, way)
				}
				succeeded(t, outcomes[1], outcomes[2], outcomes[5], outcomes[6])
				require.Equal(t, before, state(), "%s among others", way)
			}
			assert.Len(t, values(t, db), 4*len(calls))
		})
	}
}

// case T7: inside Write a failing statement does what SQLite says, and the function decides.
func TestInAWriteORFAILKeepsTheRowsBeforeTheFailure(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, withRow)
	keep := func(w *tx.Writer) error {
		_, err := w.Exec(orFail)
		require.ErrorIs(t, err, tx.ErrUnique)
		return nil
	}
	require.NoError(t, db.Write(t.Context(), keep))
	assert.Equal(t, []string{"there", "left"}, values(t, db))
	_, err := db.Exec(t.Context(), `DELETE FROM t WHERE id = 1000`)
	require.NoError(t, err)
	runs := 0
	n, callers := commits(db, func() {
		succeeded(t, together(t, db, adds(db, "leader"), batches(db, func(w *tx.Writer) error { runs++; return keep(w) }))...)
	})
	assert.Equal(t, []int64{1, 2, 1}, []int64{n, callers, int64(runs)}, "a Batch alike, and nobody is disturbed")
	assert.Equal(t, []string{"there", "leader", "left"}, values(t, db))
}

// A conflict clause that comes in by a column: what the schema holds is looked at anew.
func TestFAILMayComeWithAnAlteredTable(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, withRow+`; CREATE TABLE u (n INTEGER PRIMARY KEY); CREATE TABLE a (n);
		CREATE TRIGGER g BEFORE INSERT ON a BEGIN INSERT INTO u (n, x) SELECT value, nullif(value, 2) FROM json_each('[1, 2]'); END;`)
	outcomes := together(t, db,
		adds(db, "leader"),
		executes(db, `INSERT INTO t (id) VALUES (1)`), // has the schema looked at
		batches(db, func(w *tx.Writer) error {
			_, err := w.Exec(`ALTER TABLE u ADD COLUMN x NOT NULL ON CONFLICT FAIL DEFAULT 1`)
			return err
		}),
		executes(db, `INSERT INTO a VALUES (1)`),
		adds(db, "last"),
	)
	require.ErrorIs(t, outcomes[1].err, tx.ErrUnique)
	require.ErrorIs(t, outcomes[3].err, tx.ErrNotNull)
	succeeded(t, outcomes[0], outcomes[2], outcomes[4])
	n, err := sqlitex.One[int](context.Background(), db, `SELECT count(*) FROM u`)
	require.NoError(t, err)
	assert.Zero(t, n)
}
