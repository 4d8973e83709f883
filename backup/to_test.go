package backup_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/backup"
	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// case B1: another process commits all the time.
func TestBackupEndsFromOneSnapshotHoweverMuchIsWritten(t *testing.T) {
	t.Parallel()
	db := open(t, 3000)
	stop := start(t, "commit", db.Path())
	before := count(t, db)
	path := beside(db, "copy")
	var seen []backup.Progress
	result, err := backup.To(t.Context(), db, path, &backup.Options{StepPages: 2, Progress: func(p backup.Progress) error {
		seen = append(seen, p)
		if len(seen) == 2 { // with commits of others in the middle of the copy, for sure
			now := count(t, db)
			eventually(t, func() bool { return count(t, db) > now+10 }, "the other process commits")
		}
		return nil
	}})
	require.NoError(t, err)
	after := count(t, db)
	stop()

	rows := rowsOf(t, path)
	assert.GreaterOrEqual(t, rows, before)
	assert.Less(t, rows, after, "the copy is of its beginning")
	require.Greater(t, len(seen), 100)
	for i, p := range seen[1:] {
		assert.Less(t, p.PagesLeft, seen[i].PagesLeft, "progress never goes back")
		assert.GreaterOrEqual(t, p.Elapsed, seen[i].Elapsed)
		assert.Equal(t, seen[0].PagesTotal, p.PagesTotal)
		assert.EqualValues(t, 4096*(p.PagesTotal-p.PagesLeft), p.BytesDone)
	}
	assert.Equal(t, seen[0].PagesTotal, seen[0].PagesLeft)
	assert.Zero(t, seen[len(seen)-1].PagesLeft)
	assert.Equal(t, seen[0].PagesTotal, result.Pages)
}

// case B1
func TestBackupEndsAtTheDeadline(t *testing.T) {
	t.Parallel()
	db := open(t, 3000)
	stop := start(t, "commit", db.Path())
	defer stop()
	path := beside(db, "copy")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := backup.To(ctx, db, path, &backup.Options{StepPages: 1, Pause: 10 * time.Millisecond})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	nothing(t, path)
}

// case B1: the same for the compact copy, whose one statement runs while others commit.
func TestVacuumIntoIsOneSnapshotHoweverMuchIsWritten(t *testing.T) {
	t.Parallel()
	db := open(t, 3000)
	stop := start(t, "commit", db.Path())
	path := beside(db, "copy")
	for range 3 {
		before := count(t, db)
		_, err := backup.VacuumInto(t.Context(), db, path, &backup.Options{Overwrite: true})
		require.NoError(t, err)
		rows := rowsOf(t, path)
		assert.GreaterOrEqual(t, rows, before)
		assert.LessOrEqual(t, rows, count(t, db))
	}
	stop()
}

func TestWritersGoOnDuringABackupAndNoCheckpointIsTried(t *testing.T) {
	eachWay(t, func(t *testing.T, way way) {
		db := open(t, 3000)
		eventually(t, func() bool { return db.Stats().WAL.Pages == db.Stats().WAL.Copied || db.Stats().WAL.Pages < 1000 }, "at rest")
		var before int64
		_, err := way(t.Context(), db, beside(db, "copy"), &backup.Options{Progress: func(p backup.Progress) error {
			switch p.PagesLeft {
			case p.PagesTotal:
				before = checkpoints(db)
				for range 5 {
					fill(t, db, 2000)
				}
				require.Greater(t, db.Stats().WAL.Pages, 2000, "a checkpoint is due")
			case 0:
				assert.Equal(t, before, checkpoints(db))
			}
			return nil
		}})
		require.NoError(t, err)
		fill(t, db, 1)
		eventually(t, func() bool { return checkpoints(db) > before }, "checkpoints begin again")
	})
}

func checkpoints(db *sqlitex.DB) int64 {
	s := db.Stats().WAL
	return s.Passive + s.Restarts + s.Blocked
}

func TestStepsAndSpeed(t *testing.T) {
	t.Parallel()
	db := open(t, 1000)
	size := int64(0)
	steps := func(o backup.Options) (n int, took time.Duration) {
		o.Overwrite, o.Verify = true, backup.VerifyQuick
		o.Progress = func(backup.Progress) error {
			n++
			return nil
		}
		start := time.Now()
		result, err := backup.To(t.Context(), db, beside(db, "copy"), &o)
		require.NoError(t, err)
		size = result.Bytes
		assert.Equal(t, backup.VerifyQuick, result.Verified)
		return n - 1, time.Since(start)
	}
	n, _ := steps(backup.Options{StepPages: -1})
	assert.Equal(t, 1, n, "all in one")
	n, _ = steps(backup.Options{})
	assert.EqualValues(t, (size+1<<20-1)>>20, n, "1 MiB")
	n, _ = steps(backup.Options{StepPages: 1})
	assert.EqualValues(t, size/4096, n)
	n, took := steps(backup.Options{StepPages: 20, Pause: 5 * time.Millisecond})
	assert.EqualValues(t, (size/4096+19)/20, n)
	assert.GreaterOrEqual(t, took, time.Duration(n-1)*5*time.Millisecond)
	n, took = steps(backup.Options{StepPages: -1, BytesPerSecond: 2 * size})
	assert.GreaterOrEqual(t, n, 5, "steps become small enough")
	assert.GreaterOrEqual(t, took, 350*time.Millisecond)
}

func TestOptionsThatMakeNoSenseAreErrors(t *testing.T) {
	t.Parallel()
	db := open(t, 1)
	for _, o := range []backup.Options{{Verify: -1}, {Verify: 3}, {Pause: -1}, {BytesPerSecond: -1}} {
		_, err := backup.To(t.Context(), db, beside(db, "copy"), &o)
		require.Error(t, err)
		_, err = backup.Write(t.Context(), db, nil, &o)
		require.Error(t, err)
		_, err = backup.Restore(t.Context(), db, db.Path(), &o)
		require.Error(t, err)
		_, err = backup.RestoreFile(t.Context(), db.Path(), db.Path(), &o)
		require.Error(t, err)
	}
	nothing(t, beside(db, "copy"))
	assert.Equal(t, "full quick off Verification(7)", fmt.Sprint(backup.VerifyFull, backup.VerifyQuick, backup.VerifyOff, backup.Verification(7)))
}

func TestSchemaThatNeedsFunctionsOfTheProgramIsVerifiedWithSetup(t *testing.T) {
	eachWay(t, func(t *testing.T, way way) {
		setup := func(_ context.Context, c *sqlite.Conn) error {
			return c.SetCollation("backwards", func(a, b string) int { return -len(a) + len(b) })
		}
		db := dbtest.Open(t, &sqlitex.Options{Setup: setup}, schema+`; CREATE TABLE c (v TEXT COLLATE backwards UNIQUE)`)
		_, err := db.Exec(t.Context(), `INSERT INTO c VALUES ('a'), ('bb')`)
		require.NoError(t, err)
		_, err = way(t.Context(), db, beside(db, "copy"), nil)
		require.ErrorContains(t, err, "backwards")
		nothing(t, beside(db, "copy"))
		_, err = way(t.Context(), db, beside(db, "copy"), &backup.Options{Setup: setup})
		require.NoError(t, err)

		failed := errors.New("no")
		_, err = way(t.Context(), db, beside(db, "other"), &backup.Options{Setup: func(context.Context, *sqlite.Conn) error { return failed }})
		require.ErrorIs(t, err, failed)
		nothing(t, beside(db, "other"))

		_, err = db.Exec(t.Context(), `DROP TABLE c`) // the cleanup has no collation
		require.NoError(t, err)
	})
}

// case P9: a backup is no statement, and ends all the same.
func TestClosingTheHandleEndsABackup(t *testing.T) {
	t.Parallel()
	db := open(t, 3000)
	under, done := make(chan struct{}), make(chan error, 1)
	go func() {
		first := true
		_, err := backup.To(context.Background(), db, beside(db, "copy"), &backup.Options{StepPages: 1, Pause: 10 * time.Millisecond, Progress: func(backup.Progress) error {
			if first {
				close(under)
				first = false
			}
			return nil
		}})
		done <- err
	}()
	<-under
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.NoError(t, db.CloseContext(ctx))
	require.ErrorIs(t, <-done, tx.ErrClosed)
	nothing(t, beside(db, "copy"))
}
