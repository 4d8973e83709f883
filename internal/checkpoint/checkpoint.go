// Package checkpoint copies the write-ahead log back into the database in the background, on a connection of its own, so
// that no commit has to. With synchronous = NORMAL that also moves the only fsync out of the commits.
//
// A PASSIVE checkpoint waits for nobody. It does not bound the log: readers that keep, or constantly renew, their snapshots
// hold marks in it, and it never starts over. When the log has become long in spite of it, the checkpointer takes its turn
// as a writer, lets no snapshot be kept meanwhile, and has SQLite start the log over.
package checkpoint

import (
	"context"
	"sync"
	"time"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/sqlerr"
)

// Config says when to do what, in pages of the log, and how to reach the handle. Its functions are called from the
// goroutine of the checkpointer.
type Config struct {
	Open func(context.Context) (*conn.Conn, error)
	// Exclusive runs fn while nobody writes and no snapshot is kept.
	Exclusive func(ctx context.Context, fn func()) error
	Report    func(error) // a checkpoint that failed; it will be tried again

	Copy     int // pages not yet copied from which a PASSIVE one is due
	Restart  int // length from which the log is started over
	Truncate int // length from which it is also cut off; 0: never
}

// Stats tells about checkpoints in the background.
type Stats struct {
	Passive  int64 // PASSIVE ones that ran
	Restarts int64 // RESTART and TRUNCATE ones that succeeded
	Blocked  int64 // of these, tries that met a reader that was still reading
	Failed   int64
	Last     error // of the last one; nil if it succeeded
}

// Checkpointer belongs to a handle. It has a goroutine only while there is something to do.
type Checkpointer struct {
	cfg Config

	mu      sync.Mutex
	conn    *conn.Conn     // opened when needed first; belongs to the goroutine that runs
	index   *capi.WALIndex // as conn sees it
	running bool
	paused  int // reasons not to begin
	closed  chan struct{}
	done    sync.WaitGroup
	stats   Stats
}

// New returns a checkpointer.
func New(cfg Config) *Checkpointer { return &Checkpointer{cfg: cfg, closed: make(chan struct{})} }

// Note looks at the log after a commit, and begins if it has become long. It costs two loads.
func (k *Checkpointer) Note(x *capi.WALIndex) {
	if !k.due(x) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running || k.paused > 0 || k.isClosed() {
		return
	}
	k.running = true
	k.done.Add(1)
	go k.run()
}

// Pause lets no checkpoint begin until Resume: something pins the log, so that it would be of no use. One that runs is
// waited for.
func (k *Checkpointer) Pause() {
	k.mu.Lock()
	k.paused++
	k.mu.Unlock()
	k.done.Wait()
}

// Resume undoes one Pause.
func (k *Checkpointer) Resume() {
	k.mu.Lock()
	k.paused--
	k.mu.Unlock()
}

// Close waits for a checkpoint that runs and closes the connection.
func (k *Checkpointer) Close() {
	k.mu.Lock()
	if !k.isClosed() {
		close(k.closed)
	}
	k.mu.Unlock()
	k.done.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.conn != nil {
		_ = k.conn.Close()
		k.conn = nil
	}
}

// Stats returns the figures of this moment.
func (k *Checkpointer) Stats() Stats {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.stats
}

func (k *Checkpointer) isClosed() bool {
	select {
	case <-k.closed:
		return true
	default:
		return false
	}
}

// Pauses between two tries while readers are in the way, or after a failure.
const (
	firstPause = 5 * time.Millisecond
	longPause  = time.Second
)

// run works until the log is short enough.
func (k *Checkpointer) run() {
	defer k.done.Done()
	for pause := firstPause; ; {
		progress := k.round()
		if k.ends() {
			return
		}
		if progress {
			pause = firstPause
			continue
		}
		k.sleep(pause)
		pause = min(2*pause, longPause)
	}
}

// ends reports whether there is nothing more to do, or nothing more to be done.
func (k *Checkpointer) ends() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.index != nil && k.due(k.index) && k.paused == 0 && !k.isClosed() {
		return false
	}
	k.running = false
	return true
}

// due reports whether the log is so long that something is to be done.
func (k *Checkpointer) due(x *capi.WALIndex) bool {
	frames, copied := x.Log()
	return frames >= copied && (int(frames-copied) >= k.cfg.Copy || int(frames) >= k.cfg.Restart)
}

// round copies the log and, if it is long, starts it over. It reports whether it came further.
func (k *Checkpointer) round() bool {
	if k.conn == nil && !k.open() {
		return false
	}
	frames, before := k.index.Log()
	for left := frames - before; ; {
		if !k.copy() {
			return false
		}
		frames, copied := k.index.Log()
		if int(frames) < k.cfg.Restart {
			return copied != before
		}
		// Starting over copies what is left while writers stand still: after a backup, a hundred megabytes may have come
		// meanwhile. So it is copied once more, unless readers or a fast writer let it become no less.
		appended := frames - copied
		if int(appended) < k.cfg.Copy || appended > left/2 || k.isClosed() {
			return k.startOver(int(frames))
		}
		left = appended
	}
}

// copy does a PASSIVE checkpoint. It reports whether that can have had an effect.
func (k *Checkpointer) copy() bool {
	_, _, err := k.conn.Checkpoint(capi.CheckpointPassive)
	if err != nil && !sqlerr.IsBusy(err) { // busy: somebody else is at it
		k.fail(err)
		return false
	}
	k.count(func(s *Stats) { s.Passive++; s.Last = nil })
	return true
}

func (k *Checkpointer) open() bool {
	c, err := k.cfg.Open(context.Background())
	if err != nil {
		k.fail(err)
		return false
	}
	c.SetBusyTimeout(0)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.conn, k.index = c, c.WALIndex()
	return k.index != nil
}

// Short reads are waited for: while snapshots are not kept, and everything has been copied, each of them is over within
// microseconds, and the next needs nothing of the log. Writers stand still meanwhile, so it must not be long.
const (
	readsEnd  = 20 * time.Millisecond
	readPause = 200 * time.Microsecond
)

// startOver has the log begin anew. A long read is not waited for: it is tried again later.
func (k *Checkpointer) startOver(frames int) bool {
	mode := capi.CheckpointRestart
	if k.cfg.Truncate > 0 && frames >= k.cfg.Truncate {
		mode = capi.CheckpointTruncate
	}
	var err error
	e := k.cfg.Exclusive(context.Background(), func() {
		for start := time.Now(); ; k.sleep(readPause) {
			if _, _, err = k.conn.Checkpoint(mode); err == nil || !sqlerr.IsBusy(err) || time.Since(start) > readsEnd || k.isClosed() {
				return
			}
		}
	})
	if e != nil {
		return false // the writer was not to be had
	}
	switch {
	case err == nil:
		k.count(func(s *Stats) { s.Restarts++ })
	case sqlerr.IsBusy(err):
		k.count(func(s *Stats) { s.Blocked++ })
	default:
		k.fail(err)
	}
	return err == nil
}

// fail notes an error. The next round tries again: nothing is lost by it but disk space.
func (k *Checkpointer) fail(err error) {
	k.count(func(s *Stats) { s.Failed++; s.Last = err })
	if k.cfg.Report != nil && !k.isClosed() {
		k.cfg.Report(err)
	}
}

func (k *Checkpointer) count(change func(*Stats)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	change(&k.stats)
}

// sleep ends early when the handle closes.
func (k *Checkpointer) sleep(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-k.closed:
	}
}
