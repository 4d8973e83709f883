package capi

import (
	"runtime/debug"
	"sync/atomic"

	"github.com/sanelite/sanelite/internal/cmem"
)

// The page numbers of frames follow the headers in the first region, and fill the first half of all others.
// https://www.sqlite.org/walformat.html#the_wal_index_file_format
const (
	firstRegionOffset = 136
	firstRegionFrames = 4062
	laterRegionFrames = 4096
)

// mostFrames bounds how many frames Changed goes through: beyond that, reading the pages anew is no dearer.
const mostFrames = 8192

// Changed appends to pages the numbers of the pages by which snapshot b differs from the older snapshot a, and reports
// whether they are known. In any doubt they are not.
//
// Frames of one generation of the log are only appended, so the pages of frames a.mxFrame+1 … b.mxFrame are all there
// is. A reader under read lock 0 does not hold the log, though: a writer may start it over while we read. It first changes
// the salts, then wipes the entries. So the salts are read again after the last entry.
func (x *WALIndex) Changed(a, b *Header, pages []uint32) (_ []uint32, known bool) {
	if !continues(a, b) {
		return pages, false
	}
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		if fault := recover(); fault != nil {
			known = false
			rethrowUnlessFault(fault)
		}
	}()
	for frame := a[headerFrames] + 1; frame <= b[headerFrames]; frame++ {
		page := x.pageOf(frame)
		if page == 0 {
			return pages, false
		}
		pages = append(pages, page)
	}
	for i := headerSalt; i < headerSalt+2; i++ {
		if atomic.LoadUint32(&x.header[i]) != b[i] {
			return pages, false
		}
	}
	return pages, true
}

// continues reports whether b comes after a, or is a, in the same generation of the log and with the same page size.
func continues(a, b *Header) bool {
	switch {
	case a[headerSalt] != b[headerSalt] || a[headerSalt+1] != b[headerSalt+1],
		a[headerFormat] != b[headerFormat],
		int32(b[headerChange]-a[headerChange]) < 0,
		b[headerFrames] < a[headerFrames],
		b[headerFrames]-a[headerFrames] > mostFrames:
		return false
	case b[headerFrames] == a[headerFrames]:
		// No new frame, so it must be the same last one.
		return a[headerFrameCksum] == b[headerFrameCksum] && a[headerFrameCksum+1] == b[headerFrameCksum+1]
	}
	return true
}

// pageOf returns the number of the page in a frame, or 0 where it cannot be had.
func (x *WALIndex) pageOf(frame uint32) uint32 {
	region, offset := 0, uintptr(firstRegionOffset)+4*uintptr(frame-1)
	if frame > firstRegionFrames {
		later := frame - firstRegionFrames - 1
		region, offset = 1+int(later/laterRegionFrames), 4*uintptr(later%laterRegionFrames)
	}
	p := x.region(region)
	if p == 0 {
		return 0
	}
	return atomic.LoadUint32(cmem.At[uint32](p + offset))
}

// Pages returns the size of the database in pages in the snapshot with header h.
func (h *Header) Pages() uint32 { return h[headerPages] }

// Log returns how many frames the write-ahead log has, and how many of them have been copied back into the database.
// https://www.sqlite.org/walformat.html#the_wal_index_file_format, mxFrame and nBackfill
func (x *WALIndex) Log() (frames, copied uint32) {
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		if fault := recover(); fault != nil {
			frames, copied = 0, 0
			rethrowUnlessFault(fault)
		}
	}()
	return atomic.LoadUint32(&x.header[headerFrames]), atomic.LoadUint32(cmem.At[uint32](x.regions[0] + backfillOffset))
}

// backfillOffset is where nBackfill stands, behind the two copies of the header.
const backfillOffset = 96
