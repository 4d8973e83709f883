package commit

import (
	"errors"
	"regexp"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/query"
	"github.com/sanelite/sanelite/internal/sqlerr"
)

// unchanged reports whether the statement that failed with err has surely left nothing behind; before is TotalChanges before
// it began.
//
// Most have not: SQLite undoes a failing statement. That is not so under OR FAIL and RAISE(FAIL), nor for errors that its
// code generator does not count on, when it decides whether a statement needs a journal to be undone: wrong types in a STRICT
// table, values too big, errors of table-valued functions. TotalChanges tells of some of these cases only, as it is not moved by what
// a trigger had not finished. So an error counts as harmless only when it is a constraint that the code generator counts on
// and nothing can fail the other way. https://www.sqlite.org/lang_conflict.html
func (s *shared) unchanged(err error, before int64) bool {
	stmt := s.conn.User.Statement()
	if stmt == nil || stmt.ReadOnly() {
		return true // it was refused, or only read
	}
	if s.conn.TotalChanges() != before {
		return false
	}
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		return true // it has run, changed nothing, and not returned what was wanted
	}
	switch e.Code {
	case sqlite.ResultConstraintUnique, sqlite.ResultConstraintPrimaryKey, sqlite.ResultConstraintRowID,
		sqlite.ResultConstraintNotNull, sqlite.ResultConstraintCheck, sqlite.ResultConstraintForeignKey,
		sqlite.ResultConstraintTrigger:
		return !fail.MatchString(stmt.SQL()) && !s.schemaFails()
	}
	return false
}

// fail finds the conflict clause anywhere in a text; a comment that matches costs time only.
var fail = regexp.MustCompile(`(?i)\bfail\b`)

const (
	schemaVersion = `SELECT schema_version FROM pragma_schema_version`
	failingSchema = `SELECT sql FROM main.sqlite_schema WHERE sql LIKE '%fail%' UNION ALL SELECT sql FROM temp.sqlite_schema WHERE sql LIKE '%fail%'`
)

// schemaFails reports whether a constraint or trigger may have the clause. It is found out once for each version of the schema,
// which is always a committed one: no part follows one that changes it.
func (s *shared) schemaFails() bool {
	c := s.conn
	if !c.OnlyMain() {
		return true
	}
	version, err := query.One[int64](c, true, schemaVersion, nil)
	if err != nil {
		return true
	}
	if c.Failing.Known && c.Failing.Version == version {
		return c.Failing.Possible
	}
	texts, err := query.All[string](c, true, failingSchema, nil)
	if err != nil {
		return true
	}
	c.Failing = conn.Failing{Known: true, Version: version, Possible: slices.ContainsFunc(texts, fail.MatchString)}
	return c.Failing.Possible
}
