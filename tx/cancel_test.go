package tx_test

import (
	"context"
	"errors"
	"math/rand/v2"
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

// endless runs until it is interrupted.
const endless = `WITH RECURSIVE c (x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c) `

// withCancel gives every connection an SQL function cancel() that ends the context which the test has set.
func withCancel(cancel *context.CancelFunc) *sqlitex.Options {
	return &sqlitex.Options{Setup: func(_ context.Context, c *sqlite.Conn) error {
		return c.CreateFunction("cancel", &sqlite.FunctionImpl{AllowIndirect: true, Scalar: func(sqlite.Context, []sqlite.Value) (sqlite.Value, error) {
			(*cancel)()
			return sqlite.IntegerValue(1), nil
		}})
	}}
}

// case T4, its points one by one
func TestAContextThatEndsUndoesTheWriteWhereverItIs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]func(t *testing.T, w *tx.Writer, cancel func()) error{
		"at once": func(_ *testing.T, _ *tx.Writer, cancel func()) error { cancel(); return nil },
		"between statements": func(t *testing.T, w *tx.Writer, cancel func()) error {
			exec(t, w, `INSERT INTO t (id) VALUES (1)`)
			cancel()
			_, err := w.Exec(`INSERT INTO t (id) VALUES (2)`)
			return err
		},
		"before the commit": func(t *testing.T, w *tx.Writer, cancel func()) error {
			exec(t, w, `INSERT INTO t (id) VALUES (1)`)
			cancel()
			return nil
		},
		"in an UPDATE": func(t *testing.T, w *tx.Writer, _ func()) error {
			exec(t, w, endless+`INSERT INTO t (n) SELECT x FROM c LIMIT 3000`)
			_, err := w.Exec(`UPDATE t SET n = -n WHERE n <> 100 OR cancel()`)
			return err
		},
		"in an UPDATE, swallowed": func(t *testing.T, w *tx.Writer, _ func()) error {
			exec(t, w, endless+`INSERT INTO t (n) SELECT x FROM c LIMIT 3000`)
			_, err := w.Exec(`UPDATE t SET n = -n WHERE n <> 100 OR cancel()`)
			assert.ErrorIs(t, err, context.Canceled)
			assert.ErrorIs(t, err, tx.ErrInterrupted)
			return nil
		},
		"in an endless INSERT": func(_ *testing.T, w *tx.Writer, _ func()) error {
			_, err := w.Exec(endless + `INSERT INTO t (n) SELECT x FROM c WHERE x <> 5000 OR cancel()`)
			return err
		},
		"in an endless SELECT": func(t *testing.T, w *tx.Writer, _ func()) error {
			exec(t, w, `INSERT INTO t (id) VALUES (1)`)
			_, err := tx.One[int64](w, endless+`SELECT count(*) FROM c WHERE x <> 5000 OR cancel()`)
			assert.ErrorIs(t, err, tx.ErrInterrupted)
			return err
		},
		"in a loop over rows": func(t *testing.T, w *tx.Writer, cancel func()) (err error) {
			exec(t, w, `INSERT INTO t (id) VALUES (1), (2), (3)`)
			n := 0
			for _, err = range tx.Each[int64](w, `SELECT id FROM t`) {
				if n++; n == 2 {
					cancel()
				}
			}
			assert.Equal(t, 3, n, "two rows and the error")
			return err
		},
		"in a Savepoint": func(_ *testing.T, w *tx.Writer, _ func()) error {
			return w.Savepoint(func(w *tx.Writer) error {
				_, err := w.Exec(endless + `INSERT INTO t (n) SELECT x FROM c WHERE x <> 5000 OR cancel()`)
				return err
			})
		},
		"in a Script": func(_ *testing.T, w *tx.Writer, _ func()) error {
			return w.Script(`INSERT INTO t (id) VALUES (1); SELECT cancel(); INSERT INTO t (id) VALUES (2);` + endless + `SELECT count(*) FROM c`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(bg)
			db := dbtest.Open(t, withCancel(&cancel), table)
			err := db.Write(ctx, func(w *tx.Writer) error {
				w.OnCommit(func() { t.Error("ran") })
				return c(t, w, cancel)
			})
			require.ErrorIs(t, err, context.Canceled)
			holds(t, db)
		})
	}
}

func TestOneCallStatementsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	var ctx context.Context
	var cancel context.CancelFunc
	db := dbtest.Open(t, withCancel(&cancel), table)
	for name, call := range map[string]func(ctx context.Context) error{
		"Exec": func(ctx context.Context) error {
			_, err := db.Exec(ctx, endless+`INSERT INTO t (n) SELECT x FROM c WHERE x <> 5000 OR cancel()`)
			return err
		},
		"ExecOne": func(ctx context.Context) error {
			_, err := sqlitex.ExecOne[int64](ctx, db, endless+`INSERT INTO t (n) SELECT x FROM c WHERE x <> 5000 OR cancel() RETURNING id`)
			return err
		},
		"One": func(ctx context.Context) error {
			_, err := sqlitex.One[int64](ctx, db, endless+`SELECT count(*) FROM c WHERE x <> 5000 OR cancel()`)
			return err
		},
		"All": func(ctx context.Context) error {
			_, err := sqlitex.All[int64](ctx, db, endless+`SELECT x FROM c WHERE x <> 5000 OR cancel()`)
			return err
		},
		"Each": func(ctx context.Context) (err error) {
			for _, err = range sqlitex.Each[int64](ctx, db, endless+`SELECT x FROM c WHERE x <> 5000 OR cancel()`) {
			}
			return err
		},
	} {
		ctx, cancel = context.WithCancel(bg)
		err := call(ctx)
		require.ErrorIs(t, err, context.Canceled, name)
		require.ErrorIs(t, err, tx.ErrInterrupted, name)
		cancel()
		require.ErrorIs(t, call(ctx), context.Canceled, "%s with a context that is done", name)
		holds(t, db)
	}
}

func TestADeadlineIsTheDeadlinesError(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	ctx, cancel := context.WithTimeout(bg, 5*time.Millisecond)
	defer cancel()
	err := db.Write(ctx, func(w *tx.Writer) error {
		_, err := w.Exec(endless + `INSERT INTO t (n) SELECT x FROM c`)
		return err
	})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	holds(t, db)
}

// case T4: 1,000 times at a random moment; what Write answers is what is in the file.
func TestAContextThatEndsAnyTimeMeansCommittedOrNot(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	committed := []int64{}
	for i := range int64(1000) {
		ctx, cancel := context.WithCancel(bg)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range rand.N(4000) {
				_ = ctx.Err()
			}
			cancel()
		}()
		err := db.Write(ctx, func(w *tx.Writer) error {
			if _, err := w.Exec(`INSERT INTO t (id, n) VALUES (?, ?)`, i, -i); err != nil {
				return err
			}
			_, err := w.Exec(`UPDATE t SET n = n WHERE id = ?`, i)
			return err
		})
		if err == nil {
			committed = append(committed, i)
		} else {
			require.ErrorIs(t, err, context.Canceled)
		}
		<-done
	}
	t.Logf("%d of 1000 were committed", len(committed))
	holds(t, db, committed...)
}

// The writer that waits behind another one leaves with its context; the one it waited for is not disturbed.
func TestAContextThatEndsWhileWaitingForTheWriter(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	write(t, db, func(w *tx.Writer) error {
		exec(t, w, `INSERT INTO t (id) VALUES (1)`)
		ctx, cancel := context.WithCancel(bg)
		answer := make(chan error)
		go func() { answer <- db.Write(ctx, func(*tx.Writer) error { t.Error("ran"); return nil }) }()
		for db.Stats().Writer.Queued == 0 {
			time.Sleep(time.Millisecond) // until it is in the queue
		}
		cancel()
		err := <-answer
		assert.ErrorIs(t, err, context.Canceled)
		var busy *tx.BusyError
		assert.ErrorAs(t, err, &busy)
		assert.False(t, errors.Is(err, tx.ErrBusy))
		return nil
	})
	holds(t, db, 1)
}

// A transaction that a second handle holds ends the wait at BEGIN; afterwards the writer is usable.
func TestAContextThatEndsAtBegin(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	db, other := dbtest.OpenAt(t, path, nil, table), dbtest.OpenAt(t, path, nil, "")
	write(t, other, func(*tx.Writer) error {
		for range 20 {
			ctx, cancel := context.WithTimeout(bg, rand.N(3*time.Millisecond))
			err := db.Write(ctx, func(*tx.Writer) error { t.Error("ran"); return nil })
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			cancel()
		}
		return nil
	})
	holds(t, db)
}

// Without a write-ahead log COMMIT waits for readers: that wait ends as every other, and nothing is left behind.
func TestAContextThatEndsWhileTheCommitWaits(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	journal := pragma.Config{JournalMode: pragma.JournalDelete}
	db := dbtest.OpenAt(t, path, &sqlitex.Options{Pragmas: journal}, table)
	hasty := dbtest.OpenAt(t, path, &sqlitex.Options{Pragmas: journal, BusyTimeout: 20 * time.Millisecond}, "")
	other := dbtest.OpenAt(t, path, &sqlitex.Options{Pragmas: journal}, "")
	require.NoError(t, other.Read(bg, func(r *tx.Reader) error {
		_, err := tx.All[int64](r, `SELECT id FROM t`)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(bg, 10*time.Millisecond)
		defer cancel()
		insert := func(w *tx.Writer) error {
			w.OnCommit(func() { t.Error("ran") })
			exec(t, w, `INSERT INTO t (id) VALUES (1)`)
			return nil
		}
		require.ErrorIs(t, db.Write(ctx, insert), context.DeadlineExceeded)
		require.ErrorIs(t, hasty.Write(bg, insert), tx.ErrBusy)
		_, err = hasty.Exec(bg, `INSERT INTO t (id) VALUES (1)`)
		require.ErrorIs(t, err, tx.ErrBusy)
		return nil
	}))
	assert.Empty(t, ints(t, db, `SELECT id FROM t`))
	_, err := db.Exec(bg, `INSERT INTO t (id) VALUES (2)`)
	require.NoError(t, err)
	holds(t, db, 2)
}
