package apps

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
)

func TestWhatNobodyUsesIsClosed(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, Options{})
	now := time.Now()
	r.now = func() time.Time { return now }
	create(t, r, "a", "b", "c")
	letGo := hold(t, r, "b")
	now = now.Add(time.Minute)
	_, err := add(t.Context(), r, "c")
	require.NoError(t, err)
	assert.Equal(t, 1, r.sweep(now.Add(-time.Minute)))
	assert.Equal(t, []string{"b", "c"}, r.openNames(), "b is in use, c was")
	letGo()
	assert.Equal(t, 0, r.sweep(now.Add(-time.Minute)))
	assert.Equal(t, 2, r.sweep(now))
	assert.Empty(t, dbtest.OpenFiles(r.dir))
	assert.Equal(t, Counters{Opens: 3, Closes: 3}, r.Stats().Counters)
	_, err = add(t.Context(), r, "a")
	require.NoError(t, err, "it opens again")
}

func TestTheJanitorClosesWhatIsIdle(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, Options{Idle: time.Millisecond})
	create(t, r, "a", "b")
	until(t, "they are closed", func() bool { return r.Stats().Open == 0 })
	_, err := add(t.Context(), r, "a")
	require.NoError(t, err)
}

func TestCloseWaitsForWhoUsesADatabase(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, Options{MaxOpen: 2})
	create(t, r, "a", "b", "c")
	letGoA, letGoB := hold(t, r, "a"), hold(t, r, "b")
	waits := inBackground(func() error { return r.Use(context.Background(), "c", nil) })
	until(t, "c waits", func() bool { return r.Stats().Waiting == 1 })
	closed := inBackground(func() error { return r.Close(context.Background()) })
	again := inBackground(func() error { return r.Close(context.Background()) })
	require.ErrorIs(t, <-waits, ErrClosed)
	_, err := add(t.Context(), r, "a")
	require.ErrorIs(t, err, ErrClosed)
	_, err = r.Create(t.Context(), "d")
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, r.Delete(t.Context(), "c"), ErrClosed)
	require.ErrorIs(t, r.Check(), ErrClosed)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, r.Close(ctx), "who waits for the first Close has a bound, too")
	letGoA()
	select {
	case <-closed:
		assert.Fail(t, "b is still in use")
	default:
	}
	letGoB()
	require.NoError(t, <-closed)
	require.NoError(t, <-again)
	assert.Empty(t, dbtest.OpenFiles(r.dir))
}

func TestCloseInterruptsWhatRunsWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, Options{})
	create(t, r, "a", "b")
	began := make(chan struct{})
	runs := inBackground(func() error {
		return r.Use(context.Background(), "a", func(db *sqlitex.DB) error {
			close(began)
			_, err := sqlitex.One[int](context.Background(), db,
				`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n`)
			return err
		})
	})
	<-began
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, r.Close(ctx), context.DeadlineExceeded)
	require.ErrorIs(t, <-runs, sqlitex.ErrClosed)
	until(t, "all files are closed", func() bool { return len(dbtest.OpenFiles(r.dir)) == 0 })
}

func TestDeleteWaitsForWhoUsesTheApp(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, Options{MaxOpen: 2})
	create(t, r, "a", "b")
	for range 3 {
		_, err := add(t.Context(), r, "a")
		require.NoError(t, err)
	}
	letGo := hold(t, r, "a")
	deleted := inBackground(func() error { return r.Delete(context.Background(), "a") })
	until(t, "it is being deleted", func() bool { _, err := add(t.Context(), r, "a"); return err != nil })
	_, err := add(t.Context(), r, "a")
	require.ErrorIs(t, err, ErrDeleting)
	_, err = r.Create(t.Context(), "a")
	require.ErrorIs(t, err, ErrDeleting)
	require.ErrorIs(t, r.Delete(t.Context(), "a"), ErrDeleting)
	assert.FileExists(t, r.file("a"), "it is in use")
	letGo()
	require.NoError(t, <-deleted)
	left, err := filepath.Glob(filepath.Join(r.dir, "a*"))
	require.NoError(t, err)
	assert.Empty(t, left)
	_, err = add(t.Context(), r, "a")
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorIs(t, r.Delete(t.Context(), "a"), ErrNotFound)
	assert.Equal(t, 1, r.Stats().Open)

	create(t, r, "a")
	n, err := add(t.Context(), r, "a")
	require.NoError(t, err)
	assert.Equal(t, 1, n, "nothing of the old one is left")
}

func TestADeleteThatGivesUpChangesNothing(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, Options{MaxOpen: 1})
	create(t, r, "a", "b")
	letGo := hold(t, r, "a")
	ctx, cancel := context.WithCancel(t.Context())
	deletes := inBackground(func() error { return r.Delete(ctx, "a") })
	until(t, "it is being deleted", func() bool { return r.claimed("a") })
	waits := inBackground(func() error { _, err := add(context.Background(), r, "b"); return err })
	until(t, "b waits", func() bool { return r.Stats().Waiting == 1 })
	cancel()
	require.ErrorIs(t, <-deletes, context.Canceled)
	letGo()
	require.NoError(t, <-waits, "the place goes on to b")
	n, err := add(t.Context(), r, "a")
	require.NoError(t, err)
	assert.Equal(t, 1, n)
}

func (r *Registry) claimed(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.apps[name] != nil && r.apps[name].state == isDeleting
}

func TestCloseEndsADeleteThatWaits(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, Options{})
	create(t, r, "a")
	letGo := hold(t, r, "a")
	deletes := inBackground(func() error { return r.Delete(context.Background(), "a") })
	until(t, "it is being deleted", func() bool { return r.claimed("a") })
	closed := inBackground(func() error { return r.Close(context.Background()) })
	require.ErrorIs(t, <-deletes, ErrClosed)
	letGo()
	require.NoError(t, <-closed)
	assert.FileExists(t, r.file("a"))
}

func TestAnAppThatIsNotOpenIsDeletedWithoutOpeningIt(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, Options{})
	create(t, r, "a")
	r.sweep(time.Now())
	require.NoError(t, r.Delete(t.Context(), "a"))
	assert.NoFileExists(t, r.file("a"))
	assert.Equal(t, Counters{Opens: 1, Closes: 1}, r.Stats().Counters)
}

func TestWhatACrashLeftOfADeletionGoes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, file := range []string{"gone.deleted", "gone.db-wal", "gone.db-shm", "back.deleted", "back.db", "back.db-wal", "other.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), nil, 0o600))
	}
	r := openRegistry(t, dir, Options{})
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	for i, path := range left {
		left[i] = filepath.Base(path)
	}
	assert.Equal(t, []string{"back.db", "back.db-wal", "back.deleted", "other.txt"}, left,
		"where somebody put the database back, its side files are not touched")

	// Between the start and a creation, by hand.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "new.db-wal"), []byte("of another database"), 0o600))
	create(t, r, "new")
	n, err := add(t.Context(), r, "new")
	require.NoError(t, err)
	assert.Equal(t, 1, n)
}

func TestEachDatabaseIsMigratedWhenItIsOpened(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "apps")
	r := openRegistry(t, dir, Options{})
	create(t, r, "a")
	_, err := add(t.Context(), r, "a")
	require.NoError(t, err)
	require.NoError(t, r.Close(t.Context()))

	newer := openRegistry(t, dir, Options{Migrations: append(schema[:1:1], `ALTER TABLE t ADD COLUMN extra TEXT`)})
	require.NoError(t, newer.Use(t.Context(), "a", func(db *sqlitex.DB) error {
		_, err := db.Exec(t.Context(), `UPDATE t SET extra = 'x'`)
		return err
	}))
	require.NoError(t, newer.Close(t.Context()))

	old := openRegistry(t, dir, Options{})
	_, err = add(t.Context(), old, "a")
	require.ErrorContains(t, err, "schema version 2, this program knows 1")
	assert.Zero(t, old.Stats().Open)
	require.NoError(t, old.Close(t.Context()))

	broken := openRegistry(t, dir, Options{Migrations: []string{`CREATE TABLE`}})
	_, err = broken.Create(t.Context(), "b")
	require.ErrorContains(t, err, "migrate b")
	assert.NoFileExists(t, broken.file("b"), "half an app is none")
	require.NoError(t, broken.Close(t.Context()))
	verifyFolder(t, dir)
}
