package sqlitex

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/checkpoint"
	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/pragma"
)

// CheckpointMode is how far a checkpoint goes, and what it waits for. https://www.sqlite.org/c3ref/wal_checkpoint_v2.html
type CheckpointMode int

const (
	CheckpointPassive  CheckpointMode = iota // copy what is possible without waiting for anybody
	CheckpointFull                           // wait for writers, and copy everything
	CheckpointRestart                        // likewise, and wait for readers, so that the next writer starts the log over
	CheckpointTruncate                       // likewise, and cut the log file to nothing
)

var checkpointModes = map[CheckpointMode]capi.CheckpointMode{
	CheckpointPassive:  capi.CheckpointPassive,
	CheckpointFull:     capi.CheckpointFull,
	CheckpointRestart:  capi.CheckpointRestart,
	CheckpointTruncate: capi.CheckpointTruncate,
}

// CheckpointInfo is what a checkpoint achieved, in pages. Both are 0 after CheckpointTruncate, and -1 without a log.
type CheckpointInfo struct {
	Log    int // pages in the write-ahead log
	Copied int // of these, how many stand in the database file

	// Blocked says that somebody kept the checkpoint from doing all that its mode is for: mostly a reader, whose snapshot needs
	// pages as they were. Readers are those of this handle that were reading, Oldest the age of the longest of their reads.
	Blocked bool
	Readers int
	Oldest  time.Duration
}

// Checkpoint copies the write-ahead log back into the database file. All modes but CheckpointPassive take their turn as a
// writer, let no reader keep its snapshot meanwhile, and wait for others, bounded by ctx and BusyTimeout; what then stands in
// the way makes it a BusyError, together with how far it came. For CheckpointPassive it is no error that readers keep it from copying everything: see Blocked.
func (db *DB) Checkpoint(ctx context.Context, mode CheckpointMode) (CheckpointInfo, error) {
	m, ok := checkpointModes[mode]
	if !ok {
		return CheckpointInfo{}, fmt.Errorf("sqlite: unknown CheckpointMode %d", mode)
	}
	var info CheckpointInfo
	err := db.maintain(ctx, "readers or writers that stand in the way of a checkpoint", func(c *conn.Conn) (err error) {
		if mode != CheckpointPassive && db.readers != nil {
			defer db.readers.SuspendSnapshots()()
		}
		info.Log, info.Copied, err = c.Checkpoint(m)
		return err
	})
	busy := new(BusyError)
	if errors.As(err, &busy) || err == nil && info.Copied < info.Log {
		info.Blocked = true
		if db.readers != nil {
			s := db.readers.Stats()
			info.Readers, info.Oldest = s.InUse, s.Oldest
		}
		busy.Readers, busy.Oldest = info.Readers, info.Oldest
	}
	return info, err
}

// checkpointsInBackground reports whether this handle copies the log back by itself.
func (db *DB) checkpointsInBackground() bool {
	o := &db.opts
	return !checkpoint.InCommit && !db.memory && o.Mode != ReadOnly && o.Checkpoints == CheckpointsAuto && o.Pragmas.WALAutoCheckpoint >= 0 &&
		o.Pragmas.WithDefaults().JournalMode == pragma.JournalWAL
}

// startCheckpoints is called when the writer is open. The log is started over at half of its size limit: readers lose their
// page caches by it, so it must not be too often, and the file is not to grow beyond the limit before readers let it.
func (db *DB) startCheckpoints() {
	if !db.checkpointsInBackground() || db.log.Load() == nil {
		return
	}
	p := db.opts.Pragmas.WithDefaults()
	pageSize := max(512, db.writer.Load().Pragmas().PageSize)
	cfg := checkpoint.Config{
		Open:      func(ctx context.Context) (*conn.Conn, error) { return db.openConn(ctx, sqlite.OpenReadWrite) },
		Exclusive: db.exclusive,
		Report:    func(err error) { db.report(context.Background(), "checkpoint", err) },
		Copy:      p.WALAutoCheckpoint,
		Restart:   longLog,
	}
	if p.JournalSizeLimit > 0 {
		limit := int(p.JournalSizeLimit / pageSize)
		cfg.Restart, cfg.Truncate = max(cfg.Copy, limit/2), max(cfg.Copy, limit)
	}
	db.checkpoints = checkpoint.New(cfg)
}

// longLog is the length, in pages, from which a log without a size limit is started over.
const longLog = 8192

// exclusive runs fn while nobody writes through this handle and no reader keeps a snapshot between reads.
func (db *DB) exclusive(ctx context.Context, fn func()) error {
	if err := db.queue.Acquire(ctx, db.opts.BusyTimeout); err != nil {
		return err
	}
	defer db.queue.Release()
	if c := db.writer.Load(); c != nil {
		c.User.Begin(fn)
		c.LetGo()
	}
	defer db.readers.SuspendSnapshots()()
	fn()
	return nil
}

// HoldCheckpoints lets no checkpoint begin in the background until resume is called, and waits for one that runs. It is for
// backups, which pin the write-ahead log with a snapshot of their own: checkpoints would be of no use meanwhile, and cost the
// writer most of its speed. The log grows by all that is written in the meantime. resume may be called more than once.
func (db *DB) HoldCheckpoints() (resume func()) {
	if db.checkpoints == nil {
		return func() {}
	}
	db.checkpoints.Pause()
	return sync.OnceFunc(db.checkpoints.Resume)
}
