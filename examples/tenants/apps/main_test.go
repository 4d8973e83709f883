package apps

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
)

func TestMain(m *testing.M) { dbtest.Main(m, nil) }

var schema = []string{`CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT NOT NULL) STRICT`}

// newRegistry returns a registry of an empty folder. At cleanup it is closed, and all that is in the folder verified.
func newRegistry(t testing.TB, o Options) *Registry {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "apps")
	t.Cleanup(func() { verifyFolder(t, dir) })
	return openRegistry(t, dir, o)
}

func openRegistry(t testing.TB, dir string, o Options) *Registry {
	t.Helper()
	if o.Migrations == nil {
		o.Migrations = schema
	}
	if o.Idle == 0 {
		o.Idle = -1
	}
	r, err := New(dir, o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = r.Close(ctx) // tests of Close have had the answer
		assert.Equal(t, 0, r.waiting.Len())
		assert.Equal(t, 0, r.calls)
	})
	return r
}

// verifyFolder checks that databases are closed and whole, and that there is nothing else.
func verifyFolder(t testing.TB, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if assert.Equal(t, extension, filepath.Ext(e.Name()), "a side file is left") {
			dbtest.Verify(t, filepath.Join(dir, e.Name()))
		}
	}
}

func create(t testing.TB, r *Registry, names ...string) {
	t.Helper()
	for _, name := range names {
		created, err := r.Create(t.Context(), name)
		require.NoError(t, err)
		require.True(t, created)
	}
}

// add writes one row, and returns how many there are.
func add(ctx context.Context, r *Registry, name string) (n int, err error) {
	err = r.Use(ctx, name, func(db *sqlitex.DB) error {
		if _, err := db.Exec(ctx, `INSERT INTO t (v) VALUES (?)`, name); err != nil {
			return err
		}
		n, err = sqlitex.One[int](ctx, db, `SELECT count(*) FROM t WHERE v = ?`, name)
		return err
	})
	return n, err
}

// hold uses an app until the function that it returns is called.
func hold(t testing.TB, r *Registry, name string) (letGo func()) {
	t.Helper()
	held, enough, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- r.Use(context.Background(), name, func(*sqlitex.DB) error {
			close(held)
			<-enough
			return nil
		})
	}()
	select {
	case <-held:
	case err := <-done:
		require.NoError(t, err)
	}
	return func() {
		close(enough)
		require.NoError(t, <-done)
	}
}

// until waits for a condition.
func until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !condition(); runtime.Gosched() {
		if time.Now().After(deadline) {
			require.Fail(t, "waited in vain", what)
		}
	}
}

// inBackground returns where the result of fn will be.
func inBackground(fn func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- fn() }()
	return done
}

// names of the apps that are open.
func (r *Registry) openNames() (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for e := r.open.Front(); e != nil; e = e.Next() {
		names = append(names, e.Value.(*app).name)
	}
	return names
}

var errMine = errors.New("the caller's own")
