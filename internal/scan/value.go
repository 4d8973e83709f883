package scan

import (
	"math"

	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/capi"
)

// value returns column i as the Go value that is closest to it.
func value(s *capi.Stmt, i int, t sqlite.ColumnType, buf *Strings) any {
	switch t {
	case sqlite.TypeInteger:
		return s.ColumnInt64(i)
	case sqlite.TypeFloat:
		return s.ColumnFloat64(i)
	case sqlite.TypeText:
		return buf.carve(s.ColumnText(i))
	case sqlite.TypeBlob:
		b := s.ColumnBlob(i)
		return append(make([]byte, 0, len(b)), b...)
	default:
		return nil
	}
}

// bytesOf returns the bytes of a TEXT or BLOB, which are SQLite's own.
func bytesOf(s *capi.Stmt, i int, t sqlite.ColumnType) (b []byte, ok bool) {
	switch t {
	case sqlite.TypeText: // not ColumnBlob, which shows a UTF-16 database's own bytes
		return s.ColumnText(i), true
	case sqlite.TypeBlob:
		return s.ColumnBlob(i), true
	default:
		return nil, false
	}
}

// whole returns a number as an integer, or says why it is none. SQLite stores a whole number as REAL where a column has that
// affinity. https://www.sqlite.org/datatype3.html#type_affinity
func whole(s *capi.Stmt, i int, t sqlite.ColumnType) (n int64, why string) {
	if t != sqlite.TypeFloat {
		return s.ColumnInt64(i), ""
	}
	switch f := s.ColumnFloat64(i); {
	case f != math.Trunc(f):
		return 0, "which has a fraction"
	case f < -1<<63 || f >= 1<<63:
		return 0, "which is out of range"
	default:
		return int64(f), ""
	}
}

// storable reports whether a time in seconds since 1970 is in the years 0 to 9999, as every stored time is.
func storable(seconds int64) bool {
	const first, last = -62167219200, 253402300799
	return seconds >= first && seconds <= last
}
