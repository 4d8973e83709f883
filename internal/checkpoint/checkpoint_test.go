package checkpoint_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/checkpoint"
	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/pragma"
)

// After a backup the log is long, and while it is copied more is written. Writers must not stand still until that is copied, too.
func TestALongLogIsCopiedAgainBeforeWritersStandStill(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	open := func(ctx context.Context) (*conn.Conn, error) {
		return conn.Open(ctx, &conn.Config{
			Path: path, Flags: sqlite.OpenReadWrite | sqlite.OpenCreate, Statements: 8, Pragmas: pragma.Config{WALAutoCheckpoint: -1},
		})
	}
	writer, err := open(t.Context())
	require.NoError(t, err)
	defer func() { assert.NoError(t, writer.Close()) }()
	watcher, err := open(t.Context())
	require.NoError(t, err)
	defer func() { assert.NoError(t, watcher.Close()) }()

	var turn sync.Mutex // of those who write
	write := func(sql string) {
		turn.Lock()
		defer turn.Unlock()
		assert.NoError(t, writer.Query(sql, func(*capi.Stmt) {}))
	}
	write(`CREATE TABLE t (x)`)
	write(`INSERT INTO t VALUES (zeroblob(40000000))`)

	const few = 5
	var (
		k     *checkpoint.Checkpointer
		left  uint32 // in the log when writers had to stand still
		tries int64  // before
		index = watcher.WALIndex()
	)
	k = checkpoint.New(checkpoint.Config{
		Open: open, Copy: few, Restart: 1000,
		Exclusive: func(_ context.Context, fn func()) error {
			turn.Lock()
			defer turn.Unlock()
			if tries == 0 {
				frames, copied := index.Log()
				left, tries = frames-copied, k.Stats().Passive
			}
			fn()
			return nil
		},
	})
	defer k.Close()
	k.Note(index)
	for end := time.Now().Add(time.Minute); k.Stats().Restarts == 0; time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(end), "the log starts over")
		write(`INSERT INTO t VALUES (zeroblob(100))`)
	}
	k.Close()
	assert.NoError(t, k.Stats().Last)
	assert.True(t, left < few || tries > 1, "%d pages were left after %d", left, tries)
}
