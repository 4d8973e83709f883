//go:build unix

package snapshot_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
	zsqlitex "zombiezen.com/go/sqlite/sqlitex"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/internal/pagecache"
	"github.com/sanelite/sanelite/pragma"
)

// firstSeed is another one in every run, unless SANELITE_SEED names it.
func firstSeed(t testing.TB) (seed uint64) {
	t.Helper()
	if s := os.Getenv("SANELITE_SEED"); s != "" {
		_, err := fmt.Sscan(s, &seed)
		require.NoError(t, err)
		return seed
	}
	return uint64(time.Now().UnixNano() % 1e9)
}

var pageSizes = []int{512, 1024, 4096, 4096, 8192, 65536}

// totals is what a torture test reports.
type totals struct {
	rounds, renewals            int64
	reused, survived, dropped   int64
	compared, pages             int64 // comparisons, and pages in them
	checkpoints, commits, kills int64
	long                        int64 // renewals in a log that spans several regions of the index
}

func (n *totals) add(r *reader) {
	n.reused += r.uses.Reused
	n.survived += r.uses.Survived
	n.dropped += r.uses.Dropped
}

// Everything happens in a known order: writers, checkpoints, and after each of them every reader is compared, page by page,
// with a connection whose cache is fresh.
func TestNoPageIsEverWrong(t *testing.T) {
	end := time.Now().Add(dbtest.Stress(t, 2*time.Second))
	var n totals
	done := map[string]int{}
	for seed := firstSeed(t); time.Now().Before(end) && !t.Failed(); seed++ {
		n.rounds++
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { oneRound(t, seed, end, &n, done) })
	}
	t.Logf("%+v\n%v", n, done)
	if pagecache.Installed() == pagecache.Surviving {
		require.Positive(t, n.survived)
	}
	require.Positive(t, n.pages)
}

func oneRound(t *testing.T, seed uint64, end time.Time, n *totals, done map[string]int) {
	r := rand.New(rand.NewPCG(seed, 0))
	path := dbtest.Path(t)
	pageSize := pageSizes[r.IntN(len(pageSizes))]
	automatic := []int{0, 0, 30, 1000}[r.IntN(4)]
	first := openWriter(t, path, fmt.Sprintf(`PRAGMA page_size = %d; PRAGMA auto_vacuum = %s; PRAGMA journal_mode = WAL; %s`,
		pageSize, []string{"NONE", "FULL", "INCREMENTAL"}[r.IntN(3)], baseSchema))
	open := func(settings string) *sqlite.Conn {
		c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
		require.NoError(t, err)
		c.SetBusyTimeout(0)
		script(t, c, settings)
		return c
	}
	settings := fmt.Sprintf("PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = %d", automatic)
	checkpoints := open(settings)
	defer checkpoints.Close()
	writers := []*workload{}
	for range 2 {
		w := &workload{c: open(settings), r: r, budget: 1 << 20, blob: 60_000, done: done}
		if pageSize == 512 {
			w.budget, w.blob = 400_000, 20_000
		}
		defer func() { w.c.Close() }()
		writers = append(writers, w)
	}
	script(t, first, "PRAGMA wal_checkpoint")
	// In some rounds the log grows over several regions of the index.
	patient := r.IntN(4) == 0
	var readers []*reader
	for _, size := range []int{10, 40, 300, 100_000} {
		k := openReader(t, path, size)
		if r.IntN(4) == 0 {
			script(t, k.conn.Zombie(), "PRAGMA mmap_size = 100000000")
		}
		readers = append(readers, k)
	}
	defer func() {
		for _, k := range readers {
			n.add(k)
		}
		if t.Failed() {
			t.Logf("page size %d, automatic checkpoints %d\n%v\n%v", pageSize, automatic, writers[0].recent, writers[1].recent)
		}
	}()
	for step := 0; step < 120 && time.Now().Before(end); step++ {
		for range 1 + r.IntN(3) {
			writers[max(0, r.IntN(5)-3)].step()
		}
		if r.IntN(3) == 0 { // as the ticker does
			for _, k := range readers {
				if r.IntN(4) > 0 {
					k.snap.GiveUp()
				}
			}
		}
		if r.IntN(4) == 0 && (!patient || r.IntN(20) == 0) {
			if r.IntN(2) == 0 {
				for _, k := range readers {
					k.snap.GiveUp()
				}
			}
			checkpoint(checkpoints, r)
			n.checkpoints++
			if r.IntN(3) == 0 {
				writers[0].step()
			}
		}
		if r.IntN(50) == 0 { // a writer that has not started a log over yet gives it random salts
			require.NoError(t, writers[0].c.Close())
			writers[0].c = open(settings)
		}
		for _, k := range readers {
			if r.IntN(3) == 0 {
				continue
			}
			useReader(t, k, r, n)
		}
	}
}

// useReader acquires, compares, reads, compares again at times, and releases.
func useReader(t *testing.T, k *reader, r *rand.Rand, n *totals) {
	t.Helper()
	k.acquire()
	n.renewals++
	if header, ok := k.snap.Header(); ok && header[4] > 4062 {
		n.long++
	}
	for again := true; again; again = r.IntN(3) == 0 {
		pages, err := k.compare(r.IntN(8) == 0)
		require.NoError(t, err)
		require.Positive(t, pages, "nobody else has committed")
		n.compared++
		n.pages += int64(pages)
		require.NoError(t, browse(k.conn.Zombie(), r))
	}
	k.release()
}

// openRaw opens a connection of zombiezen's own.
func openRaw(path string, settings ...string) (*sqlite.Conn, error) {
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return nil, err
	}
	c.SetBusyTimeout(pragma.Default().BusyTimeout)
	for _, sql := range settings {
		if err := zsqlitex.ExecuteTransient(c, sql, nil); err != nil {
			return nil, err
		}
	}
	return c, nil
}
