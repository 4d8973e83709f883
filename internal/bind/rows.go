package bind

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"reflect"
	"time"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/fields"
)

// Rows binds rows of one type, one after the other, to the parameters of one statement, by a plan that is made once. What is
// stored for a value is what Args would store.
//
// Every row is copied to the same place, into which the plan points. So reflection looks up fields once, not for each row, and
// nothing is allocated for one: measured, that leaves nothing to gain by unsafe pointers.
type Rows[T any] struct {
	row  T
	plan rowPlan
}

// rowPlan is what Rows knows, without its type parameter: the code that binds exists once.
type rowPlan struct {
	form   form
	row    reflect.Value // Rows.row
	args   *[]any        // of form likeArgs: lies in the row, is the row, or is made of it
	params []rowParam    // parameter i+1 is params[i]; of form slice: params[0] is each
	v      value
}

// form is what a row is.
type form uint8

const (
	inPlace  form = iota // each parameter has its place in the row
	behind               // a pointer to a struct
	slice                // any number of values of one type
	likeArgs             // what Args takes
	oneArg               // likewise, one argument
)

// rowParam is one parameter.
type rowParam struct {
	how     how
	pointer bool // to a value of that kind; nil is NULL

	at    reflect.Value // the value in Rows.row
	index []int         // of its field, where pointers lead to it, anew in each row; at is not valid then
	name  string        // for messages; empty for a parameter that is bound by position
}

// how says how a value is taken over.
type how uint8

const (
	asKind   how = iota // value.reflect: a bool, number, string or []byte, of a named type too
	asTime              // a time.Time
	asUnix              // with tag option unix
	asMilli             // with tag option unixmilli
	asJSON              // with tag option json
	asItself            // only the value itself tells: a Valuer, or behind an interface
)

// RowsFor makes the plan for binding rows of type T to s. What will never fit is an error that matches sqlerr.ErrArguments.
//
//   - A struct, or a pointer to one, binds its fields to named parameters, as Struct does.
//   - A slice or an array binds its elements by position. A []any may hold whatever Args takes.
//   - Anything else is the value of the one parameter.
func RowsFor[T any](s *capi.Stmt) (*Rows[T], error) {
	r := new(Rows[T])
	r.plan.row = reflect.ValueOf(&r.row).Elem()
	if err := r.plan.make(s); err != nil {
		return nil, err
	}
	return r, nil
}

// Bind binds row. The statement must not be running. Until Clear the row stays where it is.
func (r *Rows[T]) Bind(s *capi.Stmt, row T) error {
	r.row = row
	s.BeginBind()
	return r.plan.bind(s)
}

// Clear lets go of the last row.
func (r *Rows[T]) Clear() {
	var zero T
	r.row, r.plan.v = zero, value{}
	if r.plan.form == oneArg {
		clear(*r.plan.args)
	}
}

func (p *rowPlan) make(s *capi.Stmt) error {
	t := p.row.Type()
	switch k := t.Kind(); {
	case k == reflect.Interface, t == reflect.TypeFor[sql.NamedArg]():
		p.form, p.args = oneArg, &[]any{nil}
		return nil
	case isValue(t):
		return p.makeScalar(s)
	case k == reflect.Struct:
		return p.makeStruct(s, t)
	case k == reflect.Pointer && t.Elem().Kind() == reflect.Struct:
		p.form = behind
		return p.makeStruct(s, t.Elem())
	case k == reflect.Slice, k == reflect.Array:
		return p.makePositional(s, t)
	}
	return p.makeScalar(s)
}

var (
	valuerType = reflect.TypeFor[driver.Valuer]()
	timeType   = reflect.TypeFor[time.Time]()
)

// isValue reports whether a struct, slice, array or pointer is one value, not a row of several.
func isValue(t reflect.Type) bool {
	direct := t
	if t.Kind() == reflect.Pointer {
		direct = t.Elem()
	}
	switch {
	case t.Implements(valuerType):
		return true
	case direct.Kind() == reflect.Struct:
		return fields.IsValue(direct) // a Scanner cannot be stored: that is an error then, not a row
	}
	return (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && t.Elem().Kind() == reflect.Uint8
}

func (p *rowPlan) makeScalar(s *capi.Stmt) error {
	if s.Params() != 1 {
		return mismatch(s, 1)
	}
	param, err := paramOf(p.row.Type(), fields.None)
	if err != nil {
		return argument(0, err)
	}
	param.at = p.row
	p.params = []rowParam{param}
	return nil
}

func (p *rowPlan) makeStruct(s *capi.Stmt, t reflect.Type) error {
	if s.Params() == 0 {
		return mismatch(s, 1)
	}
	known, err := fields.Of(t)
	if err != nil {
		return argument(0, err)
	}
	for i := 1; i <= s.Params(); i++ {
		name, err := paramName(s, i)
		if err != nil {
			return err
		}
		f, err := known.Field(name)
		switch {
		case err != nil:
			return named(name, err)
		case f == nil:
			return missing(name)
		}
		param, err := paramOf(f.Type, f.Option)
		if err != nil {
			return named(name, err)
		}
		param.name = name
		if param.index = f.Index; p.form != behind && direct(t, f.Index) {
			param.at, param.index = p.row.FieldByIndex(f.Index), nil
		}
		p.params = append(p.params, param)
	}
	return nil
}

// direct reports whether the field at index lies in the struct itself, with no embedded pointer on the way.
func direct(t reflect.Type, index []int) bool {
	for _, i := range index {
		if t.Kind() == reflect.Pointer {
			return false
		}
		t = t.Field(i).Type
	}
	return true
}

func (p *rowPlan) makePositional(s *capi.Stmt, t reflect.Type) error {
	if t.Elem() == reflect.TypeFor[any]() {
		p.form = likeArgs
		if t.Kind() == reflect.Array {
			args := p.row.Slice(0, t.Len()).Interface().([]any)
			p.args = &args
		} else {
			p.args = p.row.Addr().Convert(reflect.TypeFor[*[]any]()).Interface().(*[]any) // T may be a named type
		}
		return nil
	}
	param, err := paramOf(t.Elem(), fields.None)
	if err != nil {
		return argument(0, err)
	}
	if t.Kind() == reflect.Slice {
		p.form, p.params = slice, []rowParam{param}
		return nil
	}
	if t.Len() != s.Params() {
		return mismatch(s, t.Len())
	}
	for i := range t.Len() {
		param.at = p.row.Index(i)
		p.params = append(p.params, param)
	}
	return nil
}

// paramOf says how values of type t are taken over.
func paramOf(t reflect.Type, o fields.Option) (p rowParam, err error) {
	switch {
	case o == fields.JSON:
		return rowParam{how: asJSON}, nil
	case t.Implements(valuerType):
		return rowParam{how: asItself}, nil
	}
	if t.Kind() == reflect.Pointer {
		if p.pointer, t = true, t.Elem(); t.Implements(valuerType) {
			return rowParam{how: asItself}, nil
		}
	}
	switch t.Kind() {
	case reflect.Bool, reflect.Float32, reflect.Float64, reflect.String,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return p, nil
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return p, nil
		}
	case reflect.Struct:
		switch {
		case t != timeType:
		case o == fields.Unix:
			p.how = asUnix
			return p, nil
		case o == fields.UnixMilli:
			p.how = asMilli
			return p, nil
		default:
			p.how = asTime
			return p, nil
		}
	case reflect.Interface, reflect.Pointer:
		return rowParam{how: asItself}, nil
	}
	return p, fmt.Errorf("type %v cannot be stored", t)
}

func (p *rowPlan) bind(s *capi.Stmt) error {
	base := p.row
	switch p.form {
	case oneArg:
		(*p.args)[0] = base.Interface()
		return bindAll(s, *p.args)
	case likeArgs:
		return bindAll(s, *p.args)
	case slice:
		return p.bindSlice(s)
	case behind:
		if base = base.Elem(); !base.IsValid() {
			return argument(0, fmt.Errorf("a nil %v: want a struct", p.row.Type()))
		}
	}
	for i := range p.params {
		param := &p.params[i]
		at := param.at
		if param.index != nil {
			var err error
			if at, err = base.FieldByIndexErr(param.index); err != nil {
				at = reflect.Value{} // behind a nil embedded pointer
			}
		}
		if err := p.bindParam(s, param, i, at); err != nil {
			return err
		}
	}
	return nil
}

func (p *rowPlan) bindSlice(s *capi.Stmt) error {
	n := p.row.Len()
	if n != s.Params() {
		return mismatch(s, n)
	}
	for i := range n {
		if err := p.bindParam(s, &p.params[0], i, p.row.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func (p *rowPlan) bindParam(s *capi.Stmt, param *rowParam, i int, at reflect.Value) error {
	if err := param.load(&p.v, at); err != nil {
		if param.name != "" {
			return named(param.name, err)
		}
		return argument(i, err)
	}
	return p.v.bind(s, i+1)
}

// load takes over the value at a place that can be addressed; no place at all is NULL.
func (p *rowParam) load(v *value, at reflect.Value) error {
	if p.pointer && at.IsValid() {
		at = at.Elem()
	}
	if !at.IsValid() {
		v.kind = null
		return nil
	}
	switch p.how {
	case asKind:
		return v.reflect(at, 0)
	case asTime:
		return v.time(*timeAt(at))
	case asUnix, asMilli:
		t := timeAt(at)
		if err := v.time(*t); err != nil {
			return err
		}
		if p.how == asUnix {
			v.int(t.Unix())
		} else {
			v.int(t.UnixMilli())
		}
		return nil
	case asJSON:
		arg, err := jsonText(at)
		if err != nil {
			return err
		}
		return v.set(arg)
	default:
		return v.set(at.Interface())
	}
}

// timeAt returns the time at a place without copying it to the heap, as Interface would.
func timeAt(at reflect.Value) *time.Time { return at.Addr().Interface().(*time.Time) }
