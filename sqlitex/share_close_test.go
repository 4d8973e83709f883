package sqlitex_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// What has begun ends as it would have; what has not is refused.
func TestCloseLetsASharedTransactionEnd(t *testing.T) {
	t.Parallel()
	for what, fails := range map[string]string{"committed": `SELECT 1`, "done again": orFail} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			path := dbtest.Path(t)
			db := dbtest.OpenAt(t, path, nil, withRow)
			begun, goOnBatch, closed := make(chan struct{}, 2), make(chan struct{}), make(chan error, 1)
			outcomes, goOn := queue(t, db,
				adds(db, "leader"),
				adds(db, "x"),
				batches(db, func(w *tx.Writer) error {
					begun <- struct{}{}
					<-goOnBatch
					return addsIn(w, "batch")
				}),
				executes(db, fails),
			)
			goOn()
			<-begun
			late := ended(adds(db, "refused"))
			eventually(t, func() bool { return db.Stats().Writer.Queued == 2 }, "the last part and a late call")
			go func() { closed <- db.Close() }()
			require.ErrorIs(t, (<-late).err, sqlitex.ErrClosed)
			require.ErrorIs(t, (<-outcomes[3]).err, sqlitex.ErrClosed, "it had not begun")
			require.ErrorIs(t, adds(db, "refused")(), sqlitex.ErrClosed)
			close(goOnBatch)
			for _, i := range []int{0, 1, 2} {
				succeeded(t, <-outcomes[i])
			}
			require.NoError(t, <-closed)
			absent(t, path)
			assert.Equal(t, []string{"there", "leader", "x", "batch"}, values(t, dbtest.OpenAt(t, path, nil, "")))
		})
	}
}

// The same while parts that were undone are done again.
func TestCloseLetsPartsThatAreDoneAgainEnd(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	db := dbtest.OpenAt(t, path, nil, withRow)
	again, goOnBatch, closed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	runs := 0
	outcomes, goOn := queue(t, db,
		batches(db, func(w *tx.Writer) error {
			if runs++; runs == 2 {
				close(again)
				<-goOnBatch
			}
			return addsIn(w, "leader")
		}),
		adds(db, "x"),
		batches(db, func(w *tx.Writer) error { return addsIn(w, "y") }),
		executes(db, orFail),
		batches(db, func(w *tx.Writer) error { return addsIn(w, "z") }),
	)
	goOn()
	<-again
	go func() { closed <- db.Close() }()
	require.ErrorIs(t, (<-outcomes[4]).err, sqlitex.ErrClosed, "it had not begun")
	close(goOnBatch)
	all := wait(outcomes[:4], func() {})
	require.NoError(t, <-closed)
	want := []string{"there", "leader"}
	succeeded(t, all[0])
	for i, v := range map[int]string{1: "x", 2: "y"} { // undone, and waiting again: ErrClosed or done, as told
		if all[i].err != nil {
			require.ErrorIs(t, all[i].err, sqlitex.ErrClosed)
		} else {
			want = append(want, v)
		}
	}
	require.Error(t, all[3].err)
	absent(t, path)
	assert.ElementsMatch(t, want, values(t, dbtest.OpenAt(t, path, nil, "")))
}

// case P9
func TestCloseContextInterruptsASharedTransaction(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"Exec", "Batch"} {
		for _, place := range []string{"leader", "follower"} {
			t.Run(way+" as "+place, func(t *testing.T) {
				t.Parallel()
				handles(t, &sqlitex.Options{BusyTimeout: time.Hour}, schema+`; INSERT INTO t (v) VALUES ('there')`, func(t *testing.T, db *sqlitex.DB) {
					hangs := executes(db, `UPDATE t SET v = (`+endless+`)`)
					if way == "Batch" {
						hangs = batches(db, func(w *tx.Writer) error { _, err := w.Exec(`UPDATE t SET v = (` + endless + `)`); return err })
					}
					calls := []func() error{adds(db, "x"), hangs, adds(db, "x"), batches(db, func(w *tx.Writer) error { return addsIn(w, "x") })}
					if place == "leader" {
						calls[0], calls[1] = calls[1], calls[0]
					}
					outcomes, goOn := queue(t, db, calls...)
					goOn()
					left := 2
					if place == "leader" {
						left = 3
					}
					eventually(t, func() bool { return db.Stats().Writer.Queued == left }, "it hangs")
					within(t, "50 ms", func() { assert.NoError(t, db.CloseContext(soon(t)), "released") })
					for i, o := range wait(outcomes, func() {}) {
						if o.err != nil || (i == 0) == (place == "leader") {
							require.ErrorIs(t, o.err, sqlitex.ErrClosed, "call %d", i)
						}
					}
					require.ErrorIs(t, adds(db, "x")(), sqlitex.ErrClosed)
				})
			})
		}
	}
}

func TestCloseWhileManyShare(t *testing.T) {
	t.Parallel()
	for range 10 {
		path := dbtest.Path(t)
		db := dbtest.OpenAt(t, path, nil, withRow)
		added := make(chan int, 16)
		for i := range cap(added) {
			go func() {
				n := 0
				for {
					err := adds(db, "x")()
					switch i % 4 {
					case 1:
						err = batches(db, func(w *tx.Writer) error { return addsIn(w, "x") })()
					case 2:
						_ = executes(db, orFail)()
					case 3:
						<-ended(batches(db, func(w *tx.Writer) error { _ = addsIn(w, "undone"); panic("boom") }))
					}
					if err != nil {
						assert.ErrorIs(t, err, sqlitex.ErrClosed)
						break
					}
					n++
				}
				added <- n
			}()
		}
		eventually(t, func() bool { return db.Stats().Writer.Callers > 100 }, "they write")
		require.NoError(t, db.CloseContext(context.Background()))
		for range cap(added) {
			<-added
		}
		absent(t, path)
	}
}

// The connection that writes is gone after a panic in a statement, and nobody has needed another: the log is copied back all the same.
func TestCloseRemovesTheLogWhereTheLastWriteBrokeItsConnection(t *testing.T) {
	t.Parallel()
	var h hooks
	path := dbtest.Path(t)
	db := dbtest.OpenAt(t, path, &sqlitex.Options{Setup: h.setup}, schema)
	h.Store("panic", func() { panic("boom") })
	require.NoError(t, adds(db, "x")())
	assert.Equal(t, outcome{panicked: "boom"}, <-ended(executes(db, `SELECT hook('panic')`)))
	assert.Equal(t, []string{"x"}, values(t, db), "a reader is open")
	opened := h.opened.Load()
	require.NoError(t, db.Close())
	absent(t, path)
	assert.Equal(t, opened, h.opened.Load(), "code of the program's does not run in Close")
	assert.Equal(t, []string{"x"}, values(t, dbtest.OpenAt(t, path, nil, "")))
}
