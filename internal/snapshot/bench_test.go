//go:build unix

package snapshot_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
)

// benchReader returns a reader that has 4,000 pages in its cache.
func benchReader(b *testing.B) (r *reader, commit func()) {
	b.Helper()
	path := dbtest.Path(b)
	w := openWriter(b, path, `
		PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0;
		CREATE TABLE t (id INTEGER PRIMARY KEY, b BLOB);
		WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 4000) INSERT INTO t SELECT i, zeroblob(3900) FROM c;
		PRAGMA wal_checkpoint(TRUNCATE); PRAGMA wal_autocheckpoint = 1000`)
	needSurviving(b)
	s, err := w.Prepare("UPDATE t SET b = randomblob(3900) WHERE id = ?")
	require.NoError(b, err)
	r = openReader(b, path, 100_000)
	r.renew()
	i := int64(0)
	return r, func() {
		i++
		s.BindInt64(1, i*7%4000)
		if _, err := s.Step(); err != nil {
			b.Fatal(err)
		}
		if err := s.Reset(); err != nil {
			b.Fatal(err)
		}
	}
}

func (r *reader) cycle(b *testing.B) {
	if err := r.snap.Acquire(context.Background()); err != nil {
		b.Fatal(err)
	}
	r.snap.Release(nil)
}

// What a read pays to learn that its snapshot is still the newest.
func BenchmarkACurrentSnapshot(b *testing.B) {
	r, _ := benchReader(b)
	b.ReportAllocs()
	for b.Loop() {
		r.cycle(b)
	}
}

// A new transaction on the same state, as after two ticks.
func BenchmarkAnEmptyRenewal(b *testing.B) {
	r, _ := benchReader(b)
	b.ReportAllocs()
	for b.Loop() {
		r.snap.GiveUp()
		r.cycle(b)
	}
}

// A new transaction after a commit that changed one page, of 4,000 in the cache. The commit itself is not counted.
func BenchmarkARenewalAfterOneCommit(b *testing.B) {
	r, commit := benchReader(b)
	b.ReportAllocs()
	r.count()
	for b.Loop() {
		b.StopTimer()
		commit()
		b.StartTimer()
		r.cycle(b)
	}
	b.StopTimer()
	uses := r.count()
	b.ReportMetric(float64(uses.Survived)/float64(uses.Survived+uses.Dropped), "survived/op")
}
