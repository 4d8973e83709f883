package backup_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/backup"
	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
)

// megabytes is the size of the databases that are copied: SANELITE_BENCH_MB, else small enough for a look in passing.
func megabytes(b *testing.B) int {
	value := os.Getenv("SANELITE_BENCH_MB")
	if value == "" {
		return 20
	}
	n, err := strconv.Atoi(value)
	require.NoError(b, err)
	return n
}

// large returns a database of that size, at rest but for those who use it.
func large(b *testing.B) *sqlitex.DB {
	b.Helper()
	db := dbtest.Open(b, nil, schema+`; DROP INDEX t_v; CREATE INDEX t_owner ON t (owner)`)
	const rowsPerMegabyte = 4400
	for range megabytes(b) {
		fill(b, db, rowsPerMegabyte)
	}
	_, err := db.Checkpoint(context.Background(), sqlitex.CheckpointTruncate)
	require.NoError(b, err)
	return db
}

// BenchmarkBackupUnderLoad copies a database while one writer goes flat out, a row each commit. kept-% is what the writer keeps of
// the speed that it had before, after-% what it has in the second after, when all that was written meanwhile is copied from the log
// into the database. For seconds of each, give SANELITE_BENCH_MB=350 or more.
func BenchmarkBackupUnderLoad(b *testing.B) {
	for name, way := range ways {
		b.Run(name, func(b *testing.B) {
			db := large(b)
			w := startWriter(b, db)
			path := beside(db, "copy")
			var alone, during, kept, after float64
			const second = time.Second
			for b.Loop() {
				time.Sleep(second) // for checkpoints that are still to come
				before := w.speed(func() { time.Sleep(second) })
				var result backup.Result
				beside := w.speed(func() {
					var err error
					result, err = way(context.Background(), db, path, &backup.Options{Overwrite: true, Verify: backup.VerifyOff})
					require.NoError(b, err)
				})
				alone, during, kept = alone+before, during+beside, kept+100*beside/before
				after += 100 * w.speed(func() { time.Sleep(second) }) / before
				b.ReportMetric(float64(result.Bytes)/1e6, "MB")
			}
			n := float64(b.N)
			b.ReportMetric(alone/n, "writes/s-alone")
			b.ReportMetric(during/n, "writes/s-during")
			b.ReportMetric(kept/n, "kept-%")
			b.ReportMetric(after/n, "after-%")
			b.ReportMetric(b.Elapsed().Seconds()/n-(3*second).Seconds(), "s/backup")
			w.stop()
			require.NoError(b, backup.Verify(context.Background(), path))
			require.LessOrEqual(b, rowsOf(b, path), count(b, db))
			require.NoError(b, db.Check(context.Background()))
		})
	}
}

// BenchmarkBackup copies a database at rest, without verification, beside cp and fsync of the same file: of-cp is how much of its
// speed is reached.
func BenchmarkBackup(b *testing.B) {
	for name, way := range ways {
		b.Run(name, func(b *testing.B) {
			db := large(b)
			path := beside(db, "copy")
			var ours, cp time.Duration
			var bytes int64
			for b.Loop() {
				start := time.Now()
				result, err := way(context.Background(), db, path, &backup.Options{Verify: backup.VerifyOff})
				require.NoError(b, err)
				ours += time.Since(start)
				bytes = result.Bytes

				start = time.Now()
				require.NoError(b, copyFile(path, path+".cp")) // not of the live file: closing that would drop its locks
				cp += time.Since(start)
				require.NoError(b, os.Remove(path+".cp"))
				require.NoError(b, os.Remove(path)) // deleting so much takes a while, too, and is not what is measured
			}
			b.ReportMetric(float64(bytes)/1e6*float64(b.N)/ours.Seconds(), "MB/s")
			b.ReportMetric(float64(bytes)/1e6*float64(b.N)/cp.Seconds(), "MB/s-cp")
			b.ReportMetric(cp.Seconds()/ours.Seconds(), "of-cp")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// copyFile is cp and fsync.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Sync()
}

// BenchmarkVerify checks a copy.
func BenchmarkVerify(b *testing.B) {
	db := large(b)
	path := filepath.Join(b.TempDir(), "copy")
	result, err := backup.To(context.Background(), db, path, &backup.Options{Verify: backup.VerifyOff})
	require.NoError(b, err)
	b.SetBytes(result.Bytes)
	for b.Loop() {
		require.NoError(b, backup.Verify(context.Background(), path))
	}
}

// A writer inserts rows, one each commit, until it is stopped.
type writer struct {
	written chan int64 // asked for the number of rows so far
	stop    func()
}

func startWriter(b testing.TB, db *sqlitex.DB) *writer {
	ctx, cancel := context.WithCancel(context.Background())
	w := &writer{written: make(chan int64)}
	done := make(chan error)
	go func() {
		var n int64
		for {
			select {
			case <-ctx.Done():
				done <- nil
				return
			case w.written <- n:
			default:
			}
			if _, err := db.Exec(ctx, `INSERT INTO t (v, owner) VALUES (?, 1)`, fmt.Sprintf("row %d of those that are written meanwhile", n)); err != nil && ctx.Err() == nil {
				done <- err
				return
			}
			n++
		}
	}()
	w.stop = func() {
		cancel()
		require.NoError(b, <-done)
	}
	return w
}

// speed returns the rows per second that are written while fn runs.
func (w *writer) speed(fn func()) float64 {
	start, before := time.Now(), <-w.written
	fn()
	return float64(<-w.written-before) / time.Since(start).Seconds()
}
