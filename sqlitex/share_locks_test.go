package sqlitex_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/pragma"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// case X3: the disk is full for one part, not for others.
func TestAFullDiskConcernsTheCallThatNeedsTheRoom(t *testing.T) {
	t.Parallel()
	o := &sqlitex.Options{Setup: func(_ context.Context, c *sqlite.Conn) error { return run(c, `PRAGMA max_page_count = 50`) }}
	handles(t, o, schema, func(t *testing.T, db *sqlitex.DB) {
		huge := strings.Repeat("x", 300_000)
		for name, call := range map[string]func() error{
			"Exec":    adds(db, huge),
			"ExecOne": returns(db, `INSERT INTO t (v) VALUES (?) RETURNING id`, huge),
			"Batch":   batches(db, func(w *tx.Writer) error { return addsIn(w, huge) }),
			"many rows": executes(db, `INSERT INTO t (v)
				WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) SELECT ? FROM n`, huge[:5000]),
		} {
			runs := 0
			outcomes := together(t, db, adds(db, "x"), batchAdds(db, "x", &runs), call, call, batchAdds(db, "x", &runs), adds(db, "x"))
			require.ErrorIs(t, outcomes[2].err, tx.ErrFull, name)
			require.ErrorIs(t, outcomes[3].err, tx.ErrFull, name)
			succeeded(t, outcomes[0], outcomes[1], outcomes[4], outcomes[5])
		}
		assert.Equal(t, strings.Split(strings.Repeat("x ", 16), " ")[:16], values(t, db))
		usable(t, db)
	})
}

// Without a write-ahead log COMMIT waits for readers, under the bounds of the leader; the others have bounds of their own.
func TestALeaderWhoseContextEndsInCommitLeavesTheOthersTheirTime(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	o := &sqlitex.Options{Pragmas: pragma.Config{JournalMode: pragma.JournalDelete}, BusyTimeout: time.Hour}
	db, other := dbtest.OpenAt(t, path, o, schema), dbtest.OpenAt(t, path, o, "")
	release := holdReading(t, other)
	runs := 0
	outcomes, goOn := queue(t, db,
		addsUnder(soon(t), db, "leader"),
		adds(db, "x"),
		batchAdds(db, "batch", &runs),
		addsUnder(soon(t), db, "too late"),
		func() error { return db.Batch(soon(t), func(w *tx.Writer) error { return addsIn(w, "too late") }) },
		adds(db, "y"),
	)
	goOn()
	for _, i := range []int{0, 3, 4} {
		within(t, "50 ms", func() { require.ErrorIs(t, (<-outcomes[i]).err, context.DeadlineExceeded) })
	}
	release()
	for _, i := range []int{1, 2, 5} {
		succeeded(t, <-outcomes[i])
	}
	assert.Equal(t, []string{"x", "batch", "y"}, values(t, db))
}

// holdReading keeps a read transaction in which something was read.
func holdReading(t testing.TB, db *sqlitex.DB) (release func()) {
	t.Helper()
	held, free, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- db.Read(context.Background(), func(r *tx.Reader) error {
			_, err := tx.All[string](r, `SELECT v FROM t`)
			close(held)
			<-free
			return err
		})
	}()
	<-held
	return func() {
		close(free)
		require.NoError(t, <-done)
	}
}

// A busy timeout for the lock is what a call waits, not one for each call that it waits behind.
func TestALockThatStaysInTheWayOfCommitIsWaitedForOnce(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	o := &sqlitex.Options{Pragmas: pragma.Config{JournalMode: pragma.JournalDelete}, BusyTimeout: 1200 * time.Millisecond}
	db, other := dbtest.OpenAt(t, path, o, schema), dbtest.OpenAt(t, path, o, "")
	release := holdReading(t, other)
	calls := make([]func() error, 0, 20)
	for range 10 {
		calls = append(calls, adds(db, "x"), batches(db, func(w *tx.Writer) error { return addsIn(w, "x") }))
	}
	outcomes, goOn := queue(t, db, calls...)
	start := time.Now()
	goOn()
	require.ErrorIs(t, (<-outcomes[0]).err, sqlitex.ErrBusy)
	assert.Less(t, time.Since(start), 2200*time.Millisecond, "the leader")
	for _, o := range outcomes[1:] {
		require.ErrorIs(t, (<-o).err, sqlitex.ErrBusy)
	}
	assert.Less(t, time.Since(start), 4*time.Second, "a timeout in the queue, and one for the lock")
	release()
	assert.Empty(t, values(t, db))
	usable(t, db)
}

// case P7: the lock of another process, met at BEGIN.
func TestALeaderWhoseContextEndsAtBeginLeavesTheOthersTheirTime(t *testing.T) {
	t.Parallel()
	for _, journal := range []pragma.JournalMode{pragma.JournalWAL, pragma.JournalDelete} {
		t.Run(string(journal), func(t *testing.T) {
			t.Parallel()
			path := dbtest.Path(t)
			o := &sqlitex.Options{Pragmas: pragma.Config{JournalMode: journal}, BusyTimeout: time.Hour}
			db := dbtest.OpenAt(t, path, o, schema)
			release := hold(t, path, "BEGIN IMMEDIATE")
			runs := 0
			outcomes, goOn := queue(t, db, addsUnder(soon(t), db, "too late"), adds(db, "x"), addsUnder(soon(t), db, "too late"), batchAdds(db, "batch", &runs))
			goOn()
			for _, i := range []int{0, 2} {
				within(t, "50 ms", func() { require.ErrorIs(t, (<-outcomes[i]).err, context.DeadlineExceeded) })
			}
			release()
			for _, i := range []int{1, 3} {
				succeeded(t, <-outcomes[i])
			}
			assert.Equal(t, []string{"x", "batch"}, values(t, db))
			usable(t, db)
		})
	}
}

func TestALockThatStaysInTheWayOfBeginIsErrBusyForAll(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	db := dbtest.OpenAt(t, path, &sqlitex.Options{BusyTimeout: 100 * time.Millisecond}, schema)
	release := hold(t, path, "BEGIN IMMEDIATE")
	var outcomes []<-chan outcome
	for range 10 {
		outcomes = append(outcomes, ended(adds(db, "x")), ended(batches(db, func(w *tx.Writer) error { return addsIn(w, "x") })))
	}
	within(t, "100 ms", func() {
		for _, o := range outcomes {
			require.ErrorIs(t, (<-o).err, sqlitex.ErrBusy)
		}
	})
	release()
	assert.Empty(t, values(t, db))
	usable(t, db)
}

func TestAReadOnlyHandleRefusesToShare(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	database(t, path, "wal")
	db := dbtest.OpenAt(t, path, &sqlitex.Options{Mode: sqlitex.ReadOnly}, "")
	for _, call := range []func() error{
		adds(db, "x"), returns(db, `INSERT INTO t (v) VALUES ('x') RETURNING id`), executes(db, `SELECT 1`),
		batches(db, func(*tx.Writer) error { t.Error("ran"); return nil }),
	} {
		require.ErrorIs(t, call(), sqlitex.ErrReadOnly)
	}
	assert.Equal(t, []string{"first"}, values(t, db))
}
