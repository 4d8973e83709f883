package backup_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/backup"
	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/pragma"
	"github.com/sanelite/sanelite/sqlitex"
)

type way = func(context.Context, backup.Source, string, *backup.Options) (backup.Result, error)

// case B2: what is in the log only is in the copy too.
func TestCopyHoldsWhatWasCommittedAndNotYetCheckpointed(t *testing.T) {
	eachWay(t, func(t *testing.T, way way) {
		db := dbtest.Open(t, &sqlitex.Options{Checkpoints: sqlitex.CheckpointsManual}, schema)
		fill(t, db, 1234)
		path := beside(db, "copy")
		result, err := way(t.Context(), db, path, nil)
		require.NoError(t, err)

		assert.Equal(t, 1234, rowsOf(t, path))
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, info.Size(), result.Bytes)
		assert.EqualValues(t, info.Size()/4096, result.Pages)
		assert.Equal(t, backup.VerifyFull, result.Verified)
		assert.Positive(t, result.Duration)
		assert.Equal(t, []string{"copy", "test.db"}, files(t, path), "one file, and nothing temporary")
		require.NoError(t, backup.Verify(t.Context(), path))
		assert.Equal(t, []string{"copy", "test.db"}, files(t, path))
	})
}

func TestCopyOpensAsTheSourceDid(t *testing.T) {
	eachWay(t, func(t *testing.T, way way) {
		for _, mode := range []pragma.JournalMode{pragma.JournalWAL, pragma.JournalDelete, pragma.JournalTruncate} {
			db := dbtest.Open(t, &sqlitex.Options{Pragmas: pragma.Config{JournalMode: mode}}, schema)
			fill(t, db, 10)
			path := beside(db, "copy")
			_, err := way(t.Context(), db, path, nil)
			require.NoError(t, err)
			want := "delete" // the kind of journal is a matter of the connection
			if mode == pragma.JournalWAL {
				want = "wal"
			}
			assert.Equal(t, want, ask(t, rawConn(t, path), `PRAGMA journal_mode`))
		}
	})
}

func TestCopyIsSmallerWhereVacuumed(t *testing.T) {
	t.Parallel()
	db := open(t, 5000)
	_, err := db.Exec(t.Context(), `DELETE FROM t WHERE id > 100`)
	require.NoError(t, err)
	whole, err := backup.To(t.Context(), db, beside(db, "whole"), nil)
	require.NoError(t, err)
	compact, err := backup.VacuumInto(t.Context(), db, beside(db, "compact"), nil)
	require.NoError(t, err)
	assert.Less(t, compact.Bytes, whole.Bytes/4)
	assert.Equal(t, 100, rowsOf(t, beside(db, "whole")))
	assert.Equal(t, 100, rowsOf(t, beside(db, "compact")))
}

func TestDatabasesOfEveryKindCanBeCopied(t *testing.T) {
	kinds := map[string]*sqlitex.Options{
		"pages of 512 bytes": {Pragmas: pragma.Config{PageSize: 512}},
		"pages of 64 KiB":    {Pragmas: pragma.Config{PageSize: 65536}},
		"auto_vacuum":        {Pragmas: pragma.Config{AutoVacuum: pragma.AutoVacuumFull}},
		"UTF-16": {Setup: func(_ context.Context, c *sqlite.Conn) error {
			s, _, err := c.PrepareTransient(`PRAGMA encoding = 'UTF-16le'`)
			if err != nil {
				return err
			}
			_, err = s.Step()
			return errors.Join(err, s.Finalize())
		}},
	}
	eachWay(t, func(t *testing.T, way way) {
		for name, o := range kinds {
			db := dbtest.Open(t, o, schema)
			fill(t, db, 2000)
			path := beside(db, "copy")
			_, err := way(t.Context(), db, path, nil)
			require.NoError(t, err, name)
			assert.Equal(t, 2000, rowsOf(t, path), name)
		}
	})
}

func TestEmptyDatabaseBecomesAnEmptyDatabase(t *testing.T) {
	eachWay(t, func(t *testing.T, way way) {
		db := dbtest.Open(t, nil, "")
		path := beside(db, "copy")
		result, err := way(t.Context(), db, path, nil)
		require.NoError(t, err)
		assert.Equal(t, 1, result.Pages)
		require.NoError(t, backup.Verify(t.Context(), path))
	})
}

// case O7
func TestMemoryDatabaseCanBeCopiedAndGoesOn(t *testing.T) {
	eachWay(t, func(t *testing.T, way way) {
		db := dbtest.OpenAt(t, ":memory:", nil, schema)
		fill(t, db, 500)
		path := filepath.Join(t.TempDir(), "copy")
		_, err := way(t.Context(), db, path, nil)
		require.NoError(t, err)
		assert.Equal(t, 500, rowsOf(t, path))
		fill(t, db, 1)
		assert.Equal(t, 501, count(t, db))
	})
}

func TestPathOfTheCopyIsTakenLiterally(t *testing.T) {
	eachWay(t, func(t *testing.T, way way) {
		db := open(t, 10)
		for _, name := range []string{"a#b", "a?mode=memory", "a%41", "a b", "file:a", ":memory:", `quo"te'`, "a;b", "ü漢", "a\x80", "-wal", "x-journal"} {
			path := beside(db, name)
			_, err := way(t.Context(), db, path, nil)
			require.NoError(t, err, "%q", name)
			assert.Equal(t, 10, rowsOf(t, path), "%q", name)
			require.NoError(t, backup.Verify(t.Context(), path), "%q", name)
		}
	})
}

func TestCopyHasThePermissionsOfTheSource(t *testing.T) {
	eachWay(t, func(t *testing.T, way way) {
		for _, mode := range []os.FileMode{0o600, 0o640, 0o666} {
			db := dbtest.Open(t, &sqlitex.Options{FileMode: mode}, schema)
			_, err := way(t.Context(), db, beside(db, "copy"), &backup.Options{Progress: func(backup.Progress) error {
				for _, path := range leftovers(t, db.Path()) {
					info, err := os.Stat(path)
					require.NoError(t, err)
					assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "while it is not complete")
				}
				return nil
			}})
			require.NoError(t, err)
			info, err := os.Stat(beside(db, "copy"))
			require.NoError(t, err)
			assert.Equal(t, mode, info.Mode().Perm())
		}
	})
}

// A heldSource tells when checkpoints may begin again.
type heldSource struct {
	*sqlitex.DB
	resumed func()
}

func (s *heldSource) HoldCheckpoints() (resume func()) {
	end := s.DB.HoldCheckpoints()
	return sync.OnceFunc(func() {
		s.resumed()
		end()
	})
}

// A checkpoint beside the flush of a copy, or the freeing of the one before, holds commits up for as long as those take.
func TestNoCheckpointBeginsUntilTheCopyIsInItsPlaceOrBeingVerified(t *testing.T) {
	eachWay(t, func(t *testing.T, way way) {
		db := open(t, 100)
		path := beside(db, "copy")
		placed := map[backup.Verification]bool{backup.VerifyOff: true, backup.VerifyFull: false}
		for verify, want := range placed {
			_ = os.Remove(path)
			resumed := 0
			src := &heldSource{db, func() {
				resumed++
				_, err := os.Stat(path)
				assert.Equal(t, want, err == nil, verify)
			}}
			_, err := way(t.Context(), src, path, &backup.Options{Verify: verify})
			require.NoError(t, err)
			assert.Equal(t, 1, resumed)
		}
	})
}
