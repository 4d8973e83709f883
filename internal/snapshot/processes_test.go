//go:build unix

package snapshot_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
	zsqlitex "zombiezen.com/go/sqlite/sqlitex"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/internal/pagecache"
	"github.com/sanelite/sanelite/internal/sqlerr"
)

// board is memory that several processes share: slot i holds a value that counter i of the database has at least, since it
// was written after the COMMIT. Whoever acquires a snapshot after having read the board must find it there.
type board [8]atomic.Int64

func openBoard(path string) (*board, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(4096); err != nil {
		return nil, err
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return (*board)(unsafe.Pointer(&b[0])), nil // never unmapped: the process is a test
}

func (b *board) now() (values [8]int64) {
	for i := range b {
		values[i] = b[i].Load()
	}
	return values
}

// missing tells which commit, finished when the board was read, a snapshot does not contain.
func missing(c *sqlite.Conn, published [8]int64) error {
	var found error
	err := zsqlitex.ExecuteTransient(c, "SELECT id, n FROM counters", &zsqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		if id, n := s.ColumnInt(0), s.ColumnInt64(1); n < published[id-1] {
			found = fmt.Errorf("MISSED A COMMIT: counter %d is %d, and was %d before", id, n, published[id-1])
		}
		return nil
	}})
	if err != nil {
		return err
	}
	return found
}

// watch uses a reader until stop is closed, or something is wrong.
func watch(k *reader, b *board, r *rand.Rand, n *totals, stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		if r.IntN(10) == 0 {
			k.snap.GiveUp()
			time.Sleep(time.Duration(r.IntN(3000)) * time.Microsecond) // leave the processor to those who write
		}
		if r.IntN(4) == 0 {
			k.keep.Tick()
		}
		published := b.now()
		if err := k.snap.Acquire(context.Background()); err != nil {
			if sqlerr.IsBusy(err) || strings.Contains(err.Error(), "SQLITE_PROTOCOL") {
				continue
			}
			return fmt.Errorf("acquire: %w", err)
		}
		k.count()
		atomic.AddInt64(&n.renewals, 1)
		if header, ok := k.snap.Header(); ok && header[4] > 4062 {
			atomic.AddInt64(&n.long, 1)
		}
		if err := missing(k.conn.Zombie(), published); err != nil {
			return err
		}
		if err := browse(k.conn.Zombie(), r); err != nil {
			return err
		}
		if r.IntN(3) == 0 {
			pages, err := k.compare(r.IntN(10) == 0)
			switch {
			case err != nil && !sqlerr.IsBusy(err) && sqlite.ErrCode(err).ToPrimary() != sqlite.ResultBusy:
				return err
			case pages > 0:
				atomic.AddInt64(&n.compared, 1)
				atomic.AddInt64(&n.pages, int64(pages))
			}
		}
		k.release()
	}
}

// childCrowd writes and reads until it is killed, or finds something wrong. Arguments: database, board, slot, seed.
func childCrowd(args []string) {
	path := args[0]
	slot, err := strconv.Atoi(args[2])
	fatal(err)
	seed, err := strconv.ParseUint(args[3], 10, 64)
	fatal(err)
	r := rand.New(rand.NewPCG(seed, 1))
	b, err := openBoard(args[1])
	fatal(err)
	k, err := newReader(nil, path, 10+r.IntN(500))
	if err != nil && sqlerr.IsBusy(err) {
		return
	}
	fatal(err)
	fmt.Println("ready")
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the parent
		os.Exit(0)
	}()
	go func() {
		var n totals
		fatal(watch(k, b, rand.New(rand.NewPCG(seed, 2)), &n, nil))
	}()
	c, err := openRaw(path, "PRAGMA synchronous = OFF", fmt.Sprintf("PRAGMA wal_autocheckpoint = %d", []int{0, 20, 200, 1000}[r.IntN(4)]))
	fatal(err)
	w := &workload{
		c: c, r: r, budget: 1 << 20, blob: 40_000, counter: slot + 1,
		publish: func(n int64) { b[slot].Store(n) },
	}
	// Some let the log grow; some commit small things and copy the log back at once, so that readers find it empty and do not
	// hold it, and it starts over all the time.
	growing, hasty := r.IntN(6) == 0, r.IntN(3) == 0
	for {
		if !hasty || r.IntN(40) == 0 {
			w.step()
		} else if w.begin() {
			w.try("UPDATE t0 SET k = k + 1 WHERE id % 100 = ?", r.IntN(100))
			w.end()
		}
		if hasty && r.IntN(3) == 0 {
			w.try("PRAGMA wal_checkpoint")
		} else if !growing && r.IntN(15) == 0 {
			checkpoint(c, r)
		}
		if r.IntN(3) > 0 { // in bursts
			time.Sleep(time.Duration(r.IntN(5000)) * time.Microsecond)
		}
	}
}

// startCrowd starts a child; wrong is called if it ends by itself.
func startCrowd(t testing.TB, path, boardPath string, slot int, seed uint64, cache string, wrong func(error)) (kill func()) {
	cmd := dbtest.Command(t, "crowd", path, boardPath, strconv.Itoa(slot), strconv.FormatUint(seed, 10))
	cmd.Env = append(cmd.Env, pagecache.Variable+"="+cache)
	var output strings.Builder
	cmd.Stderr = &output
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, _ = bufio.NewReader(out).ReadString('\n')
	return func() {
		_ = cmd.Process.Signal(syscall.SIGKILL)
		err := cmd.Wait()
		_ = in.Close()
		if exit, ok := err.(*exec.ExitError); ok && exit.Sys().(syscall.WaitStatus).Signaled() { //nolint:errorlint // Wait returns it as it is
			return
		}
		if err != nil {
			wrong(fmt.Errorf("child: %w: %s", err, output.String()))
		}
	}
}

// Several processes write, read, and are killed; some use SQLite's own page cache. No reader ever sees a wrong page, nor
// misses a commit that had returned before it began.
func TestNoCommitOfOtherProcessesIsMissed(t *testing.T) {
	end := time.Now().Add(dbtest.Stress(t, 3*time.Second))
	var n totals
	seed := firstSeed(t)
	r := rand.New(rand.NewPCG(seed, 3))
	for time.Now().Before(end) && !t.Failed() {
		n.rounds++
		roundEnd := time.Now().Add(15 * time.Second)
		if roundEnd.After(end) {
			roundEnd = end
		}
		t.Run(fmt.Sprint("round ", n.rounds), func(t *testing.T) { oneCrowd(t, r, roundEnd, &n) })
	}
	t.Logf("seed %d: %+v", seed, n)
	require.Positive(t, n.renewals)
	require.Positive(t, n.kills)
}

func oneCrowd(t *testing.T, r *rand.Rand, end time.Time, n *totals) {
	path := dbtest.Path(t)
	boardPath := path + ".board"
	b, err := openBoard(boardPath)
	require.NoError(t, err)
	pageSize := pageSizes[r.IntN(len(pageSizes))]
	first := openWriter(t, path, fmt.Sprintf(`PRAGMA page_size = %d; PRAGMA auto_vacuum = %s; PRAGMA journal_mode = WAL; %s`,
		pageSize, []string{"NONE", "FULL", "INCREMENTAL"}[r.IntN(3)], baseSchema))
	for w := (&workload{c: first, r: r, budget: 1 << 20, blob: 40_000}); len(w.recent) < 30; {
		w.step()
	}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	var readers []*reader
	for _, size := range []int{10, 60, 20_000} {
		k := openReader(t, path, size)
		readers = append(readers, k)
		own := rand.New(rand.NewPCG(r.Uint64(), 4))
		wg.Go(func() {
			assert.NoError(t, watch(k, b, own, n, stop), "page size %d, cache of %d pages", pageSize, size)
		})
	}
	for time.Now().Before(end) && !t.Failed() {
		var kills []func()
		for slot := range 1 + r.IntN(3) {
			kills = append(kills, startCrowd(t, path, boardPath, slot, r.Uint64(), []string{"", "", "plain", "builtin"}[r.IntN(4)],
				func(err error) { assert.NoError(t, err) }))
		}
		life := time.After(min(time.Duration(200+r.IntN(2000))*time.Millisecond, time.Until(end)))
		<-life
		for _, kill := range kills {
			kill()
			n.kills++
		}
		if r.IntN(3) == 0 {
			tear(t, path, "first")
		}
	}
	close(stop)
	wg.Wait()
	for _, k := range readers {
		n.add(k)
	}
	for _, v := range b.now() {
		n.commits += v
	}
	var bad []string
	require.NoError(t, zsqlitex.ExecuteTransient(first, "PRAGMA integrity_check", &zsqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		bad = append(bad, s.ColumnText(0))
		return nil
	}}))
	require.Equal(t, []string{"ok"}, bad)
}
