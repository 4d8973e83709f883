package capi_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/capi"
)

// Words of the header. https://www.sqlite.org/walformat.html#the_wal_index_header
const (
	change     = 2
	format     = 3
	frames     = 4
	frameCksum = 6
	salt       = 8
)

// pagesInLog reads the page numbers of all frames from the log file itself, whose bytes are the truth about it.
// https://www.sqlite.org/fileformat2.html#the_write_ahead_log
func pagesInLog(t testing.TB, path string, count uint32) (pages []uint32) {
	t.Helper()
	log, err := os.ReadFile(path + "-wal") // SQLite holds no lock on this file
	require.NoError(t, err)
	size := int(binary.BigEndian.Uint32(log[8:]))
	for at := 32; uint32(len(pages)) < count; at += 24 + size {
		pages = append(pages, binary.BigEndian.Uint32(log[at:]))
	}
	return pages
}

func TestTheChangedPagesAreThoseOfTheFramesBetween(t *testing.T) {
	t.Parallel()
	path, w := newDatabase(t)
	r := openReader(t, path)
	var headers []capi.Header
	add := func() { headers = append(headers, r.header()) }
	add()
	for i := range 300 {
		exec(t, w, fmt.Sprintf("UPDATE t SET k = k + 1 WHERE id %% %d = %d", 7+i%290, i%7))
		add()
	}
	last := headers[len(headers)-1]
	require.Greater(t, last[frames], uint32(13000), "the log spans four regions of the index")
	log := pagesInLog(t, path, last[frames])
	for i, a := range headers {
		for _, b := range headers[i:min(i+4, len(headers))] {
			got, known := r.index.Changed(&a, &b, nil)
			require.True(t, known, "%v to %v", a, b)
			require.Equal(t, log[a[frames]:b[frames]], append([]uint32{}, got...))
		}
	}
	_, known := r.index.Changed(&headers[0], &last, nil)
	require.False(t, known, "beyond some thousand frames, reading the pages anew is no dearer")
	// Every place at which the numbers go on in another region of the index, and both sides of it.
	for _, edge := range []uint32{4062, 8158, 12254} {
		for first := edge - 2; first <= edge+2; first++ {
			for count := range uint32(4) {
				a, b := last, last
				a[frames], b[frames] = first-1, first-1+count
				got, known := r.index.Changed(&a, &b, nil)
				require.True(t, known)
				require.Equal(t, log[first-1:first-1+count], append([]uint32{}, got...), "%d frames from %d on", count, first)
			}
		}
	}
	// What is there already stays.
	a := last
	a[frames]--
	var got []uint32
	got, known = r.index.Changed(&a, &last, []uint32{7})
	require.True(t, known)
	require.Equal(t, []uint32{7, log[last[frames]-1]}, got)
}

func TestNothingIsKnownInAnyDoubt(t *testing.T) {
	t.Parallel()
	path, w := newDatabase(t)
	r := openReader(t, path)
	a := r.header()
	exec(t, w, "UPDATE t SET k = k + 1 WHERE id % 100 = 0")
	b := r.header()
	_, known := r.index.Changed(&a, &b, nil)
	require.True(t, known, "without a doubt")
	_, known = r.index.Changed(&b, &b, nil)
	require.True(t, known, "nothing has changed")
	for name, doubt := range map[string]func(a, b *capi.Header){
		"the first salt differs":                       func(a, _ *capi.Header) { a[salt]-- },
		"the second salt differs":                      func(a, _ *capi.Header) { a[salt+1]++ },
		"both have the first salt of another log":      func(a, b *capi.Header) { a[salt]--; b[salt]-- },
		"both have the second salt of another log":     func(a, b *capi.Header) { a[salt+1]--; b[salt+1]-- },
		"the page size differs":                        func(a, _ *capi.Header) { a[format] ^= 1 << 16 },
		"the count of transactions went back":          func(a, b *capi.Header) { a[change] = b[change] + 1 },
		"it went back across its end":                  func(a, b *capi.Header) { a[change], b[change] = 3, ^uint32(0) },
		"the log became shorter":                       func(a, b *capi.Header) { a[frames] = b[frames] + 1 },
		"as long, but another last frame":              func(a, b *capi.Header) { *a = *b; a[frameCksum]++ },
		"as long, but another last frame, second word": func(a, b *capi.Header) { *a = *b; a[frameCksum+1]++ },
		"more frames than there are":                   func(_, b *capi.Header) { b[frames] += 5 },
		"more frames than the index has room for":      func(a, b *capi.Header) { a[frames] = 100_000; b[frames] = 100_001 },
		"the greatest number of frames":                func(a, b *capi.Header) { a[frames] = ^uint32(0) - 3; b[frames] = ^uint32(0) },
	} {
		a, b := a, b
		doubt(&a, &b)
		_, known := r.index.Changed(&a, &b, nil)
		assert.False(t, known, name)
	}
	a[change], b[change] = ^uint32(0), 3 // the count itself may wrap around
	_, known = r.index.Changed(&a, &b, nil)
	assert.True(t, known)
}

// A reader under read lock 0 reads the database file alone and does not hold the log: a writer may start it over.
func TestALogThatStartsOverWhileItsPageNumbersAreReadIsNoticed(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]string{
		"by a transaction that is shorter than the log was": "UPDATE o SET b = zeroblob(20)",
		// Not one entry reads zero then.
		"by one that is longer": "UPDATE o SET b = randomblob(900000)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, w := newDatabase(t)
			r := openReader(t, path)
			a := r.header()
			exec(t, w, "UPDATE t SET k = k + 1 WHERE id BETWEEN 3000 AND 3100; PRAGMA wal_checkpoint")
			exec(t, r.zombie(), "BEGIN; PRAGMA schema_version")
			b, ok := r.conn.SnapshotHeader()
			require.True(t, ok)
			right, known := r.index.Changed(&a, &b, nil)
			require.True(t, known)
			exec(t, w, restart)
			require.NotEqual(t, b[salt], r.header()[salt], "the log has started over")
			wrong, known := r.index.Changed(&a, &b, nil)
			assert.False(t, known)
			assert.NotEqual(t, right, wrong)
			exec(t, r.zombie(), "COMMIT")
		})
	}
}

// case X4: another program truncates the -shm file under us. Touching it then raises SIGBUS.
func TestATruncatedIndexIsNoCrash(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a file that is mapped cannot be truncated")
	}
	t.Parallel()
	for name, size := range map[string]int64{"nothing is left of it": 0, "its later regions are gone": 32768} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, w := newDatabaseToDamage(t)
			r := openReader(t, path)
			a := r.header()
			for i := range 12 {
				exec(t, w, fmt.Sprintf("UPDATE t SET k = k + %d", i))
			}
			b := r.header()
			require.Greater(t, b[frames], uint32(4062))
			a[frames] = max(a[frames], 4000)
			_, known := r.index.Changed(&a, &b, nil)
			require.True(t, known)
			require.True(t, r.index.Is(&b))

			require.NoError(t, os.Truncate(path+"-shm", size))
			_, known = r.index.Changed(&a, &b, nil)
			assert.False(t, known)
			_, ok := r.index.Load()
			assert.Equal(t, size > 0, ok)
			assert.Equal(t, size > 0, r.index.Is(&b))
			_, known = r.index.Changed(&b, &b, nil)
			assert.Equal(t, size > 0, known, "the salts are in the header")
		})
	}
}

// A -shm file is not larger than its frames need, and looking does not make it so.
func TestLookingAtTheIndexDoesNotExtendIt(t *testing.T) {
	t.Parallel()
	path, _ := newDatabase(t)
	r := openReader(t, path)
	before, err := os.Stat(path + "-shm")
	require.NoError(t, err)
	a, b := r.header(), r.header()
	a[frames], b[frames] = 20_000, 20_001
	_, known := r.index.Changed(&a, &b, nil)
	assert.False(t, known)
	after, err := os.Stat(path + "-shm")
	require.NoError(t, err)
	assert.Equal(t, before.Size(), after.Size())
}

// The cache of a connection is made anew when the page size becomes known; a hold on the old one does nothing then.
func TestACacheThatWasReplacedIsLetGo(t *testing.T) {
	t.Parallel()
	path := emptyFile(t)
	c, err := capi.Open(path, sqlite.OpenReadWrite)
	require.NoError(t, err)
	defer func() { assert.NoError(t, c.Close()) }()
	exec(t, c.Zombie(), "SELECT count(*) FROM sqlite_schema")
	hold := c.Renewal()
	if hold == nil {
		t.Skip("the page cache does not survive here")
	}
	w, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	require.NoError(t, err)
	exec(t, w, "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (randomblob(100000))")
	hold.Announce()
	exec(t, c.Zombie(), "SELECT sum(length(x)) FROM t")
	assert.Zero(t, hold.Cleared())
	hold.TakeBack([]uint32{1}, 1)
	hold.Drop()
	require.NotNil(t, c.Renewal())
	require.NoError(t, w.Close())
}
