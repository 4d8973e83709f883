package tx_test

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// everyUse returns what each way to use a Writer or Reader answers.
func everyUse(q tx.Queryer) map[string]error {
	errs := map[string]error{}
	_, errs["One"] = tx.One[int64](q, `SELECT 1`)
	_, errs["All"] = tx.All[int64](q, `SELECT 1`)
	for _, err := range tx.Each[int64](q, `SELECT 1`) {
		errs["Each"] = err
	}
	if w, ok := q.(*tx.Writer); ok {
		_, errs["Exec"] = w.Exec(`INSERT INTO t (id) VALUES (666)`)
		_, errs["RETURNING"] = tx.One[int64](w, `INSERT INTO t (id) VALUES (666) RETURNING id`)
		errs["Script"] = w.Script(`INSERT INTO t (id) VALUES (666)`)
		errs["Savepoint"] = w.Savepoint(func(*tx.Writer) error { return nil })
	}
	return errs
}

func assertDone(t *testing.T, q tx.Queryer, when string) {
	t.Helper()
	for use, err := range everyUse(q) {
		assert.ErrorIs(t, err, tx.ErrTxDone, "%s, %s", use, when)
	}
}

func TestAReaderOrWriterIsOfNoUseAfterItsFunction(t *testing.T) {
	t.Parallel()
	for _, o := range []*sqlitex.Options{nil, {MaxStatements: -1}} {
		db := dbtest.Open(t, o, table)
		var writers []*tx.Writer
		var readers []*tx.Reader
		keep := func(w *tx.Writer, err error) error {
			writers = append(writers, w)
			return w.Savepoint(func(w *tx.Writer) error { writers = append(writers, w); return err })
		}
		require.NoError(t, db.Write(bg, func(w *tx.Writer) error { return keep(w, nil) }))
		require.Error(t, db.Write(bg, func(w *tx.Writer) error { return keep(w, errTest) }))
		assert.Panics(t, func() {
			_ = db.Write(bg, func(w *tx.Writer) error { _ = keep(w, nil); panic("boom") })
		})
		require.NoError(t, db.Read(bg, func(r *tx.Reader) error { readers = append(readers, r); return nil }))
		require.Error(t, db.Read(bg, func(r *tx.Reader) error { readers = append(readers, r); return errTest }))
		all := func(when string) {
			for _, w := range writers {
				assertDone(t, w, when)
			}
			for _, r := range readers {
				assertDone(t, r, when)
			}
		}
		all("between transactions")
		write(t, db, func(w *tx.Writer) error {
			all("in a stranger's Write")
			return w.Savepoint(func(*tx.Writer) error { all("in a stranger's Savepoint"); return nil })
		})
		require.NoError(t, db.Read(bg, func(*tx.Reader) error { all("in a stranger's Read"); return nil }))
		holds(t, db)
		require.NoError(t, db.Close())
		all("after Close")
		assert.Equal(t, bg, writers[0].Context())
		assert.Equal(t, bg, readers[0].Context())
	}
}

func TestAWriterOfASavepointIsOfNoUseAfterIt(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	write(t, db, func(w *tx.Writer) error {
		for _, result := range []error{nil, errTest} {
			var inner *tx.Writer
			assert.Equal(t, result, w.Savepoint(func(w *tx.Writer) error { inner = w; return result }))
			assertDone(t, inner, "in the transaction that goes on")
			inner.OnCommit(func() { t.Error("ran") })
		}
		return insert(t, w, 1, nil)
	})
	holds(t, db, 1)
}

// pulls are iterators left hanging after their first row.
func pulls(t *testing.T, q tx.Queryer, queries ...string) (next []func() (int64, error, bool), stop []func()) {
	t.Helper()
	for _, sql := range queries {
		n, s := iter.Pull2(tx.Each[int64](q, sql))
		_, err, ok := n()
		require.NoError(t, err)
		require.True(t, ok)
		next, stop = append(next, n), append(stop, s)
	}
	return next, stop
}

func TestAnIteratorLeftHangingEndsWithItsTransaction(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, &sqlitex.Options{MaxReaders: 1}, table+`; INSERT INTO t (id) VALUES (1), (2), (3)`)
	const read = `SELECT id FROM t ORDER BY id`
	var next []func() (int64, error, bool)
	var stop []func()
	write(t, db, func(w *tx.Writer) error {
		n, s := pulls(t, w, read, read, `UPDATE t SET s = 'x' RETURNING id`)
		next, stop = append(next, n...), append(stop, s...)
		return w.Savepoint(func(w *tx.Writer) error {
			n, s := pulls(t, w, read, `UPDATE t SET s = 'y' RETURNING id`)
			next, stop = append(next, n...), append(stop, s...)
			return nil
		})
	})
	require.NoError(t, db.Read(bg, func(r *tx.Reader) error {
		n, s := pulls(t, r, read, read)
		next, stop = append(next, n...), append(stop, s...)
		return nil
	}))
	// No statement is left active: it would keep a snapshot, and the log could not be cut.
	_, err := db.Checkpoint(bg, sqlitex.CheckpointTruncate)
	require.NoError(t, err)
	write(t, db, func(*tx.Writer) error {
		for i := range next {
			if i%2 == 0 {
				_, err, ok := next[i]()
				assert.True(t, ok)
				assert.ErrorIs(t, err, tx.ErrTxDone)
				_, _, ok = next[i]()
				assert.False(t, ok)
			}
			stop[i]()
		}
		return nil
	})
	holds(t, db, 1, 2, 3)
}

func TestAnIteratorLeftHangingEndsWithItsSavepoint(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table+`; INSERT INTO t (id) VALUES (1), (2), (3)`)
	write(t, db, func(w *tx.Writer) error {
		for _, result := range []error{nil, errTest} {
			var next []func() (int64, error, bool)
			var stop []func()
			assert.Equal(t, result, w.Savepoint(func(w *tx.Writer) error {
				exec(t, w, `CREATE TABLE x AS SELECT 1`)
				exec(t, w, `DROP TABLE x`)
				next, stop = pulls(t, w, `SELECT id FROM t`, `UPDATE t SET s = 'y' RETURNING id`)
				return result
			}))
			for i := range next {
				_, err, _ := next[i]()
				assert.ErrorIs(t, err, tx.ErrTxDone)
				stop[i]()
			}
		}
		return nil
	})
	holds(t, db, 1, 2, 3)
}

// A goroutine that fn left behind goes on with the Writer: what it was told has succeeded is committed, the rest is not,
// and it never reaches the transactions of others.
func TestAGoroutineLeftBehindCannotReachAStrangersTransaction(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, `CREATE TABLE t (id INTEGER PRIMARY KEY, owner INTEGER)`)
	var wg sync.WaitGroup
	var told atomic.Int64
	for owner := range 30 {
		started := make(chan struct{})
		var inside atomic.Int64
		err := db.Write(bg, func(w *tx.Writer) error {
			for range 2 {
				wg.Go(func() {
					for range 10_000 {
						if _, err := w.Exec(`INSERT INTO t (owner) VALUES (?)`, owner); err != nil {
							assert.ErrorIs(t, err, tx.ErrTxDone)
							return
						}
						if inside.Add(1) == 3 {
							close(started)
						}
					}
				})
			}
			<-started
			if owner%2 == 1 {
				return errTest
			}
			return nil
		})
		if owner%2 == 1 {
			assert.Equal(t, errTest, err)
			wg.Wait()
			assert.Equal(t, []int64{0}, ints(t, db, `SELECT count(*) FROM t WHERE owner = ?`, owner))
			continue
		}
		require.NoError(t, err)
		wg.Wait()
		told.Add(inside.Load())
		assert.Equal(t, []int64{inside.Load()}, ints(t, db, `SELECT count(*) FROM t WHERE owner = ?`, owner))
	}
	assert.Equal(t, []int64{told.Load()}, ints(t, db, `SELECT count(*) FROM t`))
}

// A statement through the Writer of a savepoint is undone with it, or refused; it never lands in the outer transaction.
func TestAGoroutineLeftBehindCannotWriteOutsideOfItsSavepoint(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	var wg sync.WaitGroup
	write(t, db, func(w *tx.Writer) error {
		for range 60 {
			started := make(chan struct{})
			assert.Equal(t, errTest, w.Savepoint(func(w *tx.Writer) error {
				wg.Go(func() {
					for i := 0; ; i++ {
						if _, err := w.Exec(`INSERT INTO t (s) VALUES ('lost')`); err != nil {
							assert.ErrorIs(t, err, tx.ErrTxDone)
							return
						}
						if i == 0 {
							close(started)
						}
					}
				})
				<-started
				return errTest
			}))
		}
		wg.Wait()
		return nil
	})
	holds(t, db)
}

func TestSeveralGoroutinesMayUseOneReaderOrWriter(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table+`; INSERT INTO t (id) VALUES (1), (2), (3)`)
	use := func(q tx.Queryer) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for i := range 50 {
					n, err := tx.One[int](q, `SELECT ?`, i)
					assert.NoError(t, err)
					assert.Equal(t, i, n)
					var ids []int64
					for id, err := range tx.Each[int64](q, `SELECT id FROM t WHERE id > 0 ORDER BY id`) {
						assert.NoError(t, err)
						ids = append(ids, id)
					}
					assert.Equal(t, []int64{1, 2, 3}, ids)
					if w, ok := q.(*tx.Writer); ok {
						res, err := w.Exec(`INSERT INTO t (id) SELECT min(id, 0) - 1 FROM t ORDER BY id LIMIT 1`)
						assert.NoError(t, err)
						assert.Equal(t, int64(1), res.RowsAffected)
					}
				}
			})
		}
		wg.Wait()
	}
	require.NoError(t, db.Read(bg, func(r *tx.Reader) error { use(r); return nil }))
	write(t, db, func(w *tx.Writer) error { use(w); return nil })
	assert.Equal(t, []int64{403}, ints(t, db, `SELECT count(*) FROM t`))
}

func TestAReadWhoseContextHasEndedAnswersWithIt(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	ctx, cancel := context.WithCancel(bg)
	err := db.Read(ctx, func(r *tx.Reader) error {
		cancel()
		for use, err := range everyUse(r) {
			assert.ErrorIs(t, err, context.Canceled, use)
		}
		return r.Context().Err()
	})
	require.ErrorIs(t, err, context.Canceled)
}
