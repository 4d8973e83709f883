// Package bind puts Go values into the parameters of a statement. It is the one place that decides what SQLite stores for
// a Go value.
package bind

import (
	"database/sql"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/sqlerr"
)

// Args binds every parameter of s, which must be one value each: by position, or by name where all arguments are
// sql.NamedArg or the one argument is a Struct. A parameter with a name may be bound by position too. On an error, which
// matches sqlerr.ErrArguments and never contains a value, nothing big stays bound.
func Args(s *capi.Stmt, args []any) error {
	s.BeginBind()
	err := bindAll(s, args)
	if err != nil {
		s.Reset()
	}
	return err
}

func bindAll(s *capi.Stmt, args []any) error {
	if len(args) > 0 {
		switch a := args[0].(type) {
		case sql.NamedArg:
			return byName(s, args)
		case Struct:
			return a.bind(s, len(args))
		}
	}
	if len(args) != s.Params() {
		return mismatch(s, len(args))
	}
	var v value
	for i, a := range args {
		if err := v.set(a); err != nil {
			return argument(i, err)
		}
		if err := v.bind(s, i+1); err != nil {
			return err
		}
	}
	return nil
}

func mismatch(s *capi.Stmt, got int) error {
	return sqlerr.Wrapf(sqlerr.ErrArguments, "sqlite: statement has parameters for %d, got %d arguments", s.Params(), got)
}

func argument(i int, err error) error {
	return sqlerr.Wrapf(sqlerr.ErrArguments, "sqlite: argument %d: %w", i+1, err)
}

// bind binds v to parameter i, counted from 1.
func (v *value) bind(s *capi.Stmt, i int) error {
	switch v.kind {
	case integer:
		return s.BindInt64(i, v.n)
	case float:
		return s.BindFloat64(i, v.f)
	case text:
		return s.BindText(i, v.s)
	case blob:
		return s.BindBlob(i, v.b)
	case instant:
		var buf [timeLen]byte
		return s.BindText(i, string(appendTime(buf[:0], v.t)))
	default:
		return s.BindNull(i)
	}
}
