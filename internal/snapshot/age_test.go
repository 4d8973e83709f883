//go:build unix

package snapshot_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
	zsqlitex "zombiezen.com/go/sqlite/sqlitex"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/internal/readers"
	"github.com/sanelite/sanelite/internal/wait"
	"github.com/sanelite/sanelite/pragma"
)

func newPool(t testing.TB, path string) *readers.Pool {
	t.Helper()
	cfg := &conn.Config{Path: path, Flags: sqlite.OpenReadOnly, Pragmas: pragma.Default(), Statements: 10, BusyTimeout: 5 * time.Second}
	p := readers.NewPool(readers.Config{
		Open: func(ctx context.Context) (*conn.Conn, error) { return conn.Open(ctx, cfg) },
		Max:  4, Limit: 5 * time.Second, Idle: time.Minute,
	})
	t.Cleanup(func() { <-p.Close() })
	return p
}

// readOne reads through the pool, as a handle does, and returns the reader, which still has its snapshot open.
func readOne(t testing.TB, p *readers.Pool) (r *readers.Reader, sum int64) {
	t.Helper()
	r, err := p.Get(context.Background())
	require.NoError(t, err)
	require.NoError(t, r.Snapshot.Acquire(context.Background()))
	sum = value(t, r.Conn.Zombie(), "SELECT k FROM t WHERE id = 17")
	r.Snapshot.Release(nil)
	return r, sum
}

func walCheckpoint(t testing.TB, c *sqlite.Conn, mode string) (busy bool, frames int64) {
	t.Helper()
	require.NoError(t, zsqlitex.ExecuteTransient(c, "PRAGMA wal_checkpoint("+mode+")", &zsqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		busy, frames = s.ColumnInt(0) != 0, s.ColumnInt64(1)
		return nil
	}}))
	return busy, frames
}

// case P5: an idle reader does not stand in the way of a checkpoint for longer than its snapshot may be kept.
func TestAnIdleReaderLetsACheckpointThrough(t *testing.T) {
	t.Parallel()
	path, w := newDatabase(t)
	pool := newPool(t, path)
	for _, mode := range []string{"RESTART", "TRUNCATE"} {
		script(t, w, setSome)
		r, _ := readOne(t, pool)
		require.True(t, r.Snapshot.Kept())
		pool.Put(r)
		start := time.Now()
		busy, _ := walCheckpoint(t, w, mode) // waits for at most its busy timeout of seconds
		assert.False(t, busy, mode)
		assert.Less(t, time.Since(start), time.Second)
	}
}

func TestNoSnapshotIsKeptWhileTheyAreSuspended(t *testing.T) {
	t.Parallel()
	path, w := newDatabase(t)
	w.SetBusyTimeout(0)
	pool := newPool(t, path)
	idle, _ := readOne(t, pool)
	out, _ := readOne(t, pool)
	pool.Put(idle)
	script(t, w, setSome)

	resume := pool.SuspendSnapshots()
	assert.False(t, idle.Snapshot.Kept(), "an idle reader's")
	pool.Put(out)
	assert.False(t, out.Snapshot.Kept(), "that of a reader that decided to keep it just before")
	r, _ := readOne(t, pool)
	assert.False(t, r.Snapshot.Kept(), "a new one")
	pool.Put(r)
	busy, _ := walCheckpoint(t, w, "TRUNCATE")
	assert.False(t, busy, "nobody is in the way, so nothing has to be waited for")

	resume()
	r, _ = readOne(t, pool)
	assert.True(t, r.Snapshot.Kept())
	pool.Put(r)
}

// case X5: two readers and a writer, all busy. With the snapshots let go for the checkpoints that start the log over, the
// log stays within its bound.
func TestTheLogStaysWithinItsBound(t *testing.T) {
	path, w := newDatabase(t)
	pool := newPool(t, path)
	ck, err := capi.Open(path, sqlite.OpenReadWrite)
	require.NoError(t, err)
	defer func() { assert.NoError(t, ck.Close()) }()
	script(t, ck.Zombie(), "PRAGMA synchronous = OFF") // it is not the disk that is tested
	const bound = 1000
	var (
		wg      sync.WaitGroup
		queue   sync.Mutex // the writers' turn
		commits atomic.Int64
		reads   atomic.Int64
		stop    = make(chan struct{})
	)
	running := func() bool {
		select {
		case <-stop:
			return false
		default:
			return true
		}
	}
	for range 2 {
		wg.Go(func() {
			for running() {
				before := commits.Load()
				r, sum := readOne(t, pool)
				assert.GreaterOrEqual(t, sum, before, "a commit was missed")
				pool.Put(r)
				reads.Add(1)
			}
		})
	}
	wg.Go(func() {
		for running() {
			queue.Lock()
			script(t, w, "BEGIN IMMEDIATE; UPDATE t SET k = k + 1 WHERE id = 17; UPDATE o SET b = zeroblob(40000); COMMIT")
			queue.Unlock()
			commits.Add(1)
		}
	})
	var most int64
	var restarts, tries int
	var slowest time.Duration
	end, hopeless := time.Now().Add(dbtest.Stress(t, time.Second)), time.Now().Add(time.Minute+dbtest.Stress(t, 0))
	for time.Now().Before(end) || restarts < 2 && time.Now().Before(hopeless) {
		_, frames := walCheckpoint(t, ck.Zombie(), "PASSIVE")
		most = max(most, frames)
		if frames < bound {
			continue
		}
		tries++
		start := time.Now()
		queue.Lock()
		resume := pool.SuspendSnapshots()
		// Many attempts without a pause of SQLite's own, which grows to a tenth of a second.
		err := wait.Lock(context.Background(), 5*time.Second, "readers", func() error {
			_, _, err := ck.Checkpoint([]capi.CheckpointMode{capi.CheckpointRestart, capi.CheckpointTruncate}[tries%2])
			return err
		})
		resume()
		queue.Unlock()
		slowest = max(slowest, time.Since(start))
		if assert.NoError(t, err) {
			restarts++
		}
	}
	close(stop)
	wg.Wait()
	t.Logf("%d commits, %d reads, %+v; %d of %d restarts, writers stopped for %v at most, %d frames at most",
		commits.Load(), reads.Load(), pool.Stats().Snapshots, restarts, tries, slowest, most)
	assert.Equal(t, tries, restarts, "with all kept snapshots let go, a checkpoint is never in vain")
	assert.Positive(t, restarts)
	assert.Less(t, most, int64(10*bound))
}
