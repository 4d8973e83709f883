package pagecache

import "testing"

const benchPages = 4000

// A page that is there is used and let go: what every read of the database does many times.
func BenchmarkAHit(b *testing.B) {
	m := filled(b, benchPages)
	key := uint32(0)
	for b.Loop() {
		key = key%benchPages + 1
		xUnpin(m.tls, m.c, xFetch(m.tls, m.c, key, 0), 0)
	}
	m.destroy()
}

// A page that is not there takes the place of another.
func BenchmarkAMiss(b *testing.B) {
	m := filled(b, benchPages)
	xCachesize(m.tls, m.c, benchPages)
	key := uint32(benchPages)
	for b.Loop() {
		key++
		xUnpin(m.tls, m.c, xFetch(m.tls, m.c, key, 2), 0)
	}
	m.destroy()
}

// A commit changed one of 4,000 pages.
func BenchmarkARenewal(b *testing.B) {
	m := filled(b, benchPages)
	changed := []uint32{0}
	for b.Loop() {
		changed[0] = changed[0]%benchPages + 1
		m.renewal.Announce()
		xTruncate(m.tls, m.c, 1)
		m.renewal.TakeBack(changed, benchPages)
		xUnpin(m.tls, m.c, xFetch(m.tls, m.c, changed[0], 2), 0)
	}
	m.destroy()
}
