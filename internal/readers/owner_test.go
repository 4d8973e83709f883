package readers_test

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/internal/readers"
	"github.com/sanelite/sanelite/internal/sqlerr"
	"github.com/sanelite/sanelite/pragma"
)

// filePool returns a pool on a file with a write-ahead log, whose readers keep their snapshots.
func filePool(t *testing.T, limit int, idle time.Duration) *readers.Pool {
	t.Helper()
	p := pragma.Default()
	cfg := conn.Config{Path: filepath.Join(t.TempDir(), "r.db"), Flags: sqlite.OpenReadWrite | sqlite.OpenCreate, Pragmas: p, Statements: 4, BusyTimeout: p.BusyTimeout}
	w, err := conn.Open(context.Background(), &cfg)
	require.NoError(t, err)
	require.NoError(t, w.RunOnce("CREATE TABLE t (a)"))
	t.Cleanup(func() { assert.NoError(t, w.Close()) })
	reading := cfg
	reading.Flags = sqlite.OpenReadOnly
	return readers.NewPool(readers.Config{
		Open: func(ctx context.Context) (*conn.Conn, error) { return conn.Open(ctx, &reading) },
		Max:  limit, Limit: -1, Idle: idle,
	})
}

// read is what a caller does with a reader.
func read(t *testing.T, r *readers.Reader) {
	if !assert.NoError(t, r.Snapshot.Acquire(context.Background())) {
		return
	}
	s, err := r.Conn.Stmts.Get("SELECT count(*) FROM t", false)
	if assert.NoError(t, err) {
		row, err := s.Step()
		assert.NoError(t, err)
		assert.True(t, row)
		r.Conn.Stmts.Put(s)
	}
	r.Snapshot.Release(nil)
}

func TestAGoroutineFindsTheReaderThatItHadLast(t *testing.T) {
	t.Parallel()
	p := filePool(t, 3, -1)
	a, b := get(t, p), get(t, p)
	read(t, a)
	read(t, b)
	p.Put(a)
	mine := make(chan *readers.Reader)
	proceed := make(chan struct{})
	go func() {
		r, err := p.Get(context.Background())
		assert.NoError(t, err)
		read(t, r)
		p.Put(r)
		mine <- r
		<-proceed
		r, err = p.Get(context.Background())
		assert.NoError(t, err)
		assert.True(t, p.HeldByMe())
		p.Put(r)
		mine <- r
	}()
	assert.Same(t, a, <-mine)
	p.Put(b)
	close(proceed)
	assert.Same(t, a, <-mine, "not the one that was put last")
	assert.Same(t, b, get(t, p))
	assert.Same(t, a, get(t, p), "another goroutine's, if there is no other")
	p.Put(a)
	p.Put(b)
	s := p.Stats()
	assert.EqualValues(t, 6, s.Acquired)
	assert.EqualValues(t, 2, s.Opened)
	<-p.Close()
}

// Everything that takes readers meets: goroutines with a reader each, more goroutines than readers, the bound on the age of
// snapshots, suspensions, sweeps, readers that are discarded, callers that give up, and Close in the middle of it. A reader
// belongs to one at a time, which -race sees by what is not atomic in it; nobody waits for ever, and the pool drains.
func TestAReaderHasOneOwnerWhateverMeets(t *testing.T) {
	t.Parallel()
	for end := time.Now().Add(dbtest.Stress(t, 200*time.Millisecond)); time.Now().Before(end); {
		limit := 1 + rand.N(3)
		p := filePool(t, limit, rand.N(20*time.Millisecond))
		var stop atomic.Bool
		var all sync.WaitGroup
		owners := sync.Map{}
		for range 1 + rand.N(2*limit) {
			all.Go(func() {
				for !stop.Load() {
					ctx, cancel := context.WithCancel(context.Background())
					if rand.N(20) == 0 {
						time.AfterFunc(rand.N(100*time.Microsecond), cancel)
					}
					r, err := p.Get(ctx)
					if err == nil {
						_, taken := owners.LoadOrStore(r, true)
						assert.False(t, taken, "a reader has two owners")
						read(t, r)
						owners.Delete(r)
						if rand.N(500) == 0 {
							p.Discard(r)
						} else {
							p.Put(r)
						}
					} else if !assert.True(t, context.Cause(ctx) != nil || err == sqlerr.ErrClosed, "%v", err) {
						stop.Store(true)
					}
					cancel()
					if rand.N(1000) == 0 {
						time.Sleep(rand.N(10 * time.Millisecond)) // snapshots grow old, readers idle
					}
				}
			})
		}
		all.Go(func() {
			for !stop.Load() {
				resume := p.SuspendSnapshots()
				time.Sleep(rand.N(time.Millisecond))
				resume()
				time.Sleep(rand.N(3 * time.Millisecond))
				assert.LessOrEqual(t, p.Stats().Open, limit)
			}
		})
		time.Sleep(rand.N(30 * time.Millisecond))
		if rand.N(2) == 0 {
			<-p.Close() // beside all others
		}
		stop.Store(true)
		all.Wait()
		<-p.Close()
		s := p.Stats()
		assert.Zero(t, s.Open+s.InUse+s.Waiting)
	}
}

// A snapshot that is kept stops the log from starting over, so none may be forgotten: not by the timer, and not when a reader is
// put at the very moment in which snapshots are suspended.
func TestNoSnapshotIsKeptForLongOrWhileSuspended(t *testing.T) {
	t.Parallel()
	p := filePool(t, 3, -1)
	use := func() {
		r, err := p.Get(context.Background())
		if assert.NoError(t, err) {
			read(t, r)
			p.Put(r)
		}
	}
	for range 20 {
		use()
		require.Eventually(t, func() bool { return p.Kept() == 0 }, 20*time.Second, time.Millisecond)
	}
	for range 3000 {
		reads := int32(20)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for atomic.AddInt32(&reads, -1) > 0 {
				use()
			}
		}()
		for until := rand.N(int32(20)); atomic.LoadInt32(&reads) > until; {
			runtime.Gosched()
		}
		resume := p.SuspendSnapshots()
		atomic.StoreInt32(&reads, 0)
		<-done
		require.Zero(t, p.Kept())
		resume()
	}
	<-p.Close()
}
