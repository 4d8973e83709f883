package backup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"
)

// Source is a database to copy from, as *sqlitex.DB is.
type Source interface {
	// Path returns the absolute path of the file, or ":memory:".
	Path() string
	// ReadConn lends fn a connection that reads, with no transaction open, and ends its statements when ctx ends.
	ReadConn(ctx context.Context, fn func(c *sqlite.Conn) error) error
	// HoldCheckpoints keeps checkpoints from beginning until resume is called.
	HoldCheckpoints() (resume func())
}

// Target is a database to restore into, as *sqlitex.DB is.
type Target interface {
	// Path returns the absolute path of the file, or ":memory:".
	Path() string
	// WriteConn lends fn the connection that writes, with no transaction open.
	WriteConn(ctx context.Context, fn func(c *sqlite.Conn) error) error
}

// Verification is how thoroughly a copy is checked before it counts.
type Verification int

const (
	VerifyFull  Verification = iota // integrity_check, foreign_key_check, and the number of pages
	VerifyQuick                     // quick_check, which does not compare indexes with tables, and the number of pages
	VerifyOff                       // nothing
)

// String returns "full", "quick" or "off".
func (v Verification) String() string {
	switch v {
	case VerifyFull:
		return "full"
	case VerifyQuick:
		return "quick"
	case VerifyOff:
		return "off"
	}
	return fmt.Sprintf("Verification(%d)", int(v))
}

// Progress is how far a copy has come.
type Progress struct {
	PagesLeft  int // pages still to be copied; 0 in the last call
	PagesTotal int // pages of the snapshot
	BytesDone  int64
	Elapsed    time.Duration // since the copying began
}

// Result is what a call has done.
type Result struct {
	Bytes    int64         // size of the copy
	Pages    int           // likewise, in pages
	Duration time.Duration // of the whole call, verification included
	Verified Verification  // which checks found nothing
}

// Options configure a call. A nil *Options and every zero field mean the defaults.
type Options struct {
	// Overwrite lets To and VacuumInto replace a destination that exists, at once and as a whole, if nobody uses it. RestoreFile
	// always does. Default: false, it is refused with ErrExists.
	Overwrite bool

	// Verify says how the copy is checked (in Restore: the file, before it is used). The full check takes about as long as the copying. A
	// database that violates its own foreign keys never passes it; VerifyQuick does not look at them. Default: VerifyFull.
	Verify Verification

	// StepPages is how many pages are copied in one step; between steps the context is looked at, Progress called, Pause
	// kept. Negative: all in one. Default: 256, which is 1 MiB of pages of 4 KiB and takes some milliseconds.
	StepPages int

	// Pause is the time between two steps. Default: 0.
	Pause time.Duration

	// BytesPerSecond bounds the speed of copying; steps become smaller where they would take longer than a tenth of a
	// second. The package documentation says what a slow copy costs. Default: 0, no bound.
	BytesPerSecond int64

	// Progress is called on the caller's goroutine before the first step and after each; its error stops the call and is
	// returned. VacuumInto calls it before and after its one statement. When Restore calls it with PagesLeft 0, the transaction
	// is committed, and the error has no effect. Default: nil.
	Progress func(Progress) error

	// Setup is called on the connection that verifies, to register the functions and collations that the schema needs.
	// Default: nil.
	Setup func(ctx context.Context, c *sqlite.Conn) error

	// TempDir is where Write puts its copy. It needs room for the whole of it. Default: os.TempDir().
	TempDir string
}

// defaultStepPages keeps a step short beside a person's or a context's patience, and long beside what it costs to begin one.
const defaultStepPages = 256

// resolved returns o with every default filled in.
func (o *Options) resolved() (Options, error) {
	var r Options
	if o != nil {
		r = *o
	}
	switch {
	case r.Verify < VerifyFull || r.Verify > VerifyOff:
		return r, fmt.Errorf("backup: unknown %v", r.Verify)
	case r.Pause < 0:
		return r, errors.New("backup: Pause is negative")
	case r.BytesPerSecond < 0:
		return r, errors.New("backup: BytesPerSecond is negative")
	}
	if r.StepPages == 0 {
		r.StepPages = defaultStepPages
	}
	return r, nil
}

// report calls Progress, if there is one.
func (o *Options) report(p Progress) error {
	if o.Progress == nil {
		return nil
	}
	return o.Progress(p)
}
