package sqlitex_test

import (
	"context"
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

// case P1: whoever has the writer and asks for it again is told so at once, on whatever goroutine its part runs.
func TestWritingInsideABatchIsBusyAtOnceAndNamesTheHolder(t *testing.T) {
	t.Parallel()
	handles(t, &sqlitex.Options{BusyTimeout: time.Hour}, schema, func(t *testing.T, db *sqlitex.DB) {
		ctx := context.Background()
		tried := 0
		nested := func(w *tx.Writer) error {
			for name, call := range map[string]func() error{
				"Exec":    adds(db, "x"),
				"ExecOne": returns(db, `INSERT INTO t (v) VALUES ('x') RETURNING id`),
				"Batch":   batches(db, func(*tx.Writer) error { t.Error("ran"); return nil }),
				"Write":   func() error { return db.Write(ctx, func(*tx.Writer) error { t.Error("ran"); return nil }) },
				"Vacuum":  func() error { return db.Vacuum(ctx) },
			} {
				err := call()
				busy := new(sqlitex.BusyError)
				require.ErrorIs(t, err, sqlitex.ErrBusy, name)
				require.ErrorAs(t, err, &busy, name)
				assert.Contains(t, busy.For, "this goroutine itself", name)
				assert.Contains(t, busy.Holder, "share_nested_test.go", name)
				tried++
			}
			assert.Error(t, db.Close(), "for which it would wait")
			return addsIn(w, "batch")
		}
		within(t, "nothing to wait for", func() {
			succeeded(t, together(t, db, batches(db, nested), adds(db, "exec"), batches(db, nested), batches(db, nested), adds(db, "exec"))...)
		})
		require.NoError(t, db.Write(ctx, func(w *tx.Writer) error {
			require.ErrorIs(t, adds(db, "x")(), sqlitex.ErrBusy)
			require.ErrorIs(t, batches(db, func(*tx.Writer) error { return nil })(), sqlitex.ErrBusy)
			return nil
		}))
		assert.Equal(t, 15, tried)
		assert.Equal(t, []string{"batch", "exec", "batch", "batch", "exec"}, values(t, db))
		usable(t, db)
	})
}

// case P1: the same from an SQL function, on the goroutine of whoever leads.
func TestWritingInsideAnSQLFunctionIsBusyAtOnce(t *testing.T) {
	t.Parallel()
	var h hooks
	handles(t, &sqlitex.Options{BusyTimeout: time.Hour, Setup: h.setup}, schema, func(t *testing.T, db *sqlitex.DB) {
		var answers []error
		h.Store(t.Name(), func() { answers = append(answers, adds(db, "nested")()) })
		const sql = `INSERT INTO t (v) SELECT 'x' WHERE hook(?)`
		within(t, "nothing to wait for", func() {
			succeeded(t, together(t, db, executes(db, sql, t.Name()), executes(db, sql, t.Name()),
				batches(db, func(w *tx.Writer) error { _, err := w.Exec(sql, t.Name()); return err }))...)
		})
		assert.Len(t, answers, 3)
		for _, err := range answers {
			assert.ErrorIs(t, err, sqlitex.ErrBusy)
		}
		assert.Equal(t, []string{"x", "x", "x"}, values(t, db))
	})
}

// case P1: a goroutine that the function waits for cannot be known. It meets the bound.
func TestAGoroutineOfABatchThatWritesMeetsTheBusyTimeout(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, &sqlitex.Options{BusyTimeout: 100 * time.Millisecond}, schema)
	within(t, "100 ms", func() {
		outcomes := together(t, db, adds(db, "leader"), batches(db, func(w *tx.Writer) error {
			o := <-ended(adds(db, "x"))
			busy := new(sqlitex.BusyError)
			require.ErrorAs(t, o.err, &busy)
			assert.Contains(t, busy.Holder, "share_nested_test.go")
			return addsIn(w, "batch")
		}))
		succeeded(t, outcomes...)
	})
	assert.Equal(t, []string{"leader", "batch"}, values(t, db))
}

// Functions of OnCommit run when the writer is free again.
func TestOnCommitOfABatchMayWrite(t *testing.T) {
	t.Parallel()
	handles(t, nil, schema, func(t *testing.T, db *sqlitex.DB) {
		again := func(w *tx.Writer) error {
			w.OnCommit(func() {
				assert.NoError(t, adds(db, "hook")())
				assert.NoError(t, db.Write(context.Background(), func(w *tx.Writer) error { return addsIn(w, "hook") }))
				assert.NoError(t, db.Batch(context.Background(), func(w *tx.Writer) error { return addsIn(w, "hook") }))
			})
			return addsIn(w, "batch")
		}
		within(t, "nobody waits for himself", func() {
			succeeded(t, together(t, db, batches(db, again), adds(db, "exec"), batches(db, again), batches(db, again))...)
		})
		got := values(t, db)
		assert.Equal(t, []string{"batch", "exec", "batch", "batch"}, got[:4])
		assert.Len(t, got, 13)
	})
}

func TestOnCommitOfAPartThatIsUndoneDoesNotRun(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, withRow)
	never := func(w *tx.Writer) { w.OnCommit(func() { t.Error("ran") }) }
	outcomes := together(t, db,
		batches(db, func(w *tx.Writer) error { never(w); return errOwn }),
		adds(db, "x"),
		batches(db, func(w *tx.Writer) error { never(w); return errOwn }),
		batches(db, func(w *tx.Writer) error { never(w); panic("boom") }),
		batches(db, func(w *tx.Writer) error { never(w); goexit(); return nil }),
		batches(db, func(w *tx.Writer) error {
			never(w)
			_, err := w.Exec(`INSERT OR ROLLBACK INTO t (id) VALUES (1)`)
			return err
		}),
	)
	succeeded(t, outcomes[1])
	assert.Equal(t, []string{"there", "x"}, values(t, db))
}

// A panic in a function of OnCommit comes when all is committed, to its own caller.
func TestAPanicInOnCommitOfABatch(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, schema)
	boom := errors.New("boom")
	panics := batches(db, func(w *tx.Writer) error { w.OnCommit(func() { panic(boom) }); return addsIn(w, "x") })
	outcomes := together(t, db, panics, adds(db, "x"), panics, adds(db, "x"))
	assert.Equal(t, outcome{panicked: boom}, outcomes[0])
	assert.Equal(t, outcome{panicked: boom}, outcomes[2])
	succeeded(t, outcomes[1], outcomes[3])
	assert.Len(t, values(t, db), 4)
}

// What user code keeps of a part, or leaves running in it, cannot reach the parts of others.
func TestAWriterOfABatchIsOfNoUseAfterItsPart(t *testing.T) {
	t.Parallel()
	handles(t, nil, schema+`; INSERT INTO t (v) VALUES ('a'), ('b')`, func(t *testing.T, db *sqlitex.DB) {
		var kept []*tx.Writer
		keeps := batches(db, func(w *tx.Writer) error {
			for _, w := range kept {
				require.ErrorIs(t, addsIn(w, "stranger"), tx.ErrTxDone)
			}
			kept = append(kept, w)
			go func() {
				for range 100 {
					if err := addsIn(w, "late"); err != nil && !errors.Is(err, tx.ErrTxDone) {
						t.Error(err)
					}
				}
			}()
			for range tx.Each[string](w, `SELECT v FROM t`) {
				break
			}
			return errOwn
		})
		outcomes := together(t, db, adds(db, "x"), keeps, adds(db, "x"), keeps, adds(db, "x"), keeps)
		for _, i := range []int{1, 3, 5} {
			require.ErrorIs(t, outcomes[i].err, errOwn)
		}
		succeeded(t, outcomes[0], outcomes[2], outcomes[4])
		for _, w := range kept {
			require.ErrorIs(t, addsIn(w, "stranger"), tx.ErrTxDone)
		}
		assert.Equal(t, []string{"a", "b", "x", "x", "x"}, values(t, db))
		require.NoError(t, db.WriteConn(t.Context(), func(c *sqlite.Conn) error { return run(c, `DROP TABLE t`) }), "no statement is left")
	})
}
