package backup_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/backup"
)

type writeFunc func(p []byte) (int, error)

func (f writeFunc) Write(p []byte) (int, error) { return f(p) }

func TestWriteStreamsACheckedCopy(t *testing.T) {
	t.Parallel()
	db := open(t, 2000)
	temp := t.TempDir()
	var out bytes.Buffer
	result, err := backup.Write(t.Context(), db, &out, &backup.Options{TempDir: temp})
	require.NoError(t, err)
	assert.EqualValues(t, out.Len(), result.Bytes)
	assert.Equal(t, backup.VerifyFull, result.Verified)
	assert.Equal(t, 2000, rowsIn(t, out.Bytes()))
	assert.Empty(t, files(t, filepath.Join(temp, "x")))

	out.Reset()
	_, err = backup.Write(t.Context(), db, &out, nil)
	require.NoError(t, err)
	assert.Equal(t, 2000, rowsIn(t, out.Bytes()))
}

func TestWriteHoldsNoSnapshotWhileItStreams(t *testing.T) {
	t.Parallel()
	db := open(t, 2000)
	_, err := backup.Write(t.Context(), db, writeFunc(func(p []byte) (int, error) {
		assert.Zero(t, db.Stats().Readers.InUse)
		return len(p), nil
	}), nil)
	require.NoError(t, err)
}

func TestWriteSendsNothingOfACopyThatIsNotGood(t *testing.T) {
	t.Parallel()
	db := open(t, 2000)
	c := rawConn(t, db.Path())
	runOn(t, c, `PRAGMA foreign_keys = 0`, `UPDATE t SET owner = 99 WHERE id = 7`)
	require.NoError(t, c.Close())
	temp := t.TempDir()
	var out bytes.Buffer
	_, err := backup.Write(t.Context(), db, &out, &backup.Options{TempDir: temp})
	found := new(backup.CheckError)
	require.ErrorAs(t, err, &found)
	assert.Zero(t, out.Len())
	assert.Empty(t, files(t, filepath.Join(temp, "x")))
	_, err = db.Exec(t.Context(), `UPDATE t SET owner = 1 WHERE id = 7`) // for the cleanup
	require.NoError(t, err)
}

func TestWriteEndsWithAnErrorOfTheWriterOrTheContext(t *testing.T) {
	t.Parallel()
	db := open(t, 20000)
	temp := t.TempDir()
	gone := errors.New("client is gone")
	_, err := backup.Write(t.Context(), db, writeFunc(func([]byte) (int, error) { return 0, gone }), &backup.Options{TempDir: temp})
	require.ErrorIs(t, err, gone)
	_, err = backup.Write(t.Context(), db, writeFunc(func(p []byte) (int, error) { return len(p) / 2, nil }), &backup.Options{TempDir: temp})
	require.ErrorIs(t, err, io.ErrShortWrite)

	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	_, err = backup.Write(ctx, db, writeFunc(func(p []byte) (int, error) {
		calls++
		cancel()
		return len(p), nil
	}), &backup.Options{TempDir: temp})
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 1, calls)
	_, err = backup.Write(ctx, db, io.Discard, nil)
	require.ErrorIs(t, err, context.Canceled)
	assert.PanicsWithValue(t, "oh", func() {
		_, _ = backup.Write(t.Context(), db, writeFunc(func([]byte) (int, error) { panic("oh") }), &backup.Options{TempDir: temp})
	})
	assert.Empty(t, files(t, filepath.Join(temp, "x")))
	_, err = backup.Write(t.Context(), db, io.Discard, &backup.Options{TempDir: filepath.Join(temp, "missing")})
	require.Error(t, err)
}
