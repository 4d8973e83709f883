package snapshot

import (
	"sync/atomic"
	"time"
)

// Tick is the time between two calls of Keep.Tick while snapshots are kept. A kept snapshot holds a mark in the log, behind
// which the log cannot start over. It lives for one to two ticks: long enough for thousands of reads, and short enough
// that a checkpoint finds the log free soon. No read has to take the time.
const Tick = 4 * time.Millisecond

// Keep rules over the kept snapshots of a handle.
type Keep struct {
	epoch atomic.Uint32 // counts ticks
	off   atomic.Int32  // reasons not to keep any
}

// Tick ends an epoch.
func (k *Keep) Tick() { k.epoch.Add(1) }

// Suspend lets no further snapshot be kept until Resume. Those that are kept already, their owners give up.
func (k *Keep) Suspend() { k.off.Add(1) }

// Resume undoes one Suspend.
func (k *Keep) Resume() { k.off.Add(-1) }

func (k *Keep) suspended() bool { return k.off.Load() != 0 }

func (k *Keep) now() uint32 { return k.epoch.Load() }

// fresh reports whether a snapshot begun at epoch may be used again.
func (k *Keep) fresh(epoch uint32) bool { return k.epoch.Load()-epoch < 2 && !k.suspended() }
