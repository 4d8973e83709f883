package sqlitex_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// hooks lets a statement call into a test: hook('name') calls what is stored under that name.
type hooks struct {
	sync.Map
	opened atomic.Int32 // connections
}

func (h *hooks) setup(_ context.Context, c *sqlite.Conn) error {
	h.opened.Add(1)
	return c.CreateFunction("hook", &sqlite.FunctionImpl{NArgs: 1, Scalar: func(_ sqlite.Context, args []sqlite.Value) (sqlite.Value, error) {
		if fn, ok := h.Load(args[0].Text()); ok {
			fn.(func())()
		}
		return sqlite.IntegerValue(1), nil
	}})
}

// long is a value that takes some hundred milliseconds.
const long = `(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000000) SELECT count(*) FROM n)`

// Rule 4: SQLite rolls back everything when it interrupts a statement that writes.
func TestAnInterruptedWriteConcernsItsOwnCallerOnly(t *testing.T) {
	t.Parallel()
	var h hooks
	handles(t, &sqlitex.Options{Setup: h.setup}, schema+`; INSERT INTO t (v) VALUES ('there')`, func(t *testing.T, db *sqlitex.DB) {
		const update = `UPDATE t SET v = ` + long + ` WHERE hook(?)`
		calls := map[string]func(ctx context.Context) error{
			"Exec": func(ctx context.Context) error { _, err := db.Exec(ctx, update, t.Name()); return err },
			"ExecOne": func(ctx context.Context) error {
				_, err := sqlitex.ExecOne[int](ctx, db, update+` RETURNING 1`, t.Name())
				return err
			},
			"Batch": func(ctx context.Context) error {
				return db.Batch(ctx, func(w *tx.Writer) error { _, err := w.Exec(update, t.Name()); return err })
			},
			"Batch that passes over it": func(ctx context.Context) error {
				return db.Batch(ctx, func(w *tx.Writer) error { _, _ = w.Exec(update, t.Name()); return nil })
			},
		}
		total := 1
		for name, call := range calls {
			runs := 0
			ctx, cancel := context.WithCancel(context.Background())
			h.Store(t.Name(), func() { cancel() })
			outcomes := together(t, db, adds(db, "leader"), batchAdds(db, "batch", &runs), func() error { return call(ctx) }, adds(db, "last"))
			require.ErrorIs(t, outcomes[2].err, context.Canceled, name)
			succeeded(t, outcomes[0], outcomes[1], outcomes[3])
			assert.Equal(t, 2, runs, "%s: all was undone and done again", name)
			total += 3
			assert.Len(t, values(t, db), total)
			assert.Equal(t, "there", values(t, db)[0])
		}
		usable(t, db)
	})
}

// case T8
func TestEveryPartHasItsOwnOutcome(t *testing.T) {
	t.Parallel()
	var h hooks
	handles(t, &sqlitex.Options{Setup: h.setup}, withRow+`;
		CREATE TABLE u (n INTEGER PRIMARY KEY); CREATE TRIGGER g BEFORE INSERT ON u BEGIN SELECT RAISE(ROLLBACK, 'never'); END`,
		func(t *testing.T, db *sqlitex.DB) {
			parts := map[string]struct {
				call  func() error
				check func(o outcome)
			}{
				"panics": {
					batches(db, func(w *tx.Writer) error { _ = addsIn(w, "undone"); panic("boom") }),
					func(o outcome) { assert.Equal(t, outcome{panicked: "boom"}, o) },
				},
				"exits": {
					batches(db, func(w *tx.Writer) error { _ = addsIn(w, "undone"); runtime.Goexit(); return nil }),
					func(o outcome) { assert.Equal(t, outcome{}, o) },
				},
				"fails": {
					batches(db, func(w *tx.Writer) error { _ = addsIn(w, "undone"); return errOwn }),
					func(o outcome) { assert.Equal(t, errOwn, o.err) },
				},
				"is cancelled": {
					func() error {
						ctx, cancel := context.WithCancel(context.Background())
						defer cancel()
						h.Store(t.Name(), func() { cancel() })
						_, err := db.Exec(ctx, `UPDATE t SET v = `+long+` WHERE hook(?)`, t.Name())
						return err
					},
					func(o outcome) { assert.ErrorIs(t, o.err, context.Canceled) },
				},
				"rolls back in Exec": {
					executes(db, `INSERT OR ROLLBACK INTO t (id, v) VALUES (1000, 'undone'), (1, 'undone')`),
					func(o outcome) { assert.ErrorIs(t, o.err, tx.ErrUnique) },
				},
				"rolls back in ExecOne": {
					returns(db, `INSERT INTO u VALUES (1) RETURNING n`),
					func(o outcome) { assert.ErrorIs(t, o.err, tx.ErrConstraint) },
				},
				"rolls back in Batch": {
					batches(db, func(w *tx.Writer) error {
						_ = addsIn(w, "undone")
						_, err := w.Exec(`INSERT INTO u VALUES (1)`)
						assert.ErrorIs(t, err, tx.ErrConstraint)
						assert.ErrorIs(t, addsIn(w, "undone"), tx.ErrConstraint)
						return nil
					}),
					func(o outcome) { assert.ErrorIs(t, o.err, tx.ErrConstraint) },
				},
				"leaves a row": {
					executes(db, orFail),
					func(o outcome) { assert.ErrorIs(t, o.err, tx.ErrUnique) },
				},
			}
			test := func(names ...string) {
				calls := []func() error{adds(db, "x")}
				runs := 0
				for _, name := range names {
					calls = append(calls, parts[name].call, adds(db, "x"), batchAdds(db, "x", &runs))
				}
				outcomes := together(t, db, calls...)
				succeeded(t, outcomes[0])
				for i, name := range names {
					parts[name].check(outcomes[1+3*i])
					succeeded(t, outcomes[2+3*i], outcomes[3+3*i])
				}
				left, err := sqlitex.All[string](context.Background(), db, `SELECT v FROM t WHERE v NOT IN ('x', 'there')`)
				require.NoError(t, err)
				assert.Empty(t, left, names)
				removed, err := db.Exec(context.Background(), `DELETE FROM t WHERE v = 'x'`)
				require.NoError(t, err)
				assert.EqualValues(t, len(calls)-len(names), removed.RowsAffected, "%v: all others have committed", names)
			}
			all := make([]string, 0, len(parts))
			for name := range parts {
				test(name)
				all = append(all, name)
			}
			test(all...)
			slices.Reverse(all)
			test(all...)
			usable(t, db)
		})
}

// A function in SQL is code of the program's. It panics for the call whose statement it is in, whoever leads.
func TestAPanicInAnSQLFunctionReachesItsOwnCallerOnly(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, place := range []string{"leader", "follower"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			handles(t, nil, "", func(t *testing.T, db *sqlitex.DB) {
				var h hooks
				path := db.Path()
				require.NoError(t, db.Close())
				db = dbtest.OpenAt(t, path, &sqlitex.Options{Setup: h.setup}, schema)
				h.Store(t.Name(), func() { panic(boom) })
				const sql = `INSERT INTO t (v) SELECT 'undone' WHERE hook(?)`
				for _, call := range []func() error{
					executes(db, sql, t.Name()),
					returns(db, sql+` RETURNING id`, t.Name()),
					batches(db, func(w *tx.Writer) error { _, err := w.Exec(sql, t.Name()); return err }),
				} {
					runs := 0
					calls := []func() error{adds(db, "x"), call, batchAdds(db, "x", &runs), adds(db, "x")}
					if place == "leader" {
						calls[0], calls[1] = calls[1], calls[0]
					}
					before := h.opened.Load()
					outcomes := together(t, db, calls...)
					if path != ":memory:" {
						assert.Greater(t, h.opened.Load(), before, "the connection is another one")
					}
					for i, o := range outcomes {
						if (i == 0) == (place == "leader") && i < 2 {
							assert.Equal(t, outcome{panicked: boom}, o)
						} else {
							succeeded(t, o)
						}
					}
				}
				assert.Equal(t, []string{"x", "x", "x", "x", "x", "x", "x", "x", "x"}, values(t, db))
				usable(t, db)
			})
		})
	}
}

// runtime.Goexit in an SQL function ends the goroutine it runs on, which is never that of the leader or of another caller.
func TestGoexitInAnSQLFunctionReachesItsOwnCallerOnly(t *testing.T) {
	t.Parallel()
	var h hooks
	handles(t, &sqlitex.Options{Setup: h.setup}, schema, func(t *testing.T, db *sqlitex.DB) {
		h.Store(t.Name(), runtime.Goexit)
		outcomes := together(t, db, adds(db, "leader"), adds(db, "x"), executes(db, `INSERT INTO t (v) SELECT 'undone' WHERE hook(?)`, t.Name()), adds(db, "x"))
		assert.False(t, outcomes[2].returned)
		succeeded(t, outcomes[0], outcomes[1], outcomes[3])
		assert.Len(t, values(t, db), 3)
		usable(t, db)
	})
}

// Code of the caller's around a statement.
func TestAPanicInAValuerOrScannerReachesItsOwnCallerOnly(t *testing.T) {
	t.Parallel()
	handles(t, nil, schema, func(t *testing.T, db *sqlitex.DB) {
		ctx := context.Background()
		const sql = `INSERT INTO t (v) VALUES ('undone') RETURNING id`
		panics := valuer(func() (driver.Value, error) { panic("boom") })
		exits := valuer(func() (driver.Value, error) { runtime.Goexit(); return nil, nil })
		for _, bad := range []valuer{panics, exits} {
			for _, call := range []func() error{
				executes(db, `INSERT INTO t (v) VALUES (?)`, bad),
				returns(db, `INSERT INTO t (v) VALUES (?) RETURNING id`, bad),
			} {
				assert.False(t, (<-ended(call)).returned)
			}
		}
		outcomes := together(t, db,
			func() error { _, err := sqlitex.ExecOne[panicking](ctx, db, sql); return err },
			adds(db, "x"),
			func() error { _, err := sqlitex.ExecOne[panicking](ctx, db, sql); return err },
			func() error { _, err := sqlitex.ExecOne[exiting](ctx, db, sql); return err },
			func() error {
				_, err := sqlitex.ExecOne[failingJSON](ctx, db, `INSERT INTO t (v) VALUES ('undone') RETURNING '{}' AS doc`)
				return err
			},
			adds(db, "x"),
		)
		assert.Equal(t, outcome{panicked: "boom"}, outcomes[0])
		assert.Equal(t, outcome{panicked: "boom"}, outcomes[2])
		assert.Equal(t, outcome{}, outcomes[3])
		assert.Equal(t, outcome{panicked: "boom"}, outcomes[4])
		succeeded(t, outcomes[1], outcomes[5])
		assert.Equal(t, []string{"x", "x"}, values(t, db))
		usable(t, db)
	})
}

type (
	panicking   struct{}
	exiting     struct{}
	failingJSON struct {
		Doc document `db:"doc,json"`
	}
	document struct{}
)

func (*panicking) Scan(any) error              { panic("boom") }
func (*exiting) Scan(any) error                { runtime.Goexit(); return nil }
func (*document) UnmarshalJSON(_ []byte) error { panic("boom") }

// A function that has recovered from a panic in SQLite does not know in what state that is.
func TestAFunctionThatRecoversFromAPanicInAStatementDoesNotCommit(t *testing.T) {
	t.Parallel()
	var h hooks
	db := dbtest.Open(t, &sqlitex.Options{Setup: h.setup}, schema)
	h.Store(t.Name(), func() { panic("boom") })
	name := t.Name()
	recovers := func(w *tx.Writer) error {
		_ = addsIn(w, "undone")
		assert.Panics(t, func() { _, _ = w.Exec(`INSERT INTO t (v) SELECT 'undone' WHERE hook(?)`, name) })
		_ = addsIn(w, "undone")
		return nil
	}
	require.Error(t, db.Write(t.Context(), recovers))
	require.Error(t, db.Batch(t.Context(), recovers))
	runs := 0
	outcomes := together(t, db, adds(db, "x"), batchAdds(db, "x", &runs), batches(db, recovers), adds(db, "x"))
	require.Error(t, outcomes[2].err)
	succeeded(t, outcomes[0], outcomes[1], outcomes[3])
	assert.Equal(t, []string{"x", "x", "x"}, values(t, db))
	usable(t, db)
}
