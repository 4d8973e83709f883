package tx_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

const constrained = table + `;
	CREATE TABLE p (id INTEGER PRIMARY KEY);
	CREATE TABLE k (
		id INTEGER PRIMARY KEY,
		u TEXT UNIQUE, nn TEXT NOT NULL DEFAULT 'x', ch INTEGER CHECK (ch <> 13),
		fk INTEGER REFERENCES p, pk TEXT, st INTEGER, UNIQUE (pk, st));
	CREATE TABLE w (k TEXT PRIMARY KEY) WITHOUT ROWID;
	CREATE TABLE s (i INTEGER) STRICT;
	CREATE TRIGGER g BEFORE INSERT ON p WHEN new.id = 13 BEGIN SELECT RAISE(ABORT, 'refused'); END;
	INSERT INTO k (id, u, pk, st) VALUES (1, 'taken', 'taken', 1);
	INSERT INTO w VALUES ('taken');`

// failures are statements that fail, with the sentinels that must match and those that must not.
var failures = map[string]struct {
	sql  string
	args []any
	code sqlite.ResultCode
	is   []error
	not  []error
}{
	"unique": {
		`INSERT INTO k (u) VALUES (?)`,
		[]any{"taken"},
		sqlite.ResultConstraintUnique,
		[]error{tx.ErrConstraint, tx.ErrUnique},
		[]error{tx.ErrNotNull, tx.ErrForeignKey, tx.ErrCheck},
	},
	"primary key": {
		`INSERT INTO w VALUES (?)`, []any{"taken"}, sqlite.ResultConstraintPrimaryKey, []error{tx.ErrConstraint, tx.ErrUnique}, nil,
	},
	"rowid": {
		`INSERT INTO k (id) VALUES (?)`, []any{1}, sqlite.ResultConstraintPrimaryKey, []error{tx.ErrConstraint, tx.ErrUnique}, nil,
	},
	"not null": {
		`INSERT INTO k (nn, u) VALUES (NULL, ?)`,
		[]any{"secret"},
		sqlite.ResultConstraintNotNull,
		[]error{tx.ErrConstraint, tx.ErrNotNull},
		[]error{tx.ErrUnique},
	},
	"check": {
		`INSERT INTO k (ch, u) VALUES (?, ?)`,
		[]any{13, "secret"},
		sqlite.ResultConstraintCheck,
		[]error{tx.ErrConstraint, tx.ErrCheck},
		[]error{tx.ErrUnique},
	},
	"foreign key": {
		`INSERT INTO k (fk, u) VALUES (?, ?)`,
		[]any{4711, "secret"},
		sqlite.ResultConstraintForeignKey,
		[]error{tx.ErrConstraint, tx.ErrForeignKey},
		[]error{tx.ErrUnique},
	},
	"trigger": {
		`INSERT INTO p (id) VALUES (?)`,
		[]any{13},
		sqlite.ResultConstraintTrigger,
		[]error{tx.ErrConstraint},
		[]error{tx.ErrUnique, tx.ErrCheck, tx.ErrForeignKey, tx.ErrNotNull},
	},
	"strict type": {
		`INSERT INTO s VALUES (?)`, []any{"secret"}, sqlite.ResultConstraint | 12<<8, // SQLITE_CONSTRAINT_DATATYPE
		[]error{tx.ErrConstraint}, []error{tx.ErrCheck},
	},
	"datatype mismatch": {`INSERT INTO t (id) VALUES (?)`, []any{"secret"}, sqlite.ResultMismatch, nil, []error{tx.ErrConstraint}},
	"syntax":            {`INSERT INTO t (id) VALUSE (?)`, []any{"secret"}, sqlite.ResultError, []error{tx.ErrSyntax}, []error{tx.ErrConstraint}},
	"no such table":     {`INSERT INTO nowhere VALUES (?)`, []any{"secret"}, sqlite.ResultError, []error{tx.ErrSyntax}, nil},
	"integer overflow":  {`INSERT INTO t (n) VALUES (abs(?))`, []any{-9223372036854775808}, sqlite.ResultError, []error{tx.ErrSyntax}, nil},
	"too big":           {`INSERT INTO t (s) VALUES (zeroblob(?))`, []any{2_000_000_000}, sqlite.ResultTooBig, []error{tx.ErrTooBig}, nil},
}

var sentinels = []error{
	tx.ErrBusy, tx.ErrClosed, tx.ErrNotADatabase, tx.ErrCannotOpen, tx.ErrWALUnavailable, tx.ErrNetworkFilesystem, tx.ErrTxDone,
	tx.ErrReadOnly, tx.ErrNotAllowed, tx.ErrArguments, tx.ErrNoRows, tx.ErrTooManyRows, tx.ErrScan, tx.ErrConstraint, tx.ErrUnique,
	tx.ErrForeignKey, tx.ErrNotNull, tx.ErrCheck, tx.ErrSyntax, tx.ErrInterrupted, tx.ErrFull, tx.ErrTooBig, tx.ErrIO, tx.ErrCorrupt,
	tx.ErrCheckFailed, tx.ErrStateChanged,
}

func TestEveryFailureCarriesItsCodeAndMatchesItsSentinels(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, constrained)
	for name, f := range failures {
		errs := map[string]error{}
		_, errs["db.Exec"] = db.Exec(bg, f.sql, f.args...)
		_, errs["ExecOne"] = sqlitex.ExecOne[int64](bg, db, f.sql, f.args...)
		errs["Write"] = db.Write(bg, func(w *tx.Writer) error {
			_, errs["Exec"] = w.Exec(f.sql, f.args...)
			_, errs["One"] = tx.One[int64](w, f.sql, f.args...)
			_, errs["All"] = tx.All[int64](w, f.sql, f.args...)
			for _, err := range tx.Each[int64](w, f.sql, f.args...) {
				errs["Each"] = err
			}
			return fmt.Errorf("wrapped twice: %w", fmt.Errorf("wrapped: %w", errs["Exec"]))
		})
		for way, err := range errs {
			what := name + ", " + way
			require.Error(t, err, what)
			var e *tx.Error
			require.ErrorAs(t, err, &e, what)
			assert.Equal(t, f.code, e.Code, what)
			assert.Equal(t, f.sql, e.SQL, what)
			assert.NotEmpty(t, e.Message, what)
			assert.Contains(t, err.Error(), e.Message, what)
			for _, s := range f.is {
				assert.ErrorIs(t, err, s, what)
			}
			for _, s := range f.not {
				assert.NotErrorIs(t, err, s, what)
			}
			assert.NotErrorIs(t, err, context.Canceled)
			for _, value := range []string{"secret", "taken", "4711", "9223372036854775808", "2000000000"} {
				assert.NotContains(t, err.Error(), value, "an argument in the message of %s", what)
			}
		}
	}
}

func TestAnErrorTellsWhereInTheTextItIs(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	for sql, token := range map[string]string{
		`SELECT * FROM t WHERE foo = 1`:           "foo",
		`INSERT INTO t (id) VALUSE (1)`:           "VALUSE",
		`SELECT 'é', nowhere(1)`:                  "nowhere",
		"-- first line\nSELECT id\nFROM t WHRE 1": "1",
	} {
		_, err := sqlitex.All[int64](bg, db, sql)
		var e *tx.Error
		require.ErrorAs(t, err, &e, sql)
		require.GreaterOrEqual(t, e.Offset, 0, sql)
		assert.Equal(t, token, e.SQL[e.Offset:][:len(token)], sql)
		assert.Contains(t, err.Error(), fmt.Sprintf("at byte %d", e.Offset))
	}
	_, err := db.Exec(bg, `INSERT INTO t (id) VALUES (1), (1)`)
	var e *tx.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, -1, e.Offset, "SQLite knows no place for a constraint")
	assert.NotContains(t, err.Error(), "at byte")
}

func TestNoRowsIsTheErrorOfDatabaseSQLToo(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table+`; INSERT INTO t (id) VALUES (1), (2)`)
	check := func(q tx.Queryer) error {
		_, err := tx.One[int64](q, `SELECT id FROM t WHERE id = 3`)
		require.ErrorIs(t, err, tx.ErrNoRows)
		require.ErrorIs(t, err, sql.ErrNoRows)
		require.ErrorIs(t, fmt.Errorf("wrapped: %w", err), sql.ErrNoRows)
		require.NotErrorIs(t, err, tx.ErrTooManyRows)
		_, err = tx.One[int64](q, `SELECT id FROM t`)
		require.ErrorIs(t, err, tx.ErrTooManyRows)
		require.NotErrorIs(t, err, sql.ErrNoRows)
		all, err := tx.All[int64](q, `SELECT id FROM t WHERE id = 3`)
		require.NoError(t, err)
		require.NotNil(t, all)
		require.Empty(t, all)
		for range tx.Each[int64](q, `SELECT id FROM t WHERE id = 3`) {
			t.Error("a row of nothing")
		}
		return nil
	}
	require.NoError(t, db.Read(bg, func(r *tx.Reader) error { return check(r) }))
	write(t, db, func(w *tx.Writer) error { return check(w) })
	_, err := sqlitex.One[int64](bg, db, `SELECT id FROM t WHERE id = 3`)
	require.ErrorIs(t, err, sql.ErrNoRows)
}

func TestEverySentinelMatchesOnlyItself(t *testing.T) {
	t.Parallel()
	for i, a := range sentinels {
		for j, b := range sentinels {
			assert.Equal(t, i == j, errors.Is(fmt.Errorf("wrapped: %w", a), b), "%v is %v", a, b)
		}
		assert.NotEmpty(t, a.Error())
	}
}

// Arguments that cannot be bound are named by their place, never by their value.
func TestAnArgumentsErrorNamesNoValue(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	for _, args := range [][]any{
		{"secret"},
		{"secret", "secret", "secret"},
		{struct{ S string }{"secret"}, 1},
		{[]string{"secret"}, "secret"},
		{map[string]string{"secret": "secret"}, 1},
		{sql.Named("b", "secret"), sql.Named("a", "secret")},
		{tx.List([][]byte{[]byte("secret")}), 1},
	} {
		_, err := db.Exec(bg, `INSERT INTO t (n, s) VALUES (?, ?)`, args...)
		require.ErrorIs(t, err, tx.ErrArguments)
		assert.NotContains(t, err.Error(), "secret")
	}
	_, err := sqlitex.All[int64](bg, db, `SELECT ?`, "secret")
	require.ErrorIs(t, err, tx.ErrScan)
	assert.NotContains(t, err.Error(), "secret")
}
