package scan

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"reflect"
	"unsafe"

	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/sqlerr"
)

// dynamic reads column i into the field at p, which code of the caller's may keep.
func (c *column) dynamic(s *capi.Stmt, i int, p unsafe.Pointer, buf *Strings) error {
	t := s.ColumnType(i)
	if c.static() {
		return c.convert(s, i, t, p, buf)
	}
	switch c.op {
	case opPointer:
		if t == sqlite.TypeNull {
			return nil
		}
		q := reflect.New(c.inner.typ).UnsafePointer()
		*(*unsafe.Pointer)(p) = q
		return c.inner.dynamic(s, i, q, buf)
	case opNull:
		valid := t != sqlite.TypeNull
		*(*bool)(unsafe.Add(p, c.valid)) = valid
		if !valid {
			return nil
		}
		return c.inner.dynamic(s, i, p, buf)
	case opScanner:
		// Never buf: what a Scanner keeps is its own affair.
		err := reflect.NewAt(c.typ, p).Interface().(sql.Scanner).Scan(value(s, i, t, nil))
		return c.failed(t, err)
	}
	return c.json(s, i, t, p)
}

func (c *column) json(s *capi.Stmt, i int, t sqlite.ColumnType, p unsafe.Pointer) error {
	if t == sqlite.TypeNull && c.nillable {
		return nil
	}
	b, ok := bytesOf(s, i, t)
	if !ok {
		return c.wrongType(t)
	}
	return c.failed(t, json.Unmarshal(b, reflect.NewAt(c.typ, p).Interface()))
}

// failed is the error where the type's own code refused a value.
func (c *column) failed(t sqlite.ColumnType, err error) error {
	if err == nil {
		return nil
	}
	return sqlerr.Wrapf(sqlerr.ErrScan, "sqlite: %s: %w", c.describe(t), err)
}

// wrongType is the error where a kind of value can never fit.
func (c *column) wrongType(t sqlite.ColumnType) error {
	return &mismatch{c, t, ""}
}

// misfit is the error where this value does not fit, though others of its kind do.
func (c *column) misfit(t sqlite.ColumnType, why string) error {
	return &mismatch{c, t, why}
}

// mismatch is a value that does not fit. It names column, kind of value and Go type, never the value.
type mismatch struct {
	column *column
	kind   sqlite.ColumnType
	why    string
}

func (m *mismatch) Error() string {
	s := "sqlite: " + m.column.describe(m.kind)
	if m.why != "" {
		s += ", " + m.why
	}
	return s
}

func (m *mismatch) Is(target error) bool { return target == sqlerr.ErrScan }

func (c *column) describe(t sqlite.ColumnType) string {
	kind := map[sqlite.ColumnType]string{
		sqlite.TypeInteger: "INTEGER", sqlite.TypeFloat: "REAL", sqlite.TypeText: "TEXT", sqlite.TypeBlob: "BLOB",
		sqlite.TypeNull: "NULL",
	}[t]
	if c.field == "" {
		return fmt.Sprintf("column %q holds %s, which does not fit %v", c.name, kind, c.typ)
	}
	return fmt.Sprintf("column %q holds %s, which does not fit %s of type %v", c.name, kind, c.field, c.typ)
}
