package sqlerr

import (
	"fmt"
	"strings"
	"time"
)

// BusyError says what a call waited for in vain, and who had it. It matches ErrBusy where the busy timeout ended the wait,
// and the context's error where the context did.
type BusyError struct {
	For    string        // what was waited for: "the writer", "a reader", "another connection's lock"
	Waited time.Duration // how long

	Holder string        // who has the writer: file:line of the function given to Write, or a statement; empty where nobody in this handle has
	Held   time.Duration // for how long it has been held

	Readers int           // readers that are in use
	Oldest  time.Duration // age of the oldest of them

	Err error // the context's error, or what SQLite answered last; nil otherwise
	ctx bool  // Err is the context's
}

// NewContextBusy returns a BusyError for a wait that the context ended with err.
func NewContextBusy(what string, waited time.Duration, err error) *BusyError {
	return &BusyError{For: what, Waited: waited, Err: err, ctx: true}
}

// Error tells the story in one line.
func (e *BusyError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "sqlite: waited %v for %s", e.Waited.Round(time.Microsecond), e.For)
	if e.Holder != "" {
		fmt.Fprintf(&b, ", held for %v by %s", e.Held.Round(time.Microsecond), e.Holder)
	}
	if e.Readers > 0 {
		fmt.Fprintf(&b, ", %d readers in use, the oldest for %v", e.Readers, e.Oldest.Round(time.Microsecond))
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// Is matches ErrBusy unless it was the context that ended the wait.
func (e *BusyError) Is(target error) bool { return target == ErrBusy && !e.ctx }

// Unwrap returns Err.
func (e *BusyError) Unwrap() error { return e.Err }
