package scan

import (
	"math"
	"reflect"
	"time"
	"unsafe"

	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/capi"
)

// This file writes through unsafe pointers: a field is an offset in the row, and an op says which type lies there, so that
// no reflection and no interface stands between a column and its field. Offsets and types come from package reflect
// (reflect.StructField.Offset), which is pattern 3 of package unsafe. A named type lies in memory as its underlying type
// does.
//
// readStatic and static must not let their pointer escape: One keeps the row on the stack. The compiler proves it, and a
// test counts the allocations.

// embed is a struct that is embedded by pointer.
type embed struct {
	in     int     // index in row.embeds plus one of the struct around it; 0 is the row itself
	offset uintptr // of the pointer in it
	typ    reflect.Type
}

// locate returns where the field at index lies, and notes the embedded pointers on the way.
func (r *row) locate(t reflect.Type, index []int) (in int, offset uintptr) {
	for _, x := range index {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
			in, offset = r.embedded(in, offset, t), 0
		}
		f := t.Field(x)
		offset += f.Offset
		t = f.Type
	}
	return in, offset
}

func (r *row) embedded(in int, offset uintptr, t reflect.Type) int {
	for i, e := range r.embeds {
		if e.in == in && e.offset == offset {
			return i + 1
		}
	}
	r.embeds = append(r.embeds, embed{in, offset, t})
	return len(r.embeds)
}

// base returns the address of the struct number in, of the row at p.
func (r *row) base(p unsafe.Pointer, in int) unsafe.Pointer {
	if in == 0 {
		return p
	}
	e := &r.embeds[in-1]
	return *(*unsafe.Pointer)(unsafe.Add(r.base(p, e.in), e.offset))
}

// allocate makes the structs that the row at p embeds by pointer. Outer ones come first in embeds.
func (r *row) allocate(p unsafe.Pointer) {
	for i := range r.embeds {
		e := &r.embeds[i]
		*(*unsafe.Pointer)(unsafe.Add(r.base(p, e.in), e.offset)) = reflect.New(e.typ).UnsafePointer()
	}
}

// readStatic reads a row that needs no code of the caller's into the zero value at p.
func (r *row) readStatic(s *capi.Stmt, p unsafe.Pointer, buf *Strings) error {
	if len(r.embeds) > 0 {
		r.allocate(p)
	}
	for i := range r.columns {
		c := &r.columns[i]
		at := p
		if c.embed != 0 {
			at = r.base(p, c.embed)
		}
		at = unsafe.Add(at, c.offset)
		switch c.op { // the two most common types, without a call
		case opInt64:
			if n, ok := s.Integer(i); ok {
				*(*int64)(at) = n
				continue
			}
		case opString:
			if b, ok := s.Text(i); ok {
				*(*string)(at) = buf.carve(b)
				continue
			}
		}
		if err := c.convert(s, i, s.ColumnType(i), at, buf); err != nil {
			return err
		}
	}
	return nil
}

// read reads any row into the zero value at p.
func (r *row) read(s *capi.Stmt, p unsafe.Pointer, buf *Strings) error {
	r.allocate(p)
	for i := range r.columns {
		c := &r.columns[i]
		if err := c.dynamic(s, i, unsafe.Add(r.base(p, c.embed), c.offset), buf); err != nil {
			return err
		}
	}
	return nil
}

// convert reads column i, whose value is a t, into the field at p.
func (c *column) convert(s *capi.Stmt, i int, t sqlite.ColumnType, p unsafe.Pointer, buf *Strings) error {
	switch c.op {
	case opPointer:
		if t == sqlite.TypeNull {
			*(*unsafe.Pointer)(p) = nil
			return nil
		}
		q := reflect.New(c.inner.typ).UnsafePointer()
		*(*unsafe.Pointer)(p) = q
		return c.inner.convert(s, i, t, q, buf)
	case opNull:
		valid := t != sqlite.TypeNull
		*(*bool)(unsafe.Add(p, c.valid)) = valid
		if !valid {
			return nil
		}
		return c.inner.convert(s, i, t, p, buf)
	case opAny:
		*(*any)(p) = value(s, i, t, buf)
		return nil
	case opString:
		b, ok := bytesOf(s, i, t)
		if !ok {
			return c.wrongType(t)
		}
		*(*string)(p) = buf.carve(b)
		return nil
	case opBytes:
		if t == sqlite.TypeNull {
			*(*[]byte)(p) = nil
			return nil
		}
		b, ok := bytesOf(s, i, t)
		if !ok {
			return c.wrongType(t)
		}
		*(*[]byte)(p) = append(make([]byte, 0, len(b)), b...)
		return nil
	case opTime:
		if t != sqlite.TypeText {
			return c.wrongType(t)
		}
		at, ok := ParseTime(s.ColumnText(i))
		if !ok {
			return c.misfit(t, "which is not a time")
		}
		*(*time.Time)(p) = at
		return nil
	case opFloat64, opFloat32:
		return c.float(s, i, t, p)
	}
	return c.integer(s, i, t, p)
}

func (c *column) float(s *capi.Stmt, i int, t sqlite.ColumnType, p unsafe.Pointer) error {
	if t != sqlite.TypeFloat && t != sqlite.TypeInteger {
		return c.wrongType(t)
	}
	f := s.ColumnFloat64(i)
	if c.op == opFloat64 {
		*(*float64)(p) = f
		return nil
	}
	if math.Abs(f) > math.MaxFloat32 && !math.IsInf(f, 0) {
		return c.misfit(t, "which is out of range")
	}
	*(*float32)(p) = float32(f)
	return nil
}

func (c *column) integer(s *capi.Stmt, i int, t sqlite.ColumnType, p unsafe.Pointer) error {
	if t != sqlite.TypeInteger && (t != sqlite.TypeFloat || c.op >= opBool) {
		return c.wrongType(t)
	}
	n, why := whole(s, i, t)
	if why == "" {
		why = c.put(n, p)
	}
	if why != "" {
		return c.misfit(t, why)
	}
	return nil
}

// put stores n in the field at p, or says why it cannot.
func (c *column) put(n int64, p unsafe.Pointer) (why string) {
	fits := true
	switch c.op {
	case opInt64:
		*(*int64)(p) = n
	case opInt32:
		*(*int32)(p), fits = int32(n), int64(int32(n)) == n
	case opInt16:
		*(*int16)(p), fits = int16(n), int64(int16(n)) == n
	case opInt8:
		*(*int8)(p), fits = int8(n), int64(int8(n)) == n
	case opUint64:
		*(*uint64)(p), fits = uint64(n), n >= 0
	case opUint32:
		*(*uint32)(p), fits = uint32(n), int64(uint32(n)) == n
	case opUint16:
		*(*uint16)(p), fits = uint16(n), int64(uint16(n)) == n
	case opUint8:
		*(*uint8)(p), fits = uint8(n), int64(uint8(n)) == n
	case opBool:
		if *(*bool)(p) = n == 1; n != 0 && n != 1 {
			return "which is neither 0 nor 1"
		}
	case opUnix:
		fits = storable(n)
		*(*time.Time)(p) = time.Unix(n, 0).UTC()
	case opUnixMilli:
		fits = storable(n / 1000)
		*(*time.Time)(p) = time.UnixMilli(n).UTC()
	}
	if !fits {
		return "which is out of range"
	}
	return ""
}
