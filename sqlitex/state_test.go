package sqlitex_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// prank is something that user code leaves behind on a connection lent to it. What fails, as on a read-only connection,
// has left nothing.
type prank struct {
	name string
	do   func(t *testing.T, c *sqlite.Conn) error
}

func statements(sql ...string) prank {
	return prank{sql[0], func(_ *testing.T, c *sqlite.Conn) (err error) {
		for _, s := range sql {
			err = errors.Join(err, run(c, s))
		}
		return err
	}}
}

var mischief = []prank{
	statements("ATTACH ':memory:' AS x", "CREATE TABLE x.t (x)"),
	statements(`ATTACH ':memory:' AS "q""u'o;te"`),
	statements("CREATE TEMP TABLE t (x)"),
	statements(`CREATE TEMP TABLE "a""b'c;d" (x)`, `CREATE TEMP VIEW "v""w" AS SELECT 1`, `CREATE INDEX temp."i""x" ON "a""b'c;d" (x)`),
	statements("CREATE TEMP TRIGGER \"tr\"\"g\" AFTER INSERT ON main.t BEGIN DELETE FROM t; END"),
	statements("CREATE TEMP TABLE p (id INTEGER PRIMARY KEY)", "CREATE TEMP TABLE c (p REFERENCES p)", "INSERT INTO p VALUES (1)", "INSERT INTO c VALUES (1)"),
	statements("CREATE VIRTUAL TABLE temp.f USING fts5(x)", "INSERT INTO f VALUES ('a')"),
	statements("CREATE VIRTUAL TABLE temp.r USING rtree(id, a, b)"),
	statements("CREATE TEMP TABLE au (id INTEGER PRIMARY KEY AUTOINCREMENT)", "INSERT INTO au DEFAULT VALUES", "ANALYZE temp"),
	statements("PRAGMA foreign_keys=OFF"),
	statements("PRAGMA cache_size=7"),
	statements("PRAGMA query_only=1"),
	statements("PRAGMA synchronous=OFF"),
	statements("PRAGMA case_sensitive_like=1"),
	statements("PRAGMA ignore_check_constraints=1"),
	statements("PRAGMA read_uncommitted=1"),
	statements("PRAGMA reverse_unordered_selects=1"),
	statements("PRAGMA writable_schema=1"),
	statements("PRAGMA legacy_alter_table=1"),
	statements("PRAGMA recursive_triggers=1"),
	statements("PRAGMA automatic_index=0"),
	statements("PRAGMA cache_spill=0"),
	statements("PRAGMA max_page_count=100"),
	statements("PRAGMA count_changes=1"),
	statements("PRAGMA full_column_names=1", "PRAGMA short_column_names=0"),
	statements("PRAGMA empty_result_callbacks=1"),
	statements("PRAGMA secure_delete=1"),
	statements("PRAGMA threads=1"),
	statements("PRAGMA checkpoint_fullfsync=1"),
	statements("PRAGMA temp_store=FILE"),
	statements("PRAGMA busy_timeout=1"),
	statements("PRAGMA locking_mode=EXCLUSIVE", "INSERT INTO t (v) VALUES ('locked')", "DELETE FROM t WHERE v='locked'"),
	statements("PRAGMA journal_mode=DELETE"),
	statements("PRAGMA journal_mode=OFF"),
	{"SetBusyTimeout", func(_ *testing.T, c *sqlite.Conn) error { c.SetBusyTimeout(1); return nil }},
	{"SetBlockOnBusy", func(_ *testing.T, c *sqlite.Conn) error { c.SetBlockOnBusy(); return nil }},
	{"SetInterrupt that has come", func(_ *testing.T, c *sqlite.Conn) error {
		done := make(chan struct{})
		close(done)
		c.SetInterrupt(done)
		return run(c, "SELECT 1")
	}},
	{"SetInterrupt to come", func(t *testing.T, c *sqlite.Conn) error {
		done := make(chan struct{})
		t.Cleanup(func() { close(done) })
		c.SetInterrupt(done)
		return nil
	}},
	{"statement in its rows", func(_ *testing.T, c *sqlite.Conn) error {
		_, err := c.Prep("SELECT 1 UNION ALL SELECT count(*) FROM t").Step()
		return err
	}},
	{"transient statement in its rows", func(_ *testing.T, c *sqlite.Conn) error {
		s, _, err := c.PrepareTransient("SELECT 1 UNION ALL SELECT count(*) FROM t")
		if err == nil {
			_, err = s.Step()
		}
		return err
	}},
	{"statement that writes, in its rows", func(_ *testing.T, c *sqlite.Conn) error {
		s, _, err := c.PrepareTransient("UPDATE t SET v = v RETURNING id")
		if err == nil {
			_, err = s.Step()
		}
		return err
	}},
	{"blob handle", func(_ *testing.T, c *sqlite.Conn) error {
		_, err := c.OpenBlob("", "t", "v", 1, false)
		return err
	}},
	{"blob handle that writes", func(_ *testing.T, c *sqlite.Conn) error {
		_, err := c.OpenBlob("", "t", "v", 1, true)
		return err
	}},
	{"backup", func(t *testing.T, c *sqlite.Conn) error {
		b, err := sqlite.NewBackup(rawConn(t, ":memory:"), "main", c, "main")
		if err == nil {
			t.Cleanup(func() { _ = b.Close() }) // until then SQLite keeps the connection
			_, err = b.Step(1)
		}
		return err
	}},
	{"limit", func(_ *testing.T, c *sqlite.Conn) error { c.Limit(sqlite.LimitSQLLength, 3); return nil }},
	{"limit of columns", func(_ *testing.T, c *sqlite.Conn) error { c.Limit(sqlite.LimitColumn, 1); return nil }},
	{"defensive", func(_ *testing.T, c *sqlite.Conn) error { return c.SetDefensive(true) }},
}

// state is all that one caller might see of another on the connections of db.
func state(t testing.TB, db *sqlitex.DB) []map[string]string {
	t.Helper()
	return everywhere(t, db)
}

// case P10: what a caller leaves on a connection is gone when the next one gets it, and both kinds of connection work on.
func TestNothingThatIsLeftOnAConnectionReachesTheNextCaller(t *testing.T) {
	t.Parallel()
	for _, leave := range mischief {
		t.Run(leave.name, func(t *testing.T) {
			t.Parallel()
			// The busy timeout bounds what the prank itself waits for.
			db := dbtest.Open(t, &sqlitex.Options{MaxReaders: 1, BusyTimeout: 100 * time.Millisecond}, schema)
			insert(t, db, "first")
			before := state(t, db)
			for range 2 {
				_ = db.ReadConn(t.Context(), func(c *sqlite.Conn) error { return leave.do(t, c) })
				assert.Equal(t, before, state(t, db), "after ReadConn")
				_ = db.WriteConn(t.Context(), func(c *sqlite.Conn) error { return leave.do(t, c) })
				assert.Equal(t, before, state(t, db), "after WriteConn")
			}
			usable(t, db)
			assert.Equal(t, 1, count(t, db))
			_, err := db.Checkpoint(t.Context(), sqlitex.CheckpointTruncate)
			assert.NoError(t, err, "no lock and no snapshot is left")
		})
	}
}

// A connection that fn closes is of no use to anybody, but harms nobody either.
func TestConnectionThatIsClosedByItsBorrowerIsReplaced(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, &sqlitex.Options{MaxReaders: 1}, schema)
	for range 2 {
		err := db.ReadConn(t.Context(), func(c *sqlite.Conn) error { _ = c.Close(); return nil })
		require.ErrorIs(t, err, sqlitex.ErrStateChanged)
		err = db.WriteConn(t.Context(), func(c *sqlite.Conn) error { _ = c.Close(); return nil })
		require.ErrorIs(t, err, sqlitex.ErrStateChanged)
		usable(t, db)
	}
}

// case P3
func TestTransactionLeftOpenIsRolledBackAndReported(t *testing.T) {
	t.Parallel()
	for _, sql := range []string{"BEGIN", "BEGIN IMMEDIATE", "BEGIN EXCLUSIVE", "SAVEPOINT s"} {
		t.Run(sql, func(t *testing.T) {
			t.Parallel()
			db := dbtest.Open(t, &sqlitex.Options{MaxReaders: 1}, schema)
			mine := errors.New("mine")
			for _, returned := range []error{nil, mine} {
				err := db.ReadConn(t.Context(), func(c *sqlite.Conn) error {
					require.NoError(t, run(c, sql))
					ask(t, c, "SELECT count(*) FROM t")
					return returned
				})
				require.ErrorIs(t, err, sqlitex.ErrStateChanged, "the culprit is told")
				require.ErrorIs(t, errors.Join(err, mine), mine)
				err = db.WriteConn(t.Context(), func(c *sqlite.Conn) error {
					require.NoError(t, run(c, sql))
					require.NoError(t, run(c, "INSERT INTO t (v) VALUES ('lost')"))
					return returned
				})
				require.ErrorIs(t, err, sqlitex.ErrStateChanged)
				if returned != nil {
					require.ErrorIs(t, err, returned)
				}
				assert.Zero(t, count(t, db), "rolled back")
				usable(t, db)
			}
			assert.PanicsWithValue(t, "boom", func() {
				_ = db.WriteConn(t.Context(), func(c *sqlite.Conn) error {
					require.NoError(t, run(c, sql))
					panic("boom")
				})
			})
			usable(t, db)
		})
	}
}

// refusedEverywhere changes the connection, or the transaction, for others.
var refusedEverywhere = []string{
	"ATTACH ':memory:' AS x", "DETACH x", "EXPLAIN ATTACH ':memory:' AS x", "VACUUM", "VACUUM INTO 'x'",
	"BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT s", "RELEASE s", " ; ;/* c */ -- c\n BEGIN IMMEDIATE",
	"PRAGMA foreign_keys=OFF", "PRAGMA foreign_keys(OFF)", "pragma\tmain.foreign_keys = off", "/* c */ PRAGMA foreign_keys=0",
	"-- c\nPRAGMA foreign_keys=0", ";; PRAGMA foreign_keys=0", "\ufeffPRAGMA foreign_keys=0", "EXPLAIN PRAGMA foreign_keys=0",
	"EXPLAIN QUERY PLAN PRAGMA foreign_keys=0", "EXPLAIN/**/PRAGMA foreign_keys=0", `PRAGMA "foreign_keys"=0`, "PRAGMA 'foreign_keys'=0",
	"PRAGMA [foreign_keys]=0", "PRAGMA `foreign_keys`=0", "PRAGMA\x0cforeign_keys=0", "PRAGMA/**/foreign_keys/**/=/**/0",
	"PRAGMA cache_size=7", "PRAGMA cache_size(-7)", "PRAGMA query_only=1", "PRAGMA locking_mode=EXCLUSIVE", "PRAGMA writable_schema=1",
	"PRAGMA case_sensitive_like=1", "PRAGMA temp_store=1", "PRAGMA synchronous=0", "PRAGMA journal_mode=DELETE", "PRAGMA busy_timeout=1",
	"PRAGMA wal_checkpoint(TRUNCATE)", "PRAGMA shrink_memory", "PRAGMA read_uncommitted=1", "PRAGMA nonsense=1", "PRAGMA max_page_count=1",
}

// case P10
func TestWhatWouldChangeAConnectionIsRefusedInTransactions(t *testing.T) {
	t.Parallel()
	for _, sql := range refusedEverywhere {
		t.Run(sql, func(t *testing.T) {
			t.Parallel()
			db := dbtest.Open(t, &sqlitex.Options{MaxReaders: 1}, schema)
			before := state(t, db)
			ctx := t.Context()
			ways := map[string]func() error{
				"Exec":    func() error { _, err := db.Exec(ctx, sql); return err },
				"ExecOne": func() error { _, err := sqlitex.ExecOne[string](ctx, db, sql); return err },
				"One":     func() error { _, err := sqlitex.One[string](ctx, db, sql); return err },
				"All":     func() error { _, err := sqlitex.All[string](ctx, db, sql); return err },
				"Each": func() (err error) {
					for _, err = range sqlitex.Each[string](ctx, db, sql) {
					}
					return err
				},
				"Read": func() error {
					return db.Read(ctx, func(r *tx.Reader) error { _, err := tx.All[string](r, sql); return err })
				},
				"Write":  func() error { return db.Write(ctx, func(w *tx.Writer) error { _, err := w.Exec(sql); return err }) },
				"Script": func() error { return db.Write(ctx, func(w *tx.Writer) error { return w.Script("SELECT 1; " + sql) }) },
				"Savepoint": func() error {
					return db.Write(ctx, func(w *tx.Writer) error {
						return w.Savepoint(func(w *tx.Writer) error { _, err := tx.All[string](w, sql); return err })
					})
				},
			}
			for name, way := range ways {
				require.ErrorIs(t, way(), sqlitex.ErrNotAllowed, name)
				assert.Equal(t, before, state(t, db), name)
			}
			usable(t, db)
		})
	}
}

// case P10: nor does it help to hide a statement behind another one.
func TestSecondStatementNeverRuns(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, &sqlitex.Options{MaxReaders: 1}, schema)
	before := state(t, db)
	for _, sql := range []string{"SELECT 1; PRAGMA foreign_keys=0", "DELETE FROM t; ATTACH ':memory:' AS x", "SELECT 1;;COMMIT", "SELECT 1; /* c */ ; PRAGMA cache_size=1"} {
		_, err := db.Exec(t.Context(), sql)
		require.Error(t, err, sql)
		_, err = sqlitex.All[int](t.Context(), db, sql)
		require.Error(t, err, sql)
		assert.Equal(t, before, state(t, db), sql)
	}
}
