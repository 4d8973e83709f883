package apps

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/pragma"
	"github.com/sanelite/sanelite/sqlitex"
)

// expected passes what may happen to an app that others create and delete under one's hands.
func expected(t *testing.T, err error) {
	t.Helper()
	for _, e := range []error{nil, ErrNotFound, ErrDeleting, context.DeadlineExceeded} {
		if errors.Is(err, e) {
			return
		}
	}
	assert.NoError(t, err)
}

func TestAnAppIsOpenedOnceForAllWhoWantIt(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, Options{})
	create(t, r, "a")
	for range 5 {
		r.sweep(time.Now())
		require.Zero(t, r.Stats().Open)
		before := r.Stats().Opens
		inside, all := make(chan struct{}, 32), make(chan struct{})
		var callers sync.WaitGroup
		for range 32 {
			callers.Go(func() {
				assert.NoError(t, r.Use(context.Background(), "a", func(db *sqlitex.DB) error {
					inside <- struct{}{}
					<-all
					return nil
				}))
			})
		}
		until(t, "all are inside at once", func() bool { return len(inside) == 32 })
		assert.Equal(t, before+1, r.Stats().Opens)
		assert.Equal(t, 1, r.Stats().InUse)
		close(all)
		callers.Wait()
	}
}

func TestTheLeastRecentlyUsedMakesRoom(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, Options{MaxOpen: 3})
	create(t, r, "a", "b", "c")
	_, err := add(t.Context(), r, "a")
	require.NoError(t, err)
	assert.Equal(t, []string{"b", "c", "a"}, r.openNames())
	create(t, r, "d")
	assert.Equal(t, []string{"c", "a", "d"}, r.openNames())
	letGo := hold(t, r, "c") // in use, hence not to be closed, although it is the oldest
	create(t, r, "e")
	assert.Equal(t, []string{"c", "d", "e"}, r.openNames())
	letGo()
	assert.Equal(t, int64(2), r.Stats().Evictions)
}

func TestWhoAsksForWhatDoesNotExistTakesNobodysPlace(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, Options{MaxOpen: 1})
	create(t, r, "a")
	letGo := hold(t, r, "a")
	require.ErrorIs(t, r.Use(t.Context(), "none", nil), ErrNotFound, "without waiting")
	letGo()
	assert.Equal(t, []string{"a"}, r.openNames())
}

func TestWhoFindsAllInUseWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, Options{MaxOpen: 1})
	create(t, r, "a", "b", "c")
	letGo := hold(t, r, "a")
	var order []string
	var waits []<-chan error
	for i, name := range []string{"b", "c"} {
		waits = append(waits, inBackground(func() error {
			return r.Use(context.Background(), name, func(*sqlitex.DB) error {
				order = append(order, name) // one at a time: there is one place
				return nil
			})
		}))
		until(t, name+" waits", func() bool { return r.Stats().Waiting == i+1 })
	}
	letGo()
	for _, wait := range waits {
		require.NoError(t, <-wait)
	}
	assert.Equal(t, []string{"b", "c"}, order)
	assert.Equal(t, int64(2), r.Stats().Waits)
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, Options{MaxOpen: 1})
	create(t, r, "a", "b")
	letGo := hold(t, r, "a")
	ctx, cancel := context.WithCancel(t.Context())
	waits := inBackground(func() error { return r.Use(ctx, "b", nil) })
	until(t, "it waits", func() bool { return r.Stats().Waiting == 1 })
	cancel()
	err := <-waits
	require.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, "all 1 databases that may be open are in use")
	assert.Zero(t, r.Stats().Waiting)
	letGo()
	_, err = add(t.Context(), r, "b")
	require.NoError(t, err)
	require.ErrorIs(t, r.Use(ctx, "b", nil), context.Canceled, "a context that has ended on entry")
	assert.Equal(t, int64(0), r.Stats().Failures, "a context is no failure of the database")
}

func TestWhoGivesUpLeavesTheOpeningToTheNext(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, Options{MaxOpen: 1})
	create(t, r, "a", "b")
	letGo := hold(t, r, "a")
	ctx, cancel := context.WithCancel(t.Context())
	first := inBackground(func() error { return r.Use(ctx, "b", nil) })
	until(t, "the first waits", func() bool { return r.Stats().Waiting == 1 })
	next := inBackground(func() error { _, err := add(context.Background(), r, "b"); return err })
	until(t, "the next call counts", func() bool { r.mu.Lock(); defer r.mu.Unlock(); return r.calls == 3 })
	cancel()
	require.ErrorIs(t, <-first, context.Canceled)
	letGo()
	require.NoError(t, <-next)
}

func TestCancelledWaitsLoseNoPlace(t *testing.T) {
	t.Parallel()
	const apps = 4
	r := newRegistry(t, Options{MaxOpen: 1})
	for i := range apps {
		create(t, r, fmt.Sprintf("app%d", i))
	}
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 50 {
				ctx, cancel := context.WithCancel(context.Background())
				stop := time.AfterFunc(time.Duration(i*20)*time.Microsecond, cancel) // some before, some after their turn
				_, err := add(ctx, r, fmt.Sprintf("app%d", (worker+i)%apps))
				if !errors.Is(err, context.Canceled) {
					assert.NoError(t, err)
				}
				stop.Stop()
				cancel()
			}
		})
	}
	all.Wait()
	s := r.Stats()
	assert.LessOrEqual(t, s.Open, 1)
	assert.Equal(t, s.Opens-s.Closes, int64(s.Open))
	_, err := add(t.Context(), r, "app0")
	require.NoError(t, err)
}

func TestAnOpenThatFailsIsAnErrorForAllWhoWaitAndTriedAnew(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	tried, goOn := make(chan struct{}, 1), make(chan struct{})
	r := newRegistry(t, Options{Database: sqlitex.Options{Setup: func(context.Context, *sqlite.Conn) error {
		if broken.Load() {
			tried <- struct{}{}
			<-goOn
			return errMine
		}
		return nil
	}}})
	create(t, r, "a")
	r.sweep(time.Now())
	broken.Store(true)
	var answers []<-chan error
	for range 8 {
		answers = append(answers, inBackground(func() error { _, err := add(context.Background(), r, "a"); return err }))
	}
	until(t, "all have called", func() bool { r.mu.Lock(); defer r.mu.Unlock(); return r.calls == 8 && len(tried) == 1 })
	broken.Store(false)
	close(goOn)
	failed := 0
	for _, answer := range answers {
		if err := <-answer; err != nil { // who has not got so far as to wait finds that it works again
			require.ErrorIs(t, err, errMine)
			failed++
		}
	}
	assert.Positive(t, failed)
	assert.Equal(t, int64(1), r.Stats().Failures)
	_, err := add(t.Context(), r, "a")
	require.NoError(t, err)
}

func TestWhatIsNoDatabaseFailsWithoutKeepingAPlace(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, Options{MaxOpen: 1})
	require.NoError(t, os.WriteFile(r.file("text"), []byte("this is a text, and no database at all, however long one looks at it"), 0o600))
	for range 3 {
		_, err := add(t.Context(), r, "text")
		require.ErrorIs(t, err, sqlitex.ErrNotADatabase)
		assert.Zero(t, r.Stats().Open)
	}
	create(t, r, "a")
	require.NoError(t, r.Delete(t.Context(), "text"), "it may be deleted")
}

func TestASetupThatPanicsKeepsNothing(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	r := newRegistry(t, Options{MaxOpen: 1, Database: sqlitex.Options{Setup: func(context.Context, *sqlite.Conn) error {
		if broken.Load() {
			panic("mine")
		}
		return nil
	}}})
	broken.Store(true)
	assert.Panics(t, func() { _, _ = r.Create(context.Background(), "a") })
	broken.Store(false)
	assert.Zero(t, r.Stats().Open)
	create(t, r, "a")
}

// Every use opens a database, since there is one place and another app was used before.
func TestTwoThousandOpeningsLeaveNothing(t *testing.T) {
	r := newRegistry(t, Options{MaxOpen: 1, Database: sqlitex.Options{Pragmas: pragma.Config{Synchronous: pragma.SyncOff}}})
	create(t, r, "a", "b")
	use := func(times int) (pages int64) {
		for i := range times {
			require.NoError(t, r.Use(t.Context(), []string{"a", "b"}[i%2], func(db *sqlitex.DB) error {
				if _, err := db.Exec(t.Context(), `INSERT OR REPLACE INTO t VALUES (1, 'x')`); err != nil {
					return err
				}
				_, err := sqlitex.One[int](t.Context(), db, `SELECT count(*) FROM t`)
				pages = db.Stats().PageCacheBytes
				return err
			}))
		}
		return pages
	}
	pages := use(20)
	files, goroutines := len(dbtest.OpenFiles(r.dir)), runtime.NumGoroutine()
	times := 2000
	if raceEnabled {
		times = 200 // minutes, otherwise
	}
	assert.Equal(t, pages, use(times))
	assert.GreaterOrEqual(t, r.Stats().Opens, int64(times))
	assert.Len(t, dbtest.OpenFiles(r.dir), files)
	until(t, "goroutines end", func() bool { return runtime.NumGoroutine() <= goroutines })
}
