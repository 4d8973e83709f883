package sqlitex

import (
	"time"

	"github.com/sanelite/sanelite/internal/pagecache"
)

// Stats are figures of a handle. Counters begin at Open.
type Stats struct {
	Readers ReaderStats
	Writer  WriterStats

	WAL WALStats

	// PageCache names the page cache that all connections of the process use: this module's, which needs no lock and survives
	// commits, or SQLite's own where the environment variable SANELITE_PAGECACHE says "builtin", or where another package
	// had initialised SQLite before the first Open. "plain" is this module's without surviving commits.
	PageCache string
	// PageCacheBytes is the memory that pages take in the whole process; 0 for SQLite's own cache, which cannot tell.
	PageCacheBytes int64
}

// WALStats tells about the write-ahead log, and about the checkpoints that this handle runs in the background. A log that
// grows although everything has been copied is held by a reader: see ReaderStats.Oldest.
type WALStats struct {
	Pages    int   // in the log, since it was started over last
	Copied   int   // of these, how many stand in the database file
	Passive  int64 // checkpoints that copied what they could
	Restarts int64 // times the log was made to start over
	Blocked  int64 // times a reader was in the way of that
	Failed   int64 // checkpoints that met an error; they are tried again
	LastErr  error // of the last checkpoint; nil if it succeeded
}

// ReaderStats tells about the connections that read.
type ReaderStats struct {
	Open     int           // connections
	InUse    int           // of these, how many are reading now
	Max      int           // Options.MaxReaders
	Waiting  int           // callers that wait for one now
	Oldest   time.Duration // age of the longest read that is going on: it keeps the write-ahead log from starting over
	Acquired int64         // reads begun
	Waits    int64         // of these, how many had to wait for a reader
	Opened   int64         // connections opened

	Snapshots SnapshotStats
}

// SnapshotStats tells how readers came by their snapshots.
type SnapshotStats struct {
	Kept          bool  // they are kept open between reads: that takes a write-ahead log and no attached database
	Reused        int64 // reads that took the snapshot of the one before, since nothing had been committed
	CacheSurvived int64 // new snapshots that kept the reader's page cache, but for the pages that had changed
	CacheDropped  int64 // new snapshots that had to drop it, mostly since the write-ahead log had started over
}

// WriterStats tells about the connection that writes and the queue before it.
type WriterStats struct {
	Queued      int           // callers that wait for it now
	Held        time.Duration // for how long the present writer has had it; 0 when it is free
	Acquired    int64         // writes begun
	Waits       int64         // of these, how many had to wait
	WaitTotal   time.Duration // sum of the waits
	WaitLongest time.Duration

	Commits int64 // transactions of Exec, ExecOne and Batch
	Callers int64 // calls that shared them
}

// Stats returns the figures of this moment. It is cheap, and does not touch the file.
func (db *DB) Stats() Stats {
	s := Stats{
		Writer:         WriterStats(db.queue.Stats()),
		PageCache:      pagecache.Installed().String(),
		PageCacheBytes: pagecache.Allocated(),
	}
	if log := db.log.Load(); log != nil {
		pages, copied := log.Log()
		s.WAL.Pages, s.WAL.Copied = int(pages), int(copied)
	}
	if db.checkpoints != nil {
		c := db.checkpoints.Stats()
		s.WAL.Passive, s.WAL.Restarts, s.WAL.Blocked, s.WAL.Failed, s.WAL.LastErr = c.Passive, c.Restarts, c.Blocked, c.Failed, c.Last
	}
	if db.readers == nil {
		return s
	}
	r := db.readers.Stats()
	s.Readers = ReaderStats{
		Open: r.Open, InUse: r.InUse, Max: r.Max, Waiting: r.Waiting, Oldest: r.Oldest,
		Acquired: r.Acquired, Waits: r.Waits, Opened: r.Opened,
		Snapshots: SnapshotStats{
			Kept: r.Keeping, Reused: r.Snapshots.Reused,
			CacheSurvived: r.Snapshots.Survived, CacheDropped: r.Snapshots.Dropped,
		},
	}
	return s
}
