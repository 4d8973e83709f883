package bind

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"
)

// kind is a storage class of SQLite, with times apart so that their text need not be allocated.
// https://www.sqlite.org/datatype3.html
type kind uint8

const (
	null kind = iota
	integer
	float
	text
	blob
	instant // text, made when it is bound
)

// value is one argument as SQLite will store it. Only the part that belongs to kind counts.
type value struct {
	kind kind
	n    int64
	f    float64
	s    string
	b    []byte
	t    time.Time
}

// What is wrong with an argument. The messages hold no value.
var (
	errUint  = errors.New("unsigned integer above 9223372036854775807, SQLite's largest INTEGER")
	errNaN   = errors.New("NaN, which SQLite would store as NULL")
	errYear  = errors.New("time outside the years 0 to 9999 in UTC")
	errNamed = errors.New("named and positional arguments do not mix")
	errAlone = errors.New("a struct of named arguments must be the only argument")
	errDeep  = errors.New("driver.Valuer returns Valuers or pointers without end")
)

// set takes over an argument. The common types are switched over statically; what is behind an interface or needs
// reflection comes last.
func (v *value) set(arg any) error {
	switch x := arg.(type) {
	case nil:
		v.kind = null
	case int64:
		v.int(x)
	case int:
		v.int(int64(x))
	case string:
		v.kind, v.s = text, x
	case []byte:
		v.bytes(x)
	case bool:
		v.bool(x)
	case float64:
		return v.float(x)
	case time.Time:
		return v.time(x)
	case int32:
		v.int(int64(x))
	case uint32:
		v.int(int64(x))
	case uint64:
		return v.uint(x)
	case uint:
		return v.uint(uint64(x))
	case int16:
		v.int(int64(x))
	case uint16:
		v.int(int64(x))
	case int8:
		v.int(int64(x))
	case uint8:
		v.int(int64(x))
	case float32:
		return v.float(float64(x))
	case sql.RawBytes:
		v.bytes(x)
	case json.RawMessage:
		v.bytes(x)
	case *int64:
		if v.kind = null; x != nil {
			v.int(*x)
		}
	case *int:
		if v.kind = null; x != nil {
			v.int(int64(*x))
		}
	case *string:
		if v.kind = null; x != nil {
			v.kind, v.s = text, *x
		}
	case *bool:
		if v.kind = null; x != nil {
			v.bool(*x)
		}
	case *float64:
		if v.kind = null; x != nil {
			return v.float(*x)
		}
	case *time.Time:
		if v.kind = null; x != nil {
			return v.time(*x)
		}
	default:
		return v.uncommon(arg, 0)
	}
	return nil
}

func (v *value) int(x int64) { v.kind, v.n = integer, x }

func (v *value) bool(x bool) {
	v.kind, v.n = integer, 0 // https://www.sqlite.org/datatype3.html#boolean_datatype
	if x {
		v.n = 1
	}
}

func (v *value) uint(x uint64) error {
	if v.kind, v.n = integer, int64(x); x > math.MaxInt64 {
		return errUint
	}
	return nil
}

func (v *value) float(x float64) error {
	if v.kind, v.f = float, x; x != x {
		return errNaN
	}
	return nil
}

func (v *value) bytes(x []byte) {
	if v.kind, v.b = blob, x; x == nil {
		v.kind = null
	}
}

func (v *value) time(x time.Time) error {
	v.kind, v.t = instant, x.UTC()
	if y := v.t.Year(); y < 0 || y > 9999 {
		return errYear
	}
	return nil
}

// uncommon takes over an argument of any other type; depth counts the Valuers and pointers on the way to it.
func (v *value) uncommon(arg any, depth int) error {
	if depth > 8 {
		return errDeep
	}
	switch x := arg.(type) {
	case List:
		return v.list(x.V)
	case sql.NamedArg:
		return errNamed
	case Struct:
		return errAlone
	case failed:
		return x.err
	case driver.Valuer:
		inner, err := valueOf(x)
		if err != nil {
			return fmt.Errorf("%T: %w", arg, err)
		}
		return v.inner(inner, depth)
	}
	return v.reflect(reflect.ValueOf(arg), depth)
}

// inner takes over what a Valuer or a pointer led to.
func (v *value) inner(arg any, depth int) error {
	switch arg.(type) {
	case driver.Valuer:
		return v.uncommon(arg, depth+1)
	case nil:
		v.kind = null
		return nil
	}
	if r := reflect.ValueOf(arg); r.Kind() == reflect.Pointer {
		return v.reflect(r, depth+1)
	}
	return v.set(arg)
}

// valueOf asks x for its value. As in database/sql, a nil pointer whose Value is promoted from the type it points to is
// NULL: calling it would panic.
func valueOf(x driver.Valuer) (driver.Value, error) {
	if r := reflect.ValueOf(x); r.Kind() == reflect.Pointer && r.IsNil() &&
		r.Type().Elem().Implements(reflect.TypeFor[driver.Valuer]()) {
		return nil, nil
	}
	return x.Value()
}

// reflect takes over a named type by its kind.
func (v *value) reflect(r reflect.Value, depth int) error {
	if depth > 8 {
		return errDeep
	}
	switch r.Kind() {
	case reflect.Bool:
		v.bool(r.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.int(r.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return v.uint(r.Uint())
	case reflect.Float32, reflect.Float64:
		return v.float(r.Float())
	case reflect.String:
		v.kind, v.s = text, r.String()
	case reflect.Pointer:
		if r.IsNil() {
			v.kind = null
			return nil
		}
		return v.inner(r.Elem().Interface(), depth)
	case reflect.Slice:
		if r.Type().Elem().Kind() == reflect.Uint8 {
			v.bytes(r.Bytes())
			return nil
		}
		return fmt.Errorf("type %v cannot be stored", r.Type())
	default:
		return fmt.Errorf("type %v cannot be stored", r.Type())
	}
	return nil
}
