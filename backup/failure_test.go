package backup_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/backup"
	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
)

// failing runs one kind of failure with and without a file at the destination, which must be as it was, and makes sure that the database is
// usable afterwards.
func failing(t *testing.T, test func(t *testing.T, way way, db *sqlitex.DB, path string, overwrite bool)) {
	eachWay(t, func(t *testing.T, way way) {
		db := open(t, 2000)
		path := beside(db, "copy")
		test(t, way, db, path, false)
		nothing(t, path)

		require.NoError(t, os.WriteFile(path, []byte("old"), 0o644))
		test(t, way, db, path, true)
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, "old", string(content))
		assert.Empty(t, leftovers(t, path))

		fill(t, db, 1)
		assert.Equal(t, 2001, count(t, db))
		stats := db.Stats()
		assert.Zero(t, stats.Readers.InUse)
		_, err = way(t.Context(), db, path, &backup.Options{Overwrite: true})
		require.NoError(t, err)
		assert.Equal(t, 2001, rowsOf(t, path))
	})
}

func TestContextThatIsDoneOnEntryDoesNothing(t *testing.T) {
	failing(t, func(t *testing.T, way way, db *sqlitex.DB, path string, overwrite bool) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := way(ctx, db, path, &backup.Options{Overwrite: overwrite, Progress: func(backup.Progress) error {
			t.Error("called")
			return nil
		}})
		require.ErrorIs(t, err, context.Canceled)
	})
}

// case B2: cancelled half-way
func TestCancelledBackupLeavesNothing(t *testing.T) {
	failing(t, func(t *testing.T, way way, db *sqlitex.DB, path string, overwrite bool) {
		for _, at := range []float64{1, 0.5, 0} { // at the beginning, half-way, before the verification
			ctx, cancel := context.WithCancel(t.Context())
			_, err := way(ctx, db, path, &backup.Options{Overwrite: overwrite, StepPages: 7, Progress: func(p backup.Progress) error {
				if float64(p.PagesLeft) <= at*float64(p.PagesTotal) {
					cancel()
				}
				return nil
			}})
			require.ErrorIs(t, err, context.Canceled, at)
		}
	})
}

func TestErrorOfProgressEndsTheBackup(t *testing.T) {
	enough := errors.New("enough")
	failing(t, func(t *testing.T, way way, db *sqlitex.DB, path string, overwrite bool) {
		for _, at := range []float64{1, 0.5, 0} {
			_, err := way(t.Context(), db, path, &backup.Options{Overwrite: overwrite, StepPages: 7, Progress: func(p backup.Progress) error {
				if float64(p.PagesLeft) <= at*float64(p.PagesTotal) {
					return enough
				}
				return nil
			}})
			require.ErrorIs(t, err, enough, at)
		}
	})
}

func TestPanicInProgressPassesThroughAndLeavesNothing(t *testing.T) {
	failing(t, func(t *testing.T, way way, db *sqlitex.DB, path string, overwrite bool) {
		for _, last := range []bool{false, true} {
			assert.PanicsWithValue(t, "oh", func() {
				_, _ = way(t.Context(), db, path, &backup.Options{Overwrite: overwrite, StepPages: 7, Progress: func(p backup.Progress) error {
					if !last || p.PagesLeft == 0 {
						panic("oh")
					}
					return nil
				}})
			})
		}
	})
}

func TestGoexitInProgressLeavesNothing(t *testing.T) {
	failing(t, func(t *testing.T, way way, db *sqlitex.DB, path string, overwrite bool) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = way(t.Context(), db, path, &backup.Options{Overwrite: overwrite, Progress: func(backup.Progress) error {
				runtime.Goexit()
				return nil
			}})
		}()
		<-done
	})
}

// case B2: the disk is full
func TestFullDiskLeavesNothing(t *testing.T) {
	t.Parallel()
	for name := range ways {
		for _, exists := range []bool{false, true} {
			db := open(t, 2000)
			path := beside(db, "copy")
			require.NoError(t, db.Close())
			if exists {
				require.NoError(t, os.WriteFile(path, []byte("old"), 0o644))
			}
			out, err := dbtest.Command(t, "full", db.Path(), path, name).Output()
			require.NoError(t, err)
			assert.True(t, strings.HasPrefix(string(out), "true "), "%s", out)
			if exists {
				content, err := os.ReadFile(path)
				require.NoError(t, err)
				assert.Equal(t, "old", string(content))
				assert.Empty(t, leftovers(t, path))
			} else {
				nothing(t, path)
			}
		}
	}
}

// A process that is killed cannot clean up: what it leaves is recognisable, and not at the destination.
func TestKilledBackupLeavesNothingButARecognisableFile(t *testing.T) {
	t.Parallel()
	db := open(t, 2000)
	path := filepath.Join(t.TempDir(), "copy")
	for range 3 {
		cmd, _ := ready(t, "stuck", db.Path(), path)
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait())
	}
	_, err := os.Lstat(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	left := leftovers(t, path)
	assert.Len(t, left, 3)
	assert.Len(t, files(t, path), 3, "nothing else")

	fill(t, db, 1) // its locks are gone, too
	_, err = backup.To(t.Context(), db, path, nil)
	require.NoError(t, err)
	assert.Equal(t, 2001, rowsOf(t, path))
	assert.Equal(t, left, leftovers(t, path), "they may be of another process that still runs")
}
