package readers

import (
	"sync/atomic"

	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/goroutine"
	"github.com/sanelite/sanelite/internal/snapshot"
)

// Reader is a connection of the pool with its snapshot. Whoever owner names may use it, and nobody else may look at what is not
// atomic.
type Reader struct {
	Conn     *conn.Conn
	Snapshot snapshot.Snapshot
	rested   int // sweeps since it was used

	// Every Get, on every processor, looks for the reader that its goroutine had last, which hardly ever changes. Nothing that
	// changes with every use may share a cache line with that.
	_        [64]byte
	last     atomic.Uintptr // the goroutine that had it last
	_        [64]byte
	owner    atomic.Uintptr
	since    atomic.Int64 // when it was taken, by Pool.clock
	acquired atomic.Int64 // uses
	_        [64]byte
}

// Owners that are no goroutine, whose numbers are addresses.
const (
	free    uintptr = iota // whoever wins it from here may use it
	nobody                 // a goroutine that cannot be told apart, or one that waits and has been given the reader
	itself                 // the pool, with its lock held
	closing                // for good
)

// me is the calling goroutine as an owner.
func me() uintptr { return max(goroutine.ID(), nobody) }

// New returns a reader around c that belongs to no pool and keeps no snapshot.
func New(c *conn.Conn) *Reader { return newReader(c, nil) }

func newReader(c *conn.Conn, keep *snapshot.Keep) *Reader {
	r := &Reader{Conn: c}
	r.Snapshot.Init(c, keep)
	return r
}

// lent is for the new owner to call.
func (r *Reader) lent(now int64) {
	r.rested = 0
	r.acquired.Store(r.acquired.Load() + 1) // by the owner alone: no need for a locked addition
	if r.since.Load() != now {
		r.since.Store(now)
	}
}

// inUse reports whether somebody outside of the pool has the reader.
func (r *Reader) inUse() bool {
	owner := r.owner.Load()
	return owner == nobody || owner > closing
}

// close closes the connection.
func (r *Reader) close() {
	r.Snapshot.GiveUp()
	_ = r.Conn.Close()
}
