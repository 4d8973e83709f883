package bind

import (
	"database/sql"
	"strings"
)

// Convert returns args as values that Args can bind on another goroutine without running code of the caller's: Valuers are
// asked, pointers followed, structs and lists read out. Numbers, booleans, strings and byte slices stay as they are; args
// itself is returned where it holds nothing else. Byte slices are not copied: they must not change until they are bound.
//
// What makes no sense whatever the statement is an error here, the rest in Args.
func Convert(args []any) ([]any, error) {
	out := args
	for i, a := range args {
		plain, same, err := convert(a)
		if err != nil {
			return nil, argument(i, err)
		}
		if same {
			continue
		}
		if &out[0] == &args[0] {
			out = append([]any(nil), args...)
		}
		out[i] = plain
	}
	return out, nil
}

// convert returns the plain value for arg; same says that arg is one already.
func convert(arg any) (plain any, same bool, err error) {
	switch x := arg.(type) {
	case sql.NamedArg:
		x.Value, same, err = convert(x.Value)
		return x, same, err
	case Struct:
		plain, err = x.convert()
		return plain, false, err
	}
	var v value
	if err := v.set(arg); err != nil {
		return nil, false, err
	}
	switch arg.(type) {
	case nil, bool, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64, float32, float64, string, []byte:
		return arg, true, nil
	}
	return v.plain(), false, nil
}

// plain returns v as nil, int64, float64, string or []byte.
func (v *value) plain() any {
	switch v.kind {
	case integer:
		return v.n
	case float:
		return v.f
	case text:
		return v.s
	case blob:
		return v.b
	case instant:
		return string(appendTime(make([]byte, 0, timeLen), v.t))
	default:
		return nil
	}
}

// converted holds the plain values of a struct's fields by name.
type converted map[string]any

func (c converted) named(name string) (any, bool, error) {
	arg, ok := c[strings.ToLower(name)]
	return arg, ok, nil
}

// failed stands for a field that cannot be stored, which is no error unless the statement asks for it.
type failed struct{ err error }

// convert reads the fields out: which of them the statement will ask for is not known yet.
func (a Struct) convert() (Struct, error) {
	vs, err := a.values()
	if err != nil {
		return a, err
	}
	l, ok := vs.(live)
	if !ok {
		return a, nil
	}
	c := converted{}
	for f := range l.plan.All {
		arg, err := l.get(f)
		if err == nil {
			arg, _, err = convert(arg)
		}
		if err != nil {
			arg = failed{err}
		}
		c[f.Name] = arg
	}
	return Struct{c}, nil
}
