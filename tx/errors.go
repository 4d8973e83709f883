package tx

import "github.com/sanelite/sanelite/internal/sqlerr"

// Error is a failure that SQLite reported. Its fields are Code, the extended result code
// (https://www.sqlite.org/rescode.html); Message, SQLite's own words; SQL, the text of the statement; Offset, the byte of
// SQL at which the offending token begins, -1 where SQLite does not know; Op, what was being done where it was no
// statement; and Cause, the context's error where that interrupted it, or what the operating system answered. It never carries
// argument values.
//
// errors.Is compares an Error with the sentinels below by its code, whatever has been wrapped around it.
type Error = sqlerr.Error

// BusyError says what a call waited for in vain. Its fields are For, what it waited for, and Waited, how long; Holder and
// Held, the function or statement that has the writer, and since when; Readers and Oldest, how many readers are in use and the age of the
// oldest; and Err, the context's error or what SQLite answered last. It matches ErrBusy where the busy timeout ended the
// wait, and the context's error where the context did.
type BusyError = sqlerr.BusyError

// Errors about getting hold of a connection or a lock.
var (
	ErrBusy   = sqlerr.ErrBusy   // somebody else holds the lock, the writer or all readers, for longer than may be waited
	ErrClosed = sqlerr.ErrClosed // the handle was closed, or is closing
)

// Errors from opening a database.
var (
	ErrNotADatabase      = sqlerr.ErrNotADatabase      // the file holds something else
	ErrCannotOpen        = sqlerr.ErrCannotOpen        // the file cannot be opened, for a reason that the message names
	ErrWALUnavailable    = sqlerr.ErrWALUnavailable    // a write-ahead log was asked for, and SQLite did not switch to it
	ErrNetworkFilesystem = sqlerr.ErrNetworkFilesystem // the folder is on NFS, SMB or AFS, where WAL can lose data
)

// Errors about the use of a transaction.
var (
	ErrTxDone     = sqlerr.ErrTxDone     // a Reader or Writer was used after its function had returned
	ErrReadOnly   = sqlerr.ErrReadOnly   // a statement that writes, where only reading is possible
	ErrNotAllowed = sqlerr.ErrNotAllowed // a statement that this package runs itself, or one that changes the connection
	ErrArguments  = sqlerr.ErrArguments  // arguments that do not match the parameters, or that SQLite has no type for
)

// Errors from rows.
var (
	ErrNoRows      = sqlerr.ErrNoRows      // One found none; matches sql.ErrNoRows as well
	ErrTooManyRows = sqlerr.ErrTooManyRows // One found several
	ErrScan        = sqlerr.ErrScan        // a column and the Go type do not fit
)

// Errors that SQLite reports, by result code.
var (
	ErrConstraint  = sqlerr.ErrConstraint  // any constraint; the four below are kinds of it
	ErrUnique      = sqlerr.ErrUnique      // UNIQUE or PRIMARY KEY
	ErrForeignKey  = sqlerr.ErrForeignKey  // FOREIGN KEY
	ErrNotNull     = sqlerr.ErrNotNull     // NOT NULL
	ErrCheck       = sqlerr.ErrCheck       // CHECK
	ErrSyntax      = sqlerr.ErrSyntax      // SQL that does not compile, or RAISE and functions that report a plain error
	ErrInterrupted = sqlerr.ErrInterrupted // the statement was interrupted; the context's error matches as well
	ErrFull        = sqlerr.ErrFull        // the disk is full, or max_page_count is reached
	ErrTooBig      = sqlerr.ErrTooBig      // a value beyond SQLite's limit of 1 GB
	ErrIO          = sqlerr.ErrIO          // the operating system failed to read, write or sync
	ErrCorrupt     = sqlerr.ErrCorrupt     // the file is damaged
)

// Errors from maintenance.
var (
	ErrCheckFailed  = sqlerr.ErrCheckFailed  // integrity_check or foreign_key_check found something
	ErrStateChanged = sqlerr.ErrStateChanged // user code left a connection otherwise than it got it
)
