// Package scan reads the rows of a statement into Go values, by a plan that is made once for a type and the columns of a
// statement. It is the one place that decides which Go value a value of SQLite becomes.
package scan

import (
	"fmt"
	"reflect"
	"sync"
	"unsafe"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/fields"
	"github.com/sanelite/sanelite/internal/sqlerr"
)

// Plan knows where the columns of a statement go in a T. It holds for the columns the statement had when it was made: where
// SQLite compiles the statement anew (capi.Stmt.Fresh) a new plan is due. It may be used by one goroutine at a time per
// statement, and by several statements with the same columns.
type Plan[T any] struct {
	// Static says that no code of the caller's sees the row while it is read, so that it may live on the stack: nothing in
	// it is a Scanner or JSON.
	Static bool

	row row
}

// row is what a Plan knows, without its type parameter: the code that reads exists once.
type row struct {
	columns []column
	embeds  []embed
}

// PlanFor makes the plan for T and the columns of s. What will never fit is an error that matches sqlerr.ErrScan.
//
// T is one value, for a statement with one column, or a struct, by the rules of package fields. A column that goes into a
// struct embedded by pointer has the struct allocated, anew for every row.
func PlanFor[T any](s *capi.Stmt) (*Plan[T], error) {
	r, static, err := planFor(reflect.TypeFor[T](), s.Columns())
	if err != nil {
		return nil, err
	}
	return &Plan[T]{Static: static, row: r}, nil
}

func planFor(t reflect.Type, names []string) (r row, static bool, err error) {
	if isStruct(t) {
		r, err = structRow(t, names)
	} else {
		r, err = scalarRow(t, names)
	}
	static = true
	for i := range r.columns {
		static = static && r.columns[i].static()
	}
	return r, static, err
}

func scalarRow(t reflect.Type, names []string) (row, error) {
	if len(names) == 0 {
		return row{}, misfit("the statement returns no columns, one is wanted for a %v: RETURNING may be missing", t)
	}
	if len(names) != 1 {
		return row{}, misfit("%d columns for one value of type %v: want one", len(names), t)
	}
	c, err := columnFor(t, fields.None)
	if err != nil {
		return row{}, misfit("column %q: %v", names[0], err)
	}
	c.label(names[0], "")
	return row{columns: []column{c}}, nil
}

func structRow(t reflect.Type, names []string) (row, error) {
	plan, err := fields.Of(t)
	if err != nil {
		return row{}, misfit("%v", err)
	}
	if len(names) == 0 {
		return row{}, misfit("the statement returns no columns for a %v: RETURNING may be missing", t)
	}
	var r row
	taken := map[*fields.Field]string{}
	for _, name := range names {
		f, err := plan.Field(name)
		switch {
		case err != nil:
			return row{}, misfit("column %v", err)
		case f == nil:
			return row{}, misfit("column %q has no field in %v", name, t)
		case taken[f] != "":
			return row{}, misfit("columns %q and %q are both for %s", taken[f], name, f.Go)
		}
		taken[f] = name
		c, err := columnFor(f.Type, f.Option)
		if err != nil {
			return row{}, misfit("column %q for %s: %v", name, f.Go, err)
		}
		c.label(name, f.Go)
		c.embed, c.offset = r.locate(t, f.Index)
		r.columns = append(r.columns, c)
	}
	return r, nil
}

var staticTypes sync.Map // reflect.Type to bool

// Static reports that no column of a T can lead to code of the caller's, whatever the statement: no Scanner, no JSON.
func Static[T any]() bool {
	t := reflect.TypeFor[T]()
	if known, ok := staticTypes.Load(t); ok {
		return known.(bool)
	}
	static := staticType(t)
	staticTypes.Store(t, static)
	return static
}

func staticType(t reflect.Type) bool {
	if !isStruct(t) {
		c, err := columnFor(t, fields.None)
		return err == nil && c.static()
	}
	plan, err := fields.Of(t)
	if err != nil {
		return false
	}
	for f := range plan.All {
		if c, err := columnFor(f.Type, f.Option); err != nil || !c.static() {
			return false
		}
	}
	return true
}

// isStruct reports whether t is a struct with one field per column, rather than one value.
func isStruct(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !isNull(t) && !fields.IsValue(t)
}

func misfit(format string, args ...any) error {
	return sqlerr.Wrapf(sqlerr.ErrScan, "sqlite: %w", fmt.Errorf(format, args...))
}

// Scan reads the current row of s into dst, whose old content goes. On an error, which matches sqlerr.ErrScan and names the
// column, dst is unspecified.
func (p *Plan[T]) Scan(s *capi.Stmt, dst *T) error {
	var zero T
	*dst = zero
	return p.row.read(s, unsafe.Pointer(dst), nil)
}

// ScanStatic is Scan for a plan that is Static: dst may be on the caller's stack.
func (p *Plan[T]) ScanStatic(s *capi.Stmt, dst *T) error {
	var zero T
	*dst = zero
	return p.row.readStatic(s, unsafe.Pointer(dst), nil)
}

// One returns the current row of s.
func (p *Plan[T]) One(s *capi.Stmt) (T, error) {
	if p.Static {
		var v T
		if err := p.row.readStatic(s, unsafe.Pointer(&v), nil); err != nil {
			var zero T
			return zero, err
		}
		return v, nil
	}
	v := new(T)
	if err := p.row.read(s, unsafe.Pointer(v), nil); err != nil {
		var zero T
		return zero, err
	}
	return *v, nil
}

// Append appends the current row of s to rows. Its short strings are carved from buf, which may be nil.
func (p *Plan[T]) Append(s *capi.Stmt, rows []T, buf *Strings) ([]T, error) {
	var zero T
	n := len(rows)
	rows = append(rows, zero)
	var err error
	if p.Static {
		err = p.row.readStatic(s, unsafe.Pointer(&rows[n]), buf)
	} else {
		err = p.row.read(s, unsafe.Pointer(&rows[n]), buf)
	}
	if err != nil {
		return rows[:n], err
	}
	return rows, nil
}
