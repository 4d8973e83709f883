package backup_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/backup"
	"github.com/sanelite/sanelite/tx"
)

// case B2: a disk that is full, where a file system can be mounted to be it.
func TestFullFileSystemIsErrFullAndLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=128k"); err != nil {
		t.Skipf("no tmpfs can be mounted: %v", err)
	}
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(dir, 0)) })
	db := open(t, 2000)
	for name, way := range ways {
		path := filepath.Join(dir, "copy")
		_, err := way(t.Context(), db, path, nil)
		require.ErrorIs(t, err, tx.ErrFull, name)
		assert.Empty(t, files(t, path))
	}
	_, err := backup.Write(t.Context(), db, &os.File{}, &backup.Options{TempDir: dir})
	require.ErrorIs(t, err, tx.ErrFull)
	_, err = backup.RestoreFile(t.Context(), db.Path(), filepath.Join(dir, "restored"), nil)
	require.ErrorIs(t, err, tx.ErrFull)
	assert.Empty(t, files(t, filepath.Join(dir, "x")))
}
