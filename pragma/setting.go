package pragma

import (
	"cmp"
	"errors"

	"github.com/sanelite/sanelite/internal/sqlerr"

	"zombiezen.com/go/sqlite"
)

// A setting is one PRAGMA and the value it shall have. Both are made of this package's own words and numbers, never of a
// caller's text.
type setting struct {
	pragma string
	want   string // as SQLite reports it
	set    string // as SQLite takes it; empty where that is the same
	silent bool   // no answer is as good as the one wanted: a memory database has no mmap_size
}

func (s setting) apply(c *sqlite.Conn) error {
	if _, _, err := query(c, "PRAGMA "+s.pragma+"="+cmp.Or(s.set, s.want)); err != nil {
		return err
	}
	return s.check(c)
}

// applyUnlessSet spares the lock that some PRAGMAs take even where they change nothing.
func (s setting) applyUnlessSet(c *sqlite.Conn) error {
	err := s.check(c)
	if mismatch := (*MismatchError)(nil); !errors.As(err, &mismatch) {
		return err
	}
	return s.apply(c)
}

// check reads the setting back.
func (s setting) check(c *sqlite.Conn) error {
	got, ok, err := query(c, "PRAGMA "+s.pragma)
	switch {
	case err != nil:
		return err
	case !ok && s.silent, ok && got == s.want:
		return nil
	default:
		return &MismatchError{Pragma: s.pragma, Want: s.want, Got: got}
	}
}

// query runs one statement to its end and returns the first column of its first row; ok tells whether there was one. The
// statement is transient: a cached one would stay with the connection for good.
func query(c *sqlite.Conn, sql string) (value string, ok bool, err error) {
	stmt, _, err := c.PrepareTransient(sql)
	if err != nil {
		return "", false, failure(err, sql)
	}
	defer stmt.Finalize()
	for {
		row, err := stmt.Step()
		if err != nil {
			return "", false, failure(err, sql)
		}
		if !row {
			return value, ok, nil
		}
		if !ok {
			value, ok = stmt.ColumnText(0), true
		}
	}
}

func failure(err error, sql string) error {
	message := err
	if inner := errors.Unwrap(err); inner != nil {
		message = inner // without the name of the C function
	}
	return &sqlerr.Error{Code: sqlite.ErrCode(err), Message: message.Error(), SQL: sql, Offset: -1}
}
