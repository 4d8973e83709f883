package backup_test

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/backup"
	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/pragma"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// case O8: whatever a call opens and closes, this process keeps its locks on the live file.
func TestNoCallDropsTheLocksOfTheProcess(t *testing.T) {
	t.Parallel()
	const write = `INSERT INTO t (v) VALUES ('from outside')`
	for name, mode := range map[string]pragma.JournalMode{
		"WAL": pragma.JournalWAL, "rollback journal": pragma.JournalDelete, "journal in memory": pragma.JournalMemory, "no journal": pragma.JournalOff,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other := copied(t, 10)
			db := dbtest.Open(t, &sqlitex.Options{Pragmas: pragma.Config{JournalMode: mode}}, schema)
			err := db.Write(t.Context(), func(w *tx.Writer) error {
				if _, err := w.Exec(`INSERT INTO t (v) VALUES ('mine')`); err != nil {
					return err
				}
				path := filepath.Join(t.TempDir(), "copy")
				for call, fn := range map[string]func() error{
					"To":         func() error { _, err := backup.To(t.Context(), db, path, nil); return err },
					"VacuumInto": func() error { _, err := backup.VacuumInto(t.Context(), db, path+"2", nil); return err },
					"Write":      func() error { _, err := backup.Write(t.Context(), db, io.Discard, nil); return err },
					"Verify":     func() error { return backup.Verify(t.Context(), db.Path()) },
					"To itself": func() error {
						_, err := backup.To(t.Context(), db, db.Path(), &backup.Options{Overwrite: true})
						assert.ErrorIs(t, err, backup.ErrSame)
						return nil
					},
					"To over the live file": func() error {
						from, err := sqlitex.Open(t.Context(), other, nil)
						require.NoError(t, err)
						defer func() { assert.NoError(t, from.Close()) }()
						_, err = backup.To(t.Context(), from, db.Path(), &backup.Options{Overwrite: true})
						assert.ErrorIs(t, err, backup.ErrInUse)
						return nil
					},
					"RestoreFile over the live file": func() error {
						_, err := backup.RestoreFile(t.Context(), other, db.Path(), nil)
						assert.ErrorIs(t, err, backup.ErrInUse)
						return nil
					},
					"RestoreFile from the live file": func() error {
						_, err := backup.RestoreFile(t.Context(), db.Path(), path+"3", nil)
						return err
					},
					"Restore from the live file": func() error {
						_, err := backup.Restore(t.Context(), db, db.Path(), nil)
						assert.ErrorIs(t, err, backup.ErrSame)
						return nil
					},
				} {
					assert.NoError(t, fn(), call)
					assert.Equal(t, busyCode, try(t, db.Path(), write), "after %s", call)
				}
				return nil
			})
			require.NoError(t, err)
			assert.Equal(t, 1, count(t, db))
			assert.Equal(t, "SQLITE_OK", try(t, db.Path(), write))
		})
	}
}
