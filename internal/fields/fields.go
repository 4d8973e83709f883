// Package fields maps the fields of a Go struct to names in SQL: columns when rows are read, parameters when they are bound.
//
// A field has the name in its tag `db:"name"`, else its own in snake_case. `db:"-"` hides it. Behind a comma may stand one
// of the options json, unix and unixmilli. The fields of embedded structs, and of embedded pointers to structs, count as the
// outer struct's own.
package fields

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
)

// Option says how a field is stored where its type alone does not.
type Option uint8

// The options.
const (
	None      Option = iota
	JSON             // the value as JSON text
	Unix             // a time.Time as seconds since 1970
	UnixMilli        // a time.Time as milliseconds since 1970
)

// Field is one field.
type Field struct {
	Name   string // in SQL, lower case
	Go     string // as a message names it: User.Name
	Index  []int  // for reflect.Value.FieldByIndex
	Type   reflect.Type
	Option Option

	tagged    bool
	ambiguous string // another field with as much right to the name
}

// Struct is what there is to know about a struct type.
type Struct struct {
	byName map[string]*Field
}

// Field returns the field for a name in SQL; case does not count. It is nil where there is none, and an error where two
// fields have the same right to the name.
func (s *Struct) Field(name string) (*Field, error) {
	f := s.byName[strings.ToLower(name)]
	if f != nil && f.ambiguous != "" {
		return nil, fmt.Errorf("%q may be %s or %s", name, f.Go, f.ambiguous)
	}
	return f, nil
}

// All calls yield for every field that a name leads to.
func (s *Struct) All(yield func(*Field) bool) {
	for _, f := range s.byName {
		if f.ambiguous == "" && !yield(f) {
			return
		}
	}
}

var cache sync.Map // reflect.Type → result

type result struct {
	s   *Struct
	err error
}

// Of returns the fields of a struct type. A tag that makes no sense is an error.
func Of(t reflect.Type) (*Struct, error) {
	if r, ok := cache.Load(t); ok {
		return r.(result).s, r.(result).err
	}
	s := &Struct{byName: map[string]*Field{}}
	err := s.add(t, t.String(), nil, nil)
	if err != nil {
		s = nil
	}
	cache.Store(t, result{s, err})
	return s, err
}

// add adds the fields of t, found at index under the name path. Outer lists the types around it: one that embeds a pointer
// to itself adds nothing.
func (s *Struct) add(t reflect.Type, path string, index []int, outer []reflect.Type) error {
	for _, o := range outer {
		if o == t {
			return nil
		}
	}
	outer = append(outer[:len(outer):len(outer)], t)
	for i := range t.NumField() {
		sf := t.Field(i)
		at := append(index[:len(index):len(index)], i)
		name, option, err := parse(sf.Tag.Get("db"))
		switch {
		case name == "-":
			continue
		case err == nil && name == "" && option == None && sf.Anonymous && embeds(sf.Type):
			err = s.add(direct(sf.Type), path+"."+sf.Name, at, outer)
		case !sf.IsExported():
			continue
		case err == nil:
			f := &Field{Name: name, Go: path + "." + sf.Name, Index: at, Type: sf.Type, Option: option, tagged: name != ""}
			if name == "" {
				f.Name = Snake(sf.Name)
			}
			f.Name = strings.ToLower(f.Name)
			err = s.put(f)
		}
		if err != nil {
			return fmt.Errorf("%s.%s: %w", path, sf.Name, err)
		}
	}
	return nil
}

// put enters f under its name. A tag goes before a name, then an outer field before one of an embedded struct, as in Go.
func (s *Struct) put(f *Field) error {
	if (f.Option == Unix || f.Option == UnixMilli) && direct(f.Type) != reflect.TypeFor[time.Time]() {
		return fmt.Errorf("tag options unix and unixmilli are for time.Time, not %v", f.Type)
	}
	old := s.byName[f.Name]
	switch {
	case old == nil, f.tagged && !old.tagged, f.tagged == old.tagged && len(f.Index) < len(old.Index):
		s.byName[f.Name] = f
	case f.tagged == old.tagged && len(f.Index) == len(old.Index):
		old.ambiguous = f.Go
	}
	return nil
}

func parse(tag string) (name string, o Option, err error) {
	name, options, _ := strings.Cut(tag, ",")
	for option := range strings.SplitSeq(options, ",") {
		was := o
		switch option {
		case "":
			continue
		case "json":
			o = JSON
		case "unix":
			o = Unix
		case "unixmilli":
			o = UnixMilli
		default:
			return name, o, fmt.Errorf("unknown tag option %q", option)
		}
		if was != None {
			return name, o, fmt.Errorf("more than one tag option in %q", tag)
		}
	}
	return name, o, nil
}

// direct returns what a pointer type points to, and any other type as it is.
func direct(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// embeds reports whether an embedded field of type t lends its fields to the outer struct: a struct that is a value of its
// own (a time, a Scanner, a Valuer) is a field like any other.
func embeds(t reflect.Type) bool {
	t = direct(t)
	return t.Kind() == reflect.Struct && !IsValue(t)
}

// IsValue reports whether the struct type t is one value, which fits one column or parameter.
func IsValue(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return t == reflect.TypeFor[time.Time]() || p.Implements(reflect.TypeFor[sql.Scanner]()) ||
		p.Implements(reflect.TypeFor[driver.Valuer]())
}
