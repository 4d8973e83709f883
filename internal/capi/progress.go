package capi

import (
	"context"
	"sync"
	"sync/atomic"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/sanelite/sanelite/internal/cmem"
)

// progressSteps is how many virtual machine steps pass between two looks at the context: some ten microseconds, far below
// what a caller notices and far above what the look costs. https://www.sqlite.org/c3ref/progress_handler.html
const progressSteps = 1000

// handlers finds the Conn of a callback: C memory may not hold a Go pointer.
var handlers = struct {
	sync.RWMutex
	next  uintptr
	conns map[uintptr]*Conn
}{conns: map[uintptr]*Conn{}}

func (c *Conn) installProgressHandler() {
	handlers.Lock()
	handlers.next++
	c.id = handlers.next
	handlers.conns[c.id] = c
	handlers.Unlock()
	c.ArmProgressHandler()
}

// ArmProgressHandler sets the handler again after user code had the connection.
func (c *Conn) ArmProgressHandler() {
	lib.Xsqlite3_progress_handler(c.tls, c.db, progressSteps, cmem.Func(onProgress), c.id)
}

func (c *Conn) removeProgressHandler() {
	handlers.Lock()
	delete(handlers.conns, c.id)
	handlers.Unlock()
}

func onProgress(_ *libc.TLS, id uintptr) int32 {
	handlers.RLock()
	c := handlers.conns[id]
	handlers.RUnlock()
	if c != nil && c.Cause() != nil {
		return 1 // the statement ends with SQLITE_INTERRUPT
	}
	return 0
}

// SetContext says whose statements run from now on. Only statements that are running when ctx ends are interrupted; one
// that begins later under another context is never hit, as a late sqlite3_interrupt would.
func (c *Conn) SetContext(ctx context.Context) { c.ctx = ctx }

// ClearContext lets nothing interrupt the statements that run from now on: those that end a transaction.
func (c *Conn) ClearContext() { c.ctx = nil }

// Context returns what SetContext set last.
func (c *Conn) Context() context.Context { return c.ctx }

// Stop ends the statements of all connections that share it, those that are being opened included. Its zero value is ready
// for use.
type Stop struct{ reason atomic.Pointer[error] }

// Set makes the running statements, and every later one, end with reason. It may be called from any goroutine and is final:
// it is for handles that close.
func (s *Stop) Set(reason error) { s.reason.Store(&reason) }

// Err returns the reason, or nil. A nil Stop has none.
func (s *Stop) Err() error {
	if s == nil {
		return nil
	}
	if reason := s.reason.Load(); reason != nil {
		return *reason
	}
	return nil
}

// StopWith makes s end the statements of c too.
func (c *Conn) StopWith(s *Stop) { c.stop = s }

// Cause returns why the running statement must end, or nil.
func (c *Conn) Cause() error {
	if c.ctx == nil {
		return nil
	}
	if err := c.stop.Err(); err != nil {
		return err
	}
	return c.ctx.Err()
}

// OpenConnections counts the connections of this module that were opened on path, spelled the same way.
func OpenConnections(path string) (n int) {
	handlers.RLock()
	defer handlers.RUnlock()
	for _, c := range handlers.conns {
		if c.path == path {
			n++
		}
	}
	return n
}
