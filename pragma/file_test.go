package pragma_test

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/sanelite/sanelite/internal/sqlerr"
	"github.com/sanelite/sanelite/pragma"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
)

// case O4
func TestMemoryDatabaseHasNoWAL(t *testing.T) {
	t.Parallel()
	c := open(t, ":memory:")
	err := pragma.Apply(c, pragma.Config{})
	require.ErrorIs(t, err, sqlerr.ErrWALUnavailable)
	assert.EqualError(t, err, "pragma journal_mode: wanted wal, got memory")

	require.NoError(t, pragma.Apply(c, pragma.Config{JournalMode: pragma.JournalMemory}))
	got, err := pragma.Read(c)
	require.NoError(t, err)
	assert.Equal(t, pragma.JournalMemory, got.JournalMode)
}

// case O4
func TestWALIsUnavailableWhileAnotherConnectionHoldsALock(t *testing.T) {
	t.Parallel()
	for _, lock := range []string{"BEGIN; SELECT x FROM t", "BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"} {
		t.Run(lock, func(t *testing.T) {
			t.Parallel()
			path := newFile(t)
			other := open(t, path)
			get(t, other, "CREATE TABLE t (x)")
			if lock == "BEGIN; SELECT x FROM t" {
				get(t, other, "BEGIN")
				get(t, other, "SELECT x FROM t")
			} else {
				get(t, other, lock)
			}

			c := open(t, path)
			start := time.Now()
			err := pragma.Apply(c, pragma.Config{BusyTimeout: 200 * time.Millisecond})
			waited := time.Since(start)
			require.ErrorIs(t, err, sqlerr.ErrBusy)
			assert.GreaterOrEqual(t, waited, 200*time.Millisecond, "waits for the lock")
			assert.Less(t, waited, 2*time.Second, "but not much longer")
			if lock != "BEGIN EXCLUSIVE" { // which bars even a look at the file
				require.ErrorIs(t, err, sqlerr.ErrWALUnavailable)
				assert.ErrorContains(t, err, "wanted wal, got delete")
			}

			get(t, other, "ROLLBACK")
			require.NoError(t, pragma.Apply(c, pragma.Config{}), "once the lock is gone")
			got, err := pragma.Read(other)
			require.NoError(t, err)
			assert.Equal(t, pragma.JournalWAL, got.JournalMode, "seen by the other connection too")
		})
	}
}

func TestApplyWaitsForTheLockOfAnotherConnection(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	other := open(t, path)
	get(t, other, "CREATE TABLE t (x)")
	get(t, other, "BEGIN IMMEDIATE")

	c := open(t, path)
	applied := make(chan error)
	go func() { applied <- pragma.Apply(c, pragma.Config{}) }()
	select {
	case err := <-applied:
		require.Fail(t, "did not wait", "%v", err)
	case <-time.After(50 * time.Millisecond):
	}
	get(t, other, "ROLLBACK")
	require.NoError(t, <-applied)
	assert.Equal(t, "5000", get(t, c, "PRAGMA busy_timeout"))
}

func TestApplyStopsWaitingWhenInterrupted(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	other := open(t, path)
	get(t, other, "CREATE TABLE t (x)")
	get(t, other, "BEGIN IMMEDIATE")

	c := open(t, path)
	interrupt := make(chan struct{})
	c.SetInterrupt(interrupt)
	time.AfterFunc(20*time.Millisecond, func() { close(interrupt) })
	err := pragma.Apply(c, pragma.Config{BusyTimeout: time.Hour})
	assert.ErrorIs(t, err, sqlerr.ErrInterrupted)
	c.SetInterrupt(nil)
}

// SQLite answers SQLITE_BUSY at once, without waiting, to one of several connections that switch a new database to WAL.
func TestManyConnectionsMayCreateOneDatabaseAtOnce(t *testing.T) {
	t.Parallel()
	for round := range 40 {
		path := newFile(t)
		errs := make([]error, 8)
		var all sync.WaitGroup
		for i := range errs {
			c := open(t, path)
			all.Go(func() { errs[i] = pragma.Apply(c, pragma.Config{PageSize: 8192, AutoVacuum: pragma.AutoVacuumFull}) })
		}
		all.Wait()
		for _, err := range errs {
			require.NoError(t, err, "round %d", round)
		}
	}
}

// case O5
func TestPageSizeAndAutoVacuumHoldTogetherWithWAL(t *testing.T) {
	t.Parallel()
	for _, pageSize := range []pragma.Size{512, 1024, 4096, 8192, 65536} {
		for _, vacuum := range []pragma.AutoVacuum{pragma.AutoVacuumNone, pragma.AutoVacuumFull, pragma.AutoVacuumIncremental} {
			for _, zeroBytes := range []bool{false, true} {
				t.Run(fmt.Sprintf("%v, %v, zero-byte file %v", pageSize, vacuum, zeroBytes), func(t *testing.T) {
					t.Parallel()
					path := newFile(t)
					if zeroBytes {
						require.NoError(t, os.WriteFile(path, nil, 0o600))
					}
					cfg := pragma.Config{PageSize: pageSize, AutoVacuum: vacuum}
					first, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
					require.NoError(t, err)
					require.NoError(t, pragma.Apply(first, cfg))
					require.NoError(t, first.Close())

					again := open(t, path)
					got, err := pragma.Read(again)
					require.NoError(t, err)
					assert.Equal(t, pageSize, got.PageSize)
					assert.Equal(t, vacuum, got.AutoVacuum)
					assert.Equal(t, pragma.JournalWAL, got.JournalMode)
					assert.NoError(t, pragma.Apply(again, cfg), "asking for what is there")
				})
			}
		}
	}
}

// case O5
func TestExistingDatabaseKeepsItsPageSizeAndAutoVacuum(t *testing.T) {
	t.Parallel()
	for _, mode := range []pragma.JournalMode{pragma.JournalWAL, pragma.JournalDelete} {
		for _, test := range []struct {
			name string
			cfg  pragma.Config
			want string
		}{
			{"page size", pragma.Config{PageSize: 8192}, "pragma page_size: wanted 8192, got 4096"},
			{"auto vacuum full", pragma.Config{AutoVacuum: pragma.AutoVacuumFull}, "pragma auto_vacuum: wanted 1, got 0"},
			{"auto vacuum incremental", pragma.Config{AutoVacuum: pragma.AutoVacuumIncremental}, "pragma auto_vacuum: wanted 2, got 0"},
		} {
			t.Run(fmt.Sprintf("%s of a database in mode %s", test.name, mode), func(t *testing.T) {
				t.Parallel()
				path := newFile(t)
				first, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
				require.NoError(t, err)
				require.NoError(t, pragma.Apply(first, pragma.Config{JournalMode: mode}))
				get(t, first, "CREATE TABLE t (x)")
				require.NoError(t, first.Close())

				err = pragma.Apply(open(t, path), test.cfg)
				mismatch := new(pragma.MismatchError)
				require.ErrorAs(t, err, &mismatch)
				assert.EqualError(t, err, test.want)
			})
		}
	}
}

func TestAutoVacuumSwitchesBetweenFullAndIncremental(t *testing.T) {
	t.Parallel()
	c := open(t, newFile(t))
	for _, vacuum := range []pragma.AutoVacuum{pragma.AutoVacuumFull, pragma.AutoVacuumIncremental, pragma.AutoVacuumFull} {
		require.NoError(t, pragma.Apply(c, pragma.Config{AutoVacuum: vacuum}))
	}
	err := pragma.Apply(c, pragma.Config{AutoVacuum: pragma.AutoVacuumNone})
	assert.EqualError(t, err, "pragma auto_vacuum: wanted 0, got 1")
}

func TestApplyDoesNotTakeATextFileForADatabase(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	text := make([]byte, 4096)
	copy(text, "Dear diary, today I was opened as a database.")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	assert.ErrorIs(t, pragma.Apply(open(t, path), pragma.Config{}), sqlerr.ErrNotADatabase)
	assert.ErrorIs(t, pragma.ApplyReader(open(t, path, sqlite.OpenReadOnly), pragma.Config{}), sqlerr.ErrNotADatabase)
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, text, after)
}

func TestWALDatabaseReturnsToARollbackJournal(t *testing.T) {
	t.Parallel()
	c := open(t, newFile(t))
	require.NoError(t, pragma.Apply(c, pragma.Config{}))
	require.NoError(t, pragma.Apply(c, pragma.RollbackFull()))
	assert.Equal(t, "delete", get(t, c, "PRAGMA journal_mode"))
}
