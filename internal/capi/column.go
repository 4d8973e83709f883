package capi

import (
	lib "modernc.org/sqlite/lib"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/cmem"
)

// ColumnType returns the type of the value in column i of the current row. It must be asked before the value is read in
// another type, since reading may convert it. https://www.sqlite.org/c3ref/column_blob.html
func (s *Stmt) ColumnType(i int) sqlite.ColumnType {
	return sqlite.ColumnType(lib.Xsqlite3_column_type(s.tls, s.p, int32(i)))
}

// ColumnInt64 returns an INTEGER column.
func (s *Stmt) ColumnInt64(i int) int64 { return lib.Xsqlite3_column_int64(s.tls, s.p, int32(i)) }

// ColumnFloat64 returns a REAL column.
func (s *Stmt) ColumnFloat64(i int) float64 { return lib.Xsqlite3_column_double(s.tls, s.p, int32(i)) }

// ColumnText returns the bytes of a TEXT column. They are SQLite's own and valid until the next Step, Reset or other
// reading of the same column.
func (s *Stmt) ColumnText(i int) []byte {
	return s.view(lib.Xsqlite3_column_text(s.tls, s.p, int32(i)), i)
}

// ColumnBlob returns the bytes of a BLOB column, under the same terms as ColumnText.
func (s *Stmt) ColumnBlob(i int) []byte {
	return s.view(lib.Xsqlite3_column_blob(s.tls, s.p, int32(i)), i)
}

// Integer returns column i if it is an INTEGER. With Text it is the short way for the two most common types: SQLite looks the
// column up once, not for its type and again for its value. https://www.sqlite.org/c3ref/value_blob.html
func (s *Stmt) Integer(i int) (v int64, ok bool) {
	value := lib.Xsqlite3_column_value(s.tls, s.p, int32(i))
	if lib.Xsqlite3_value_type(s.tls, value) != lib.SQLITE_INTEGER {
		return 0, false
	}
	return lib.Xsqlite3_value_int64(s.tls, value), true
}

// Text returns the bytes of column i, under the terms of ColumnText, if it is a TEXT.
func (s *Stmt) Text(i int) (v []byte, ok bool) {
	value := lib.Xsqlite3_column_value(s.tls, s.p, int32(i))
	if lib.Xsqlite3_value_type(s.tls, value) != lib.SQLITE_TEXT {
		return nil, false
	}
	p := lib.Xsqlite3_value_text(s.tls, value)
	n := lib.Xsqlite3_value_bytes(s.tls, value)
	if p == 0 || n == 0 {
		return nil, true
	}
	return cmem.Bytes(p, int(n)), true
}

func (s *Stmt) view(p uintptr, i int) []byte {
	n := lib.Xsqlite3_column_bytes(s.tls, s.p, int32(i))
	if p == 0 || n == 0 {
		return nil
	}
	return cmem.Bytes(p, int(n))
}
