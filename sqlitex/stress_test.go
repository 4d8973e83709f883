package sqlitex_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/pragma"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// short is how long a stress test runs where SANELITE_STRESS says nothing else.
const short = 2 * time.Second

const stressSchema = `CREATE TABLE rows (process INTEGER, worker INTEGER, n INTEGER, PRIMARY KEY (process, worker, n)) WITHOUT ROWID;
	CREATE TABLE total (n INTEGER); INSERT INTO total VALUES (0)`

// childStress writes and reads through the library until its input ends or it is killed, and prints what was acknowledged.
// A reader checks that the two tables agree in each snapshot, and that nothing committed disappears.
func childStress(args []string) {
	ctx := context.Background()
	db, err := sqlitex.Open(ctx, args[0], &sqlitex.Options{BusyTimeout: time.Minute, Pragmas: pragma.Config{JournalMode: pragma.JournalMode(args[2])}})
	fatal(err)
	process, err := strconv.Atoi(args[1])
	fatal(err)
	stop := make(chan struct{})
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		close(stop)
	}()
	stopped := func() bool {
		select {
		case <-stop:
			return true
		default:
			return false
		}
	}
	var out sync.Mutex
	var all sync.WaitGroup
	for worker := range 3 {
		all.Go(func() {
			for n := 0; !stopped(); n++ {
				fatal(db.Write(ctx, func(w *tx.Writer) error {
					_, err := w.Exec(`INSERT INTO rows VALUES (?, ?, ?)`, process, worker, n)
					if err == nil {
						_, err = w.Exec(`UPDATE total SET n = n + 1`)
					}
					return err
				}))
				out.Lock()
				fmt.Println(worker, n)
				out.Unlock()
			}
		})
	}
	for range 2 {
		all.Go(func() {
			for seen := 0; !stopped(); {
				fatal(db.Read(ctx, func(r *tx.Reader) error {
					total, err := tx.One[int](r, `SELECT n FROM total`)
					if err != nil {
						return err
					}
					rows, err := tx.One[int](r, `SELECT count(*) FROM rows`)
					if err == nil && (rows != total || rows < seen) {
						err = fmt.Errorf("%d rows, %d in total, %d seen before", rows, total, seen)
					}
					seen = rows
					return err
				}))
			}
		})
	}
	all.Wait()
	fatal(db.Close())
}

// stressed is one child and what it was told to be committed.
type stressed struct {
	cmd   *exec.Cmd
	stop  func() error
	acked map[int]int // last n of each worker
	done  chan struct{}
}

func startStress(t *testing.T, path string, process int, journal pragma.JournalMode) *stressed {
	t.Helper()
	cmd := dbtest.Command(t, "stress", path, strconv.Itoa(process), string(journal))
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	s := &stressed{cmd: cmd, stop: in.Close, acked: map[int]int{}, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var worker, n int
			// A line that the kill has cut has only one number, or one that is too small: both harmless.
			if read, _ := fmt.Sscan(lines.Text(), &worker, &n); read == 2 {
				s.acked[worker] = max(n, s.acked[worker])
			}
		}
	}()
	return s
}

// case X1: several processes read and write, and some are killed. Every acknowledged row is there; dbtest checks the rest.
func TestProcessesThatAreKilledLoseNothingThatWasAcknowledged(t *testing.T) {
	t.Parallel()
	for _, journal := range []pragma.JournalMode{pragma.JournalWAL, pragma.JournalTruncate} {
		t.Run(string(journal), func(t *testing.T) {
			t.Parallel()
			path := dbtest.Path(t)
			o := &sqlitex.Options{BusyTimeout: time.Minute, Pragmas: pragma.Config{JournalMode: journal}}
			db := dbtest.OpenAt(t, path, o, stressSchema)
			until := time.Now().Add(dbtest.Stress(t, short))
			var finished []*stressed
			process := 0
			for time.Now().Before(until) {
				round := []*stressed{}
				for range 3 {
					process++
					round = append(round, startStress(t, path, process, journal))
				}
				// All have written before the first is killed.
				eventually(t, func() bool {
					n, err := sqlitex.One[int](t.Context(), db, `SELECT count(DISTINCT process) FROM rows`)
					return assert.NoError(t, err) && n == process
				}, "everybody writes")
				for i, s := range round {
					if i == 2 {
						require.NoError(t, s.stop())
						<-s.done
						require.NoError(t, s.cmd.Wait(), "the survivor")
						continue
					}
					require.NoError(t, s.cmd.Process.Kill())
					<-s.done
					_ = s.cmd.Wait()
				}
				finished = append(finished, round...)
			}
			require.NoError(t, db.Check(t.Context()))
			acked := 0
			for i, s := range finished {
				for worker, n := range s.acked {
					found, err := sqlitex.One[int](t.Context(), db, `SELECT count(*) FROM rows WHERE process = ? AND worker = ? AND n <= ?`, i+1, worker, n)
					require.NoError(t, err)
					require.Equal(t, n+1, found, "process %d, worker %d", i+1, worker)
					acked += n + 1
				}
			}
			t.Logf("%d processes, %d rows acknowledged", process, acked)
			assert.Positive(t, acked)
		})
	}
}

// A handle that never writes must not take a transaction that is going on for one that a dead process has left.
func TestReadOnlyHandleIsNotAlarmedByWriters(t *testing.T) {
	t.Parallel()
	for _, journal := range []pragma.JournalMode{pragma.JournalDelete, pragma.JournalTruncate, pragma.JournalPersist} {
		t.Run(string(journal), func(t *testing.T) {
			t.Parallel()
			path := dbtest.Path(t)
			o := &sqlitex.Options{BusyTimeout: time.Minute, Pragmas: pragma.Config{JournalMode: journal, Synchronous: pragma.SyncOff}}
			require.NoError(t, dbtest.OpenAt(t, path, o, stressSchema).Close())
			db := dbtest.OpenAt(t, path, &sqlitex.Options{Mode: sqlitex.ReadOnly, BusyTimeout: time.Minute}, "")
			writer := startStress(t, path, 1, journal)
			for until := time.Now().Add(dbtest.Stress(t, short)); time.Now().Before(until); {
				_, err := sqlitex.One[int](t.Context(), db, `SELECT n FROM total`)
				if !assert.NoError(t, err) {
					break
				}
			}
			require.NoError(t, writer.stop())
			<-writer.done
			require.NoError(t, writer.cmd.Wait())
		})
	}
}

// Two handles of this process and one of another, all busy at once, for a while.
func TestHandlesOfSeveralProcessesWorkSideBySide(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	o := &sqlitex.Options{BusyTimeout: time.Minute, ReaderIdle: time.Millisecond}
	one, two := dbtest.OpenAt(t, path, o, stressSchema), dbtest.OpenAt(t, path, o, "")
	other := startStress(t, path, 1, pragma.JournalWAL)
	ctx, cancel := context.WithTimeout(t.Context(), dbtest.Stress(t, short))
	defer cancel()
	var all sync.WaitGroup
	for worker, db := range []*sqlitex.DB{one, two, one, two} {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				err := db.Write(ctx, func(w *tx.Writer) error {
					_, err := w.Exec(`INSERT INTO rows VALUES (2, ?, ?)`, worker, n)
					if err == nil {
						_, err = w.Exec(`UPDATE total SET n = n + 1`)
					}
					return err
				})
				if errors.Is(err, context.DeadlineExceeded) {
					return
				}
				assert.NoError(t, err)
				mine, err := sqlitex.One[int](context.Background(), db, `SELECT max(n) FROM rows WHERE process = 2 AND worker = ?`, worker)
				assert.NoError(t, err)
				assert.Equal(t, n, mine, "its own commit")
			}
		})
	}
	all.Go(func() {
		for ctx.Err() == nil {
			for _, mode := range []sqlitex.CheckpointMode{sqlitex.CheckpointPassive, sqlitex.CheckpointTruncate} {
				if _, err := one.Checkpoint(ctx, mode); !errors.Is(err, context.DeadlineExceeded) {
					assert.NoError(t, err)
				}
			}
		}
	})
	all.Wait()
	require.NoError(t, other.stop())
	<-other.done
	require.NoError(t, other.cmd.Wait())
	assert.NoError(t, two.Check(t.Context()))
	total, err := sqlitex.One[int](t.Context(), two, `SELECT (SELECT n FROM total) - (SELECT count(*) FROM rows)`)
	require.NoError(t, err)
	assert.Zero(t, total)
	assert.NotEmpty(t, files(t, filepath.Dir(path)))
}
