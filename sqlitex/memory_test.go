package sqlitex_test

import (
	"context"
	"os"
	"sync"
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

// case O7
func TestMemoryDatabaseIsOnePerHandleOnEveryPath(t *testing.T) {
	t.Parallel()
	db := dbtest.OpenAt(t, ":memory:", &sqlitex.Options{ReaderIdle: time.Millisecond}, schema)
	other := dbtest.OpenAt(t, ":memory:", nil, schema)
	assert.Equal(t, ":memory:", db.Path())
	insert(t, db, "one")

	ctx := t.Context()
	assert.Equal(t, 1, count(t, db))
	assert.Zero(t, count(t, other), "another handle is another database")
	require.NoError(t, db.Read(ctx, func(r *tx.Reader) error {
		n, err := tx.One[int](r, `SELECT count(*) FROM t`)
		assert.Equal(t, 1, n)
		return err
	}))
	for v, err := range sqlitex.Each[string](ctx, db, `SELECT v FROM t`) {
		require.NoError(t, err)
		assert.Equal(t, "one", v)
	}
	require.NoError(t, db.ReadConn(ctx, func(c *sqlite.Conn) error {
		assert.Equal(t, "1", ask(t, c, "SELECT count(*) FROM t"))
		assert.Error(t, run(c, "DELETE FROM t"), "a connection that reads")
		return nil
	}))
	require.NoError(t, db.WriteConn(ctx, func(c *sqlite.Conn) error { return run(c, "INSERT INTO t (v) VALUES ('two')") }))
	two, err := sqlitex.ExecOne[string](ctx, db, "UPDATE t SET v = upper(v) WHERE v = 'two' RETURNING v")
	require.NoError(t, err)
	assert.Equal(t, "TWO", two)
	assert.NoError(t, db.Ping(ctx))
	assert.NoError(t, db.Check(ctx))
	assert.NoError(t, db.Vacuum(ctx))
	assert.NoError(t, db.Optimize(ctx))
	info, err := db.Checkpoint(ctx, sqlitex.CheckpointTruncate)
	require.NoError(t, err)
	assert.Equal(t, sqlitex.CheckpointInfo{Log: -1, Copied: -1}, info)
	assert.Equal(t, 2, count(t, db))

	mode, err := sqlitex.One[string](ctx, db, "PRAGMA journal_mode")
	require.NoError(t, err)
	assert.Equal(t, "memory", mode)
}

// case O7
func TestMemoryDatabaseSurvivesWhatHappensToConnections(t *testing.T) {
	t.Parallel()
	db := dbtest.OpenAt(t, ":memory:", nil, schema)
	insert(t, db, "kept")
	ctx := t.Context()
	release := holdWriter(t, db)
	within(t, "a cancelled wait", func() {
		short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		defer cancel()
		_, err := sqlitex.One[int](short, db, `SELECT count(*) FROM t`)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = db.Exec(short, `DELETE FROM t`)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
	release()

	require.ErrorIs(t, func() error {
		short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		defer cancel()
		_, err := sqlitex.One[int](short, db, endless)
		return err
	}(), context.DeadlineExceeded)

	for _, leave := range mischief {
		_ = db.WriteConn(ctx, func(c *sqlite.Conn) error { return leave.do(t, c) })
		assert.Equal(t, 1, count(t, db), leave.name)
		_ = db.ReadConn(ctx, func(c *sqlite.Conn) error { return leave.do(t, c) })
		assert.Equal(t, 1, count(t, db), leave.name)
	}
	pristine := dbtest.OpenAt(t, ":memory:", nil, "")
	assert.Equal(t, state(t, pristine), state(t, db))
	usable(t, db)
}

// case O7: one connection serves it, so nesting is an error at once and not a hang.
func TestNestingOnAMemoryDatabaseIsBusyAtOnce(t *testing.T) {
	t.Parallel()
	db := dbtest.OpenAt(t, ":memory:", &sqlitex.Options{BusyTimeout: time.Hour}, schema)
	nested := func() {
		_, err := sqlitex.One[int](t.Context(), db, `SELECT 1`)
		require.ErrorIs(t, err, sqlitex.ErrBusy)
		_, err = db.Exec(t.Context(), `DELETE FROM t`)
		require.ErrorIs(t, err, sqlitex.ErrBusy)
		busy := new(sqlitex.BusyError)
		require.ErrorAs(t, err, &busy)
		assert.NotContains(t, busy.Holder, "somebody", "the holder is named")
		assert.Contains(t, busy.For, "this goroutine itself")
	}
	require.NoError(t, db.Read(t.Context(), func(*tx.Reader) error { nested(); return nil }))
	require.NoError(t, db.Write(t.Context(), func(*tx.Writer) error { nested(); return nil }))
	insert(t, db, "x")
	for _, err := range sqlitex.Each[int](t.Context(), db, `SELECT id FROM t`) {
		require.NoError(t, err)
		nested()
	}
}

func TestMemoryDatabaseServesManyGoroutines(t *testing.T) {
	t.Parallel()
	db := dbtest.OpenAt(t, ":memory:", nil, schema)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				_, err := db.Exec(context.Background(), `INSERT INTO t (v) VALUES ('x')`)
				assert.NoError(t, err)
				_, err = sqlitex.One[int](context.Background(), db, `SELECT count(*) FROM t`)
				assert.NoError(t, err)
			}
		})
	}
	all.Wait()
	assert.Equal(t, 400, count(t, db))
}

func TestMemoryDatabaseRefusesWhatItCannotBe(t *testing.T) {
	t.Parallel()
	_, err := sqlitex.Open(t.Context(), ":memory:", &sqlitex.Options{Mode: sqlitex.ReadOnly})
	require.ErrorIs(t, err, sqlitex.ErrCannotOpen)
	db := dbtest.OpenAt(t, ":memory:", &sqlitex.Options{Pragmas: pragma.Config{MmapSize: pragma.MiB, PageSize: 8192}}, schema)
	usable(t, db)
	_, err = os.Stat(":memory:")
	require.ErrorIs(t, err, os.ErrNotExist, "no file of that name")
}
