package pragma

import (
	"fmt"

	"github.com/sanelite/sanelite/internal/sqlerr"
)

// MismatchError says that a setting did not take: SQLite was given one value and reads another. Values are spelled as the
// PRAGMA reports them: 1 and 0 for on and off, a negative cache_size for KiB.
//
// Where it is the journal mode WAL that was refused, the error matches ErrWALUnavailable of package tx.
type MismatchError struct {
	Pragma string // name as in PRAGMA name
	Want   string // value asked for
	Got    string // value in force; empty where SQLite gives no answer
}

// Error names the pragma, the value wanted and the value in force.
func (e *MismatchError) Error() string {
	got := e.Got
	if got == "" {
		got = "no answer"
	}
	return fmt.Sprintf("pragma %s: wanted %s, got %s", e.Pragma, e.Want, got)
}

// Is matches ErrWALUnavailable where WAL was wanted.
func (e *MismatchError) Is(target error) bool {
	return target == sqlerr.ErrWALUnavailable && e.Pragma == "journal_mode" && e.Want == string(JournalWAL)
}
