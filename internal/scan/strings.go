package scan

import "unsafe"

// Strings is a buffer from which the short strings of one result are carved, instead of one allocation each. The zero value
// is ready.
//
// A string that is kept keeps its whole chunk alive: at most maxChunk bytes, and in a result of n bytes of strings little
// more than n. Strings longer than a quarter of the current chunk have memory of their own.
type Strings struct {
	free []byte // rest of the current chunk
	size int    // of the current chunk
}

// The first chunk suits a page of short rows; the last bounds what one kept string holds back.
const (
	minChunk = 512
	maxChunk = 16 << 10
)

// carve returns the bytes of b, which are SQLite's own, as a string.
func (buf *Strings) carve(b []byte) string {
	if buf == nil {
		return string(b)
	}
	if len(b) > len(buf.free) {
		next := min(max(minChunk, 2*buf.size), maxChunk)
		if len(b) > next/4 {
			return string(b)
		}
		buf.size, buf.free = next, make([]byte, next)
	}
	if len(b) > buf.size/4 || len(b) == 0 {
		return string(b)
	}
	n := copy(buf.free, b)
	// These n bytes are never written again: free moves behind them. https://pkg.go.dev/unsafe#String
	s := unsafe.String(unsafe.SliceData(buf.free), n)
	buf.free = buf.free[n:]
	return s
}
