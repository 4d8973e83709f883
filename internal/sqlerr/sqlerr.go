// Package sqlerr holds the errors that every layer of the module returns, so that a value made next to SQLite reaches the
// caller unwrapped. Package tx gives them their public names.
package sqlerr

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"
)

// Error is a failure that SQLite reported, with what is needed to act on it. It never carries argument values.
type Error struct {
	Code    sqlite.ResultCode // extended result code, https://www.sqlite.org/rescode.html
	Message string            // SQLite's own words
	SQL     string            // text of the statement; empty where there was none
	Offset  int               // byte offset of the offending token in SQL; -1 where SQLite does not know it
	Op      string            // what was being done, for instance "commit"; empty for a statement
	Cause   error             // the context's error or ErrClosed where that interrupted it, or the system's (a syscall.Errno); may be nil
}

// Error describes the failure in one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("sqlite: ")
	if e.Op != "" {
		b.WriteString(e.Op)
		b.WriteString(": ")
	}
	b.WriteString(e.Message)
	fmt.Fprintf(&b, " (%v)", e.Code)
	if e.Cause != nil {
		fmt.Fprintf(&b, ": %v", e.Cause)
	}
	if e.SQL != "" {
		b.WriteString(" in ")
		b.WriteString(Shorten(e.SQL))
		if e.Offset >= 0 {
			fmt.Fprintf(&b, " at byte %d", e.Offset)
		}
	}
	return b.String()
}

// Unwrap returns the cause, so that errors.Is finds the context's error and fs.ErrPermission.
func (e *Error) Unwrap() error { return e.Cause }

// Is matches the sentinels of this package by result code.
func (e *Error) Is(target error) bool {
	s, ok := target.(*sentinel)
	return ok && s.matches(e.Code)
}

// Shorten quotes sql for a message and cuts it where a line would become unreadable.
func Shorten(sql string) string {
	const most = 200
	if len(sql) > most {
		return fmt.Sprintf("%q…", sql[:most])
	}
	return fmt.Sprintf("%q", sql)
}

// A sentinel is an error value that stands for a set of result codes; with none it only matches itself.
type sentinel struct {
	text  string
	codes []sqlite.ResultCode
}

func (s *sentinel) Error() string { return s.text }

// matches reports whether code, or the primary code it extends, is one of the sentinel's.
func (s *sentinel) matches(code sqlite.ResultCode) bool {
	for _, c := range s.codes {
		if c == code || c == code.ToPrimary() {
			return true
		}
	}
	return false
}

func newSentinel(text string, codes ...sqlite.ResultCode) error {
	return &sentinel{text: text, codes: codes}
}

// The sentinels, grouped by when they occur. Package tx documents each.
var (
	ErrBusy   = newSentinel("database is busy", sqlite.ResultBusy, sqlite.ResultLocked)
	ErrClosed = newSentinel("database handle is closed")

	ErrNotADatabase      = newSentinel("file is not a database", sqlite.ResultNotADB)
	ErrCannotOpen        = newSentinel("unable to open database file", sqlite.ResultCantOpen)
	ErrWALUnavailable    = newSentinel("write-ahead log is unavailable")
	ErrNetworkFilesystem = newSentinel("database is on a network filesystem")

	ErrTxDone       = newSentinel("transaction has already ended")
	ErrReadOnly     = newSentinel("attempt to write a read-only database", sqlite.ResultReadOnly)
	ErrNotAllowed   = newSentinel("statement is not allowed here")
	ErrFull         = newSentinel("database or disk is full", sqlite.ResultFull)
	ErrTooBig       = newSentinel("string or blob too big", sqlite.ResultTooBig)
	ErrCorrupt      = newSentinel("database disk image is malformed", sqlite.ResultCorrupt, sqlite.ResultNotADB)
	ErrIO           = newSentinel("disk I/O error", sqlite.ResultIOErr)
	ErrInterrupted  = newSentinel("interrupted", sqlite.ResultInterrupt)
	ErrSyntax       = newSentinel("SQL logic error", sqlite.ResultError)
	ErrConstraint   = newSentinel("constraint failed", sqlite.ResultConstraint)
	ErrUnique       = newSentinel("UNIQUE constraint failed", sqlite.ResultConstraintUnique, sqlite.ResultConstraintPrimaryKey, sqlite.ResultConstraintRowID)
	ErrForeignKey   = newSentinel("FOREIGN KEY constraint failed", sqlite.ResultConstraintForeignKey)
	ErrNotNull      = newSentinel("NOT NULL constraint failed", sqlite.ResultConstraintNotNull)
	ErrCheck        = newSentinel("CHECK constraint failed", sqlite.ResultConstraintCheck)
	ErrTooManyRows  = newSentinel("query returned more than one row")
	ErrArguments    = newSentinel("arguments do not fit the statement")
	ErrScan         = newSentinel("row does not fit the Go type")
	ErrCheckFailed  = newSentinel("database check failed")
	ErrStateChanged = newSentinel("connection was left in another state")
)

// Wrapf returns an error that reads as formatted and matches sentinel as well as what %w names.
func Wrapf(sentinel error, format string, args ...any) error {
	return &classified{err: fmt.Errorf(format, args...), sentinel: sentinel}
}

type classified struct {
	err, sentinel error
}

func (c *classified) Error() string   { return c.err.Error() }
func (c *classified) Unwrap() []error { return []error{c.err, c.sentinel} }

// IsBusy reports whether err is a lock that somebody else holds.
func IsBusy(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code.ToPrimary() == sqlite.ResultBusy
}

// ErrNoRows matches sql.ErrNoRows too, so that code which moves here from database/sql keeps working.
var ErrNoRows error = noRows{}

type noRows struct{}

func (noRows) Error() string { return "query returned no row" }
func (noRows) Unwrap() error { return sql.ErrNoRows }
