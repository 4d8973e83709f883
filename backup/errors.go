package backup

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/sqlerr"
	"github.com/sanelite/sanelite/tx"
)

// Errors about the destination, or about the file to restore.
var (
	ErrExists   = errors.New("destination exists")                           // and Overwrite was not asked for
	ErrSame     = errors.New("source and destination are the same database") // or the destination is a link to the source, or a side file of it
	ErrInUse    = errors.New("database is in use")                           // a connection is open, or a -wal or -journal with content lies beside it
	ErrPageSize = errors.New("page size differs")                            // of the file and the open database: use RestoreFile
	ErrEncoding = errors.New("text encoding differs")                        // likewise
)

// CheckError lists what a verification found. It matches ErrCheckFailed of package tx and, where SQLite gave up on the
// file, also ErrCorrupt or ErrNotADatabase.
type CheckError struct {
	Path        string   // empty for the copy that Write makes
	Integrity   []string // the lines of PRAGMA integrity_check, and what is wrong with the size
	ForeignKeys []string // the rows of PRAGMA foreign_key_check, as text

	Err error // why SQLite could not go on checking; may be nil
}

// Error names the findings, the first ones in full.
func (e *CheckError) Error() string {
	all := append(append([]string(nil), e.Integrity...), e.ForeignKeys...)
	if e.Err != nil {
		all = append(all, e.Err.Error())
	}
	what := "the copy"
	if e.Path != "" {
		what = strconv.Quote(e.Path)
	}
	return fmt.Sprintf("backup: check of %s found %d problems: %s", what, len(all), strings.Join(all[:min(len(all), 3)], "; "))
}

// Is matches ErrCheckFailed.
func (e *CheckError) Is(target error) bool { return target == tx.ErrCheckFailed }

// Unwrap returns Err.
func (e *CheckError) Unwrap() error { return e.Err }

// explain makes of an error of zombiezen's API one that matches the sentinels of package tx.
func explain(err error, op string) error {
	if err == nil {
		return nil
	}
	return &sqlerr.Error{Code: sqlite.ErrCode(err), Message: strings.TrimPrefix(err.Error(), "sqlite: "), Offset: -1, Op: op}
}
