package bind

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/fields"
)

// Struct binds named parameters from the fields of V, a struct or a pointer to one, by the rules of package fields. Fields
// that the statement has no parameter for are left out. A field behind an embedded pointer that is nil is NULL.
type Struct struct{ V any }

// bind binds the parameters of s; n is the number of arguments in the call.
func (a Struct) bind(s *capi.Stmt, n int) error {
	if n != 1 {
		return argument(0, errAlone)
	}
	if s.Params() == 0 {
		return mismatch(s, n)
	}
	values, err := a.values()
	if err != nil {
		return argument(0, err)
	}
	for p := 1; p <= s.Params(); p++ {
		name, err := paramName(s, p)
		if err != nil {
			return err
		}
		arg, ok, err := values.named(name)
		if err != nil {
			return named(name, err)
		}
		if !ok {
			return missing(name)
		}
		if err := bindNamed(s, p, name, arg); err != nil {
			return err
		}
	}
	return nil
}

// values is what a Struct looks up its parameters in.
type values interface {
	named(name string) (arg any, ok bool, err error)
}

func (a Struct) values() (values, error) {
	if c, ok := a.V.(converted); ok {
		return c, nil
	}
	r := reflect.ValueOf(a.V)
	if r.Kind() == reflect.Pointer && !r.IsNil() {
		r = r.Elem()
	}
	if r.Kind() != reflect.Struct {
		return nil, fmt.Errorf("named arguments from a value of type %T: want a struct or a pointer to one, not nil", a.V)
	}
	plan, err := fields.Of(r.Type())
	if err != nil {
		return nil, err
	}
	return live{plan, r}, nil
}

// live are the fields of a struct as they are now.
type live struct {
	plan *fields.Struct
	r    reflect.Value
}

func (l live) named(name string) (any, bool, error) {
	f, err := l.plan.Field(name)
	if f == nil || err != nil {
		return nil, false, err
	}
	arg, err := l.get(f)
	return arg, true, err
}

// get returns the field as an argument, with its tag option applied.
func (l live) get(f *fields.Field) (any, error) {
	r, err := l.r.FieldByIndexErr(f.Index)
	if err != nil {
		return nil, nil // behind a nil embedded pointer
	}
	if f.Option == fields.JSON {
		return jsonText(r)
	}
	arg := r.Interface()
	if f.Option == fields.None {
		return arg, nil
	}
	if p, ok := arg.(*time.Time); ok {
		if p == nil {
			return nil, nil
		}
		arg = *p
	}
	return unix(f.Option, arg.(time.Time))
}

func unix(o fields.Option, t time.Time) (any, error) {
	if y := t.UTC().Year(); y < 0 || y > 9999 {
		return nil, errYear
	}
	if o == fields.Unix {
		return t.Unix(), nil
	}
	return t.UnixMilli(), nil
}

// jsonText returns r as JSON. A nil pointer, map, slice or interface is NULL, which reads back as nil.
func jsonText(r reflect.Value) (any, error) {
	switch r.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
		if r.IsNil() {
			return nil, nil
		}
	}
	b, err := json.Marshal(r.Interface())
	if err != nil {
		return nil, fmt.Errorf("type %v as JSON: %w", r.Type(), err)
	}
	return string(b), nil
}
