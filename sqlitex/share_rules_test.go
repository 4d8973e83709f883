package sqlitex_test

import (
	"context"
	"database/sql/driver"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/internal/goroutine"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// orFail leaves a row behind and then fails, as long as row 1 is there: a transaction that it is part of must be undone.
const orFail = `INSERT OR FAIL INTO t (id, v) VALUES (1000, 'left'), (1, 'twice')`

// withRow is a schema with the row that orFail needs.
const withRow = schema + `; INSERT INTO t (id, v) VALUES (1, 'there')`

// Rule 1: nobody knows how its call ended while the transaction may still fail.
func TestNoOutcomeIsToldBeforeTheSharedCommit(t *testing.T) {
	t.Parallel()
	handles(t, nil, schema, func(t *testing.T, db *sqlitex.DB) {
		var told atomic.Int32
		tell := func(call func() error) func() error {
			return func() error {
				defer told.Add(1)
				return call()
			}
		}
		others := 0
		outcomes := together(t, db,
			tell(adds(db, "leader")),
			tell(adds(db, "follower")),
			tell(executes(db, `INSERT INTO t (id) VALUES (1)`)),
			tell(batches(db, func(w *tx.Writer) error { return errOwn })),
			tell(batches(db, func(w *tx.Writer) error { panic("boom") })),
			tell(batches(db, func(w *tx.Writer) error { runtime.Goexit(); return nil })),
			batches(db, func(w *tx.Writer) error {
				for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end) && told.Load() == 0; {
					runtime.Gosched()
				}
				others = int(told.Load())
				return nil
			}),
		)
		assert.Zero(t, others, "callers who know before the commit")
		succeeded(t, outcomes[0], outcomes[1], outcomes[6])
		require.ErrorIs(t, outcomes[2].err, tx.ErrUnique)
		require.ErrorIs(t, outcomes[3].err, errOwn)
		assert.Equal(t, outcome{panicked: "boom"}, outcomes[4])
		assert.Equal(t, outcome{}, outcomes[5], "Goexit")
	})
}

// Rule 1: an error that came of a row that was then undone is not the answer, and neither is a success.
func TestWhatCameOfAnUndoneRowIsNotTold(t *testing.T) {
	t.Parallel()
	handles(t, nil, withRow, func(t *testing.T, db *sqlitex.DB) {
		var first, last, panics, hooks int
		seen := func(w *tx.Writer) (bool, error) {
			return tx.One[bool](w, `SELECT EXISTS (SELECT 1 FROM t WHERE v = 'undone')`)
		}
		var outcomes []outcome
		n, callers := commits(db, func() {
			outcomes = together(t, db,
				adds(db, "leader"),
				batches(db, func(w *tx.Writer) error {
					w.OnCommit(func() { t.Error("a hook of an undone run") })
					if first++; first > 1 {
						return errOwn
					}
					return addsIn(w, "undone")
				}),
				batches(db, func(w *tx.Writer) error {
					last++
					w.OnCommit(func() { hooks += last })
					if there, err := seen(w); there || err != nil {
						return fmt.Errorf("there is a row of a neighbour: %w", err)
					}
					return addsIn(w, "saw nothing")
				}),
				batches(db, func(w *tx.Writer) error {
					if panics++; panics == 1 {
						there, _ := seen(w)
						panic(there)
					}
					return addsIn(w, "no reason to panic")
				}),
				executes(db, orFail),
				adds(db, "after"),
			)
		})
		succeeded(t, outcomes[0], outcomes[2], outcomes[3], outcomes[5])
		require.ErrorIs(t, outcomes[1].err, errOwn)
		require.ErrorIs(t, outcomes[4].err, tx.ErrUnique)
		assert.Equal(t, []int{2, 2, 2}, []int{first, last, panics}, "runs")
		assert.Equal(t, 2, hooks, "only of the second run")
		assert.Equal(t, []string{"there", "leader", "saw nothing", "no reason to panic", "after"}, values(t, db))
		assert.Equal(t, []int64{4, 4}, []int64{n, callers}, "each alone")
	})
}

// Rule 1: Write takes no part, and runs once.
func TestWriteRunsOnceAmongCallsThatAreRepeated(t *testing.T) {
	t.Parallel()
	handles(t, nil, withRow, func(t *testing.T, db *sqlitex.DB) {
		writes, runs := 0, 0
		outcomes := together(t, db,
			batchAdds(db, "batch", &runs),
			executes(db, orFail),
			func() error {
				return db.Write(context.Background(), func(w *tx.Writer) error {
					writes++
					return addsIn(w, "write")
				})
			},
			adds(db, "after"),
		)
		succeeded(t, outcomes[0], outcomes[2], outcomes[3])
		require.ErrorIs(t, outcomes[1].err, tx.ErrUnique)
		assert.Equal(t, []int{1, 2}, []int{writes, runs})
		assert.Equal(t, []string{"there", "batch", "write", "after"}, values(t, db))
	})
}

// Rule 2: what a statement alone would leave behind is undone with all, and all done again; what fails otherwise costs nothing.
func TestOnlyAStatementThatLeavesSomethingHasTheGroupRepeated(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, withRow)
	for sql, repeated := range map[string]bool{
		`INSERT INTO t (id, v) VALUES (1000, 'left'), (1, 'twice')`: false,
		orFail: true,
	} {
		runs := 0
		n, callers := commits(db, func() {
			outcomes := together(t, db, adds(db, "leader"), batchAdds(db, "batch", &runs), executes(db, sql), adds(db, "after"))
			succeeded(t, outcomes[0], outcomes[1], outcomes[3])
			require.ErrorIs(t, outcomes[2].err, tx.ErrUnique)
		})
		if repeated {
			assert.Equal(t, []int64{3, 3, 2}, []int64{n, callers, int64(runs)}, sql)
		} else {
			assert.Equal(t, []int64{1, 4, 1}, []int64{n, callers, int64(runs)}, sql)
		}
	}
	assert.Equal(t, []string{"there", "leader", "batch", "after", "leader", "batch", "after"}, values(t, db))
}

// Rule 3, case T6. In queue order a parent counts from the moment it would, were each call alone.
func TestAChildNeedsItsParentBeforeItInTheQueue(t *testing.T) {
	t.Parallel()
	const family = schema + `; CREATE TABLE c (id INTEGER PRIMARY KEY, t INTEGER REFERENCES t DEFERRABLE INITIALLY DEFERRED)`
	ways := map[string]func(db *sqlitex.DB, sql string) func() error{
		"Exec":    func(db *sqlitex.DB, sql string) func() error { return executes(db, sql) },
		"ExecOne": func(db *sqlitex.DB, sql string) func() error { return returns(db, sql+` RETURNING id`) },
		"Batch": func(db *sqlitex.DB, sql string) func() error {
			return batches(db, func(w *tx.Writer) error { _, err := w.Exec(sql); return err })
		},
	}
	const parent, child = `INSERT INTO t (id) VALUES (7)`, `INSERT INTO c (t) VALUES (7)`
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, place := range []string{"leads", "follows"} {
				handles(t, nil, family, func(t *testing.T, db *sqlitex.DB) {
					var calls []func() error
					if place == "follows" {
						calls = append(calls, adds(db, "leader"))
					}
					calls = append(calls, way(db, child), way(db, parent), way(db, child))
					outcomes := together(t, db, calls...)
					last := outcomes[len(outcomes)-3:]
					require.ErrorIs(t, last[0].err, tx.ErrForeignKey, place)
					succeeded(t, last[1], last[2])
					children, err := sqlitex.One[int](context.Background(), db, `SELECT count(*) FROM c`)
					require.NoError(t, err)
					assert.Equal(t, 1, children)
				})
			}
		})
	}
}

// Rule 3, case T6: the same answers as one after the other, whatever comes before and after.
func TestAForeignKeyThatOneCallBreaksIsNotMendedByTheNext(t *testing.T) {
	t.Parallel()
	const family = schema + `; CREATE TABLE c (id INTEGER PRIMARY KEY, t INTEGER REFERENCES t DEFERRABLE INITIALLY DEFERRED);
		INSERT INTO t (id) VALUES (1), (2); INSERT INTO c (t) VALUES (1);
		PRAGMA user_version = 1`
	db := dbtest.Open(t, nil, family)
	outcomes := together(t, db,
		adds(db, "leader"),
		executes(db, `DELETE FROM t WHERE id = 1`), // its child is still there
		executes(db, `DELETE FROM c`),
		executes(db, `DELETE FROM t WHERE id = 1`), // now it may go
		executes(db, `UPDATE t SET id = 5 WHERE id = 2`),
	)
	require.ErrorIs(t, outcomes[1].err, tx.ErrForeignKey)
	succeeded(t, outcomes[0], outcomes[2], outcomes[3], outcomes[4])
	ids, err := sqlitex.All[int](t.Context(), db, `SELECT id FROM t ORDER BY id`)
	require.NoError(t, err)
	assert.Equal(t, []int{3, 5}, ids)
}

// Rule 5: each fn on the goroutine of its caller, arguments converted there and once.
func TestCodeOfTheCallersRunsOnTheirOwnGoroutine(t *testing.T) {
	t.Parallel()
	handles(t, nil, withRow, func(t *testing.T, db *sqlitex.DB) {
		var asked [3]int
		var calls []func() error
		for i := range asked {
			calls = append(calls, func() error {
				mine := goroutine.ID()
				return db.Batch(context.Background(), func(w *tx.Writer) error {
					assert.Equal(t, mine, goroutine.ID(), "the function of Batch")
					return addsIn(w, "batch")
				})
			}, func() error {
				mine := goroutine.ID()
				v := valuer(func() (driver.Value, error) {
					assert.Equal(t, mine, goroutine.ID(), "the Valuer of an argument")
					asked[i]++
					return "valuer", nil
				})
				return executes(db, `INSERT INTO t (v) VALUES (?)`, v)()
			}, func() error {
				mine := goroutine.ID()
				name := fmt.Sprint(t.Name(), i)
				scans.Store(name, func() { assert.Equal(t, mine, goroutine.ID(), "a Scanner") })
				_, err := sqlitex.ExecOne[scanner](context.Background(), db, `INSERT INTO t (v) VALUES ('scanner') RETURNING ?`, name)
				return err
			})
		}
		calls = append(calls, executes(db, orFail))
		outcomes := together(t, db, calls...)
		succeeded(t, outcomes[:9]...)
		require.ErrorIs(t, outcomes[9].err, tx.ErrUnique)
		assert.Equal(t, [3]int{1, 1, 1}, asked, "a Valuer is asked once, though all was done again")
		assert.Len(t, values(t, db), 10)
	})
}

type valuer func() (driver.Value, error)

func (v valuer) Value() (driver.Value, error) { return v() }

// scanner calls the function that the column names.
type scanner struct{}

var scans sync.Map

func (*scanner) Scan(v any) error {
	fn, _ := scans.Load(v)
	fn.(func())()
	return nil
}

// Rule 7
func TestVacuumIsRefusedIdleAsUnderLoad(t *testing.T) {
	t.Parallel()
	handles(t, nil, schema, func(t *testing.T, db *sqlitex.DB) {
		const vacuum = `VACUUM`
		require.ErrorIs(t, executes(db, vacuum)(), tx.ErrNotAllowed)
		outcomes := together(t, db, executes(db, vacuum), adds(db, "x"), executes(db, vacuum), returns(db, vacuum), adds(db, "y"))
		for _, i := range []int{0, 2, 3} {
			require.ErrorIs(t, outcomes[i].err, tx.ErrNotAllowed)
		}
		succeeded(t, outcomes[1], outcomes[4])
		require.NoError(t, db.Vacuum(t.Context()))
	})
}
