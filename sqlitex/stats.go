package sqlitex

import "time"

// Stats are figures of a handle. Counters begin at Open.
type Stats struct {
	Readers ReaderStats
	Writer  WriterStats
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
	Reused   int64         // reads that took the snapshot of the one before, since nothing had been committed
	Keeping  bool          // snapshots can be kept that way: a write-ahead log, nothing attached
}

// WriterStats tells about the connection that writes and the queue before it.
type WriterStats struct {
	Queued      int           // callers that wait for it now
	Held        time.Duration // for how long the present writer has had it; 0 when it is free
	Acquired    int64         // writes begun
	Waits       int64         // of these, how many had to wait
	WaitTotal   time.Duration // sum of the waits
	WaitLongest time.Duration
}

// Stats returns the figures of this moment. It is cheap, and does not touch the file.
func (db *DB) Stats() Stats {
	s := Stats{Writer: WriterStats(db.queue.Stats())}
	if db.readers != nil {
		s.Readers = ReaderStats(db.readers.Stats())
	}
	return s
}
