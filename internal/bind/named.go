package bind

import (
	"database/sql"
	"fmt"
	"strings"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/sqlerr"
)

// byName binds arguments that are all sql.NamedArg. A name stands without its prefix and goes to every parameter of that
// name: :a, @a and $a. https://www.sqlite.org/lang_expr.html#varparam
func byName(s *capi.Stmt, args []any) error {
	used := make([]bool, len(args))
	for i, a := range args {
		n, ok := a.(sql.NamedArg)
		if !ok {
			return argument(i, errNamed)
		}
		if find(args[:i], n.Name) >= 0 {
			return sqlerr.Wrapf(sqlerr.ErrArguments, "sqlite: argument %q is given twice", n.Name)
		}
	}
	for p := 1; p <= s.Params(); p++ {
		name, err := paramName(s, p)
		if err != nil {
			return err
		}
		i := find(args, name)
		if i < 0 {
			return missing(name)
		}
		used[i] = true
		if err := bindNamed(s, p, name, args[i].(sql.NamedArg).Value); err != nil {
			return err
		}
	}
	for i, u := range used {
		if !u {
			return sqlerr.Wrapf(sqlerr.ErrArguments, "sqlite: statement has no parameter named %q", args[i].(sql.NamedArg).Name)
		}
	}
	return nil
}

func find(args []any, name string) int {
	for i, a := range args {
		if n, ok := a.(sql.NamedArg); ok && n.Name == name {
			return i
		}
	}
	return -1
}

// paramName returns the name of parameter p without its prefix.
func paramName(s *capi.Stmt, p int) (string, error) {
	name := s.ParamName(p)
	if name == "" || strings.HasPrefix(name, "?") {
		return "", sqlerr.Wrapf(sqlerr.ErrArguments, "sqlite: parameter %d has no name, but the arguments are named", p)
	}
	return name[1:], nil
}

func bindNamed(s *capi.Stmt, p int, name string, arg any) error {
	var v value
	if err := v.set(arg); err != nil {
		return named(name, err)
	}
	return v.bind(s, p)
}

func missing(name string) error {
	return sqlerr.Wrapf(sqlerr.ErrArguments, "sqlite: no argument for parameter %q", name)
}

func named(name string, err error) error {
	return sqlerr.Wrapf(sqlerr.ErrArguments, "sqlite: argument %s: %w", fmt.Sprintf("%q", name), err)
}
