package sqlitex

import "github.com/sanelite/sanelite/tx"

// Error and BusyError are those of package tx.
type (
	Error     = tx.Error
	BusyError = tx.BusyError
)

// The sentinel errors of package tx, where each is explained. They are the same values.
var (
	ErrBusy              = tx.ErrBusy
	ErrClosed            = tx.ErrClosed
	ErrNotADatabase      = tx.ErrNotADatabase
	ErrCannotOpen        = tx.ErrCannotOpen
	ErrWALUnavailable    = tx.ErrWALUnavailable
	ErrNetworkFilesystem = tx.ErrNetworkFilesystem
	ErrTxDone            = tx.ErrTxDone
	ErrReadOnly          = tx.ErrReadOnly
	ErrNotAllowed        = tx.ErrNotAllowed
	ErrArguments         = tx.ErrArguments
	ErrNoRows            = tx.ErrNoRows
	ErrTooManyRows       = tx.ErrTooManyRows
	ErrScan              = tx.ErrScan
	ErrConstraint        = tx.ErrConstraint
	ErrUnique            = tx.ErrUnique
	ErrForeignKey        = tx.ErrForeignKey
	ErrNotNull           = tx.ErrNotNull
	ErrCheck             = tx.ErrCheck
	ErrSyntax            = tx.ErrSyntax
	ErrInterrupted       = tx.ErrInterrupted
	ErrFull              = tx.ErrFull
	ErrTooBig            = tx.ErrTooBig
	ErrIO                = tx.ErrIO
	ErrCorrupt           = tx.ErrCorrupt
	ErrCheckFailed       = tx.ErrCheckFailed
	ErrStateChanged      = tx.ErrStateChanged
)
