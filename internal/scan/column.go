package scan

import (
	"database/sql"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/sanelite/sanelite/internal/fields"
)

// op says how a column is read.
type op uint8

const (
	opInt64 op = iota
	opInt32
	opInt16
	opInt8
	opUint64
	opUint32
	opUint16
	opUint8
	opBool
	opFloat64
	opFloat32
	opString
	opBytes
	opTime
	opUnix
	opUnixMilli
	opAny     // int64, float64, string, []byte or nil
	opPointer // nil for NULL, else a new value of the inner column
	opNull    // sql.Null and its older brothers: the inner column and, at valid, whether there is a value

	// From here on code of the caller's runs.
	opScanner
	opJSON
)

// column is one column of a plan.
type column struct {
	op       op
	embed    int     // index in row.embeds plus one of the struct that holds the field; 0 is the row itself
	offset   uintptr // of the field in it
	nillable bool    // opJSON: NULL is the zero value
	valid    uintptr // opNull: offset of the flag
	typ      reflect.Type
	inner    *column

	name  string // of the column
	field string // User.Name; empty where the row is one value
}

func (c *column) static() bool {
	return c.op < opScanner && (c.inner == nil || c.inner.static())
}

// label gives c its names for messages.
func (c *column) label(name, field string) {
	for ; c != nil; c = c.inner {
		c.name, c.field = name, field
	}
}

// columnFor returns how a column is read into a t.
func columnFor(t reflect.Type, o fields.Option) (column, error) {
	c := column{typ: t}
	switch {
	case o == fields.JSON:
		c.op, c.nillable = opJSON, nillable(t.Kind())
	case t == reflect.TypeFor[time.Time]():
		c.op = map[fields.Option]op{fields.None: opTime, fields.Unix: opUnix, fields.UnixMilli: opUnixMilli}[o]
	case isNull(t):
		return c.around(opNull, t.Field(0).Type, o)
	case reflect.PointerTo(t).Implements(reflect.TypeFor[sql.Scanner]()):
		c.op = opScanner
	case t.Kind() == reflect.Pointer:
		return c.around(opPointer, t.Elem(), o)
	default:
		return c, c.byKind(t)
	}
	return c, nil
}

// around makes c a column that holds an inner one of type t at its begin.
func (c column) around(o op, t reflect.Type, option fields.Option) (column, error) {
	if isStruct(t) {
		return c, fmt.Errorf("type %v is not one value", c.typ)
	}
	inner, err := columnFor(t, option)
	if err != nil {
		return c, err
	}
	c.op, c.inner = o, &inner
	if o == opNull {
		c.valid = c.typ.Field(1).Offset
	}
	return c, nil
}

func nillable(k reflect.Kind) bool {
	return k == reflect.Pointer || k == reflect.Map || k == reflect.Slice || k == reflect.Interface
}

// isNull reports whether t is sql.Null[X] or one of sql.NullString and its like: a value and the flag Valid. They are read as
// X is, strictly, instead of through their Scan, which would turn numbers into text.
func isNull(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.PkgPath() == "database/sql" && strings.HasPrefix(t.Name(), "Null") &&
		t.NumField() == 2 && t.Field(1).Name == "Valid"
}

// wordOps are the ops of int and uint, which are as wide as the machine.
var wordOps = map[uintptr][2]op{4: {opInt32, opUint32}, 8: {opInt64, opUint64}}

// kindOps are the ops of the types that a named type may be made from; it lies in memory as they do.
var kindOps = map[reflect.Kind]op{
	reflect.Bool: opBool, reflect.Float32: opFloat32, reflect.Float64: opFloat64, reflect.String: opString,
	reflect.Int8: opInt8, reflect.Int16: opInt16, reflect.Int32: opInt32, reflect.Int64: opInt64,
	reflect.Uint8: opUint8, reflect.Uint16: opUint16, reflect.Uint32: opUint32, reflect.Uint64: opUint64,
	reflect.Int:  wordOps[reflect.TypeFor[int]().Size()][0],
	reflect.Uint: wordOps[reflect.TypeFor[uint]().Size()][1],
}

func (c *column) byKind(t reflect.Type) error {
	if o, ok := kindOps[t.Kind()]; ok {
		c.op = o
		return nil
	}
	switch {
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		c.op = opBytes
	case t.Kind() == reflect.Interface && t.NumMethod() == 0:
		c.op = opAny
	default:
		return fmt.Errorf("no value of SQLite fits type %v", t)
	}
	return nil
}
