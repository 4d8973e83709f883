package apps

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
)

func TestAnAppIsThereOnceItIsCreated(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, Options{})
	_, err := add(t.Context(), r, "shop")
	require.ErrorIs(t, err, ErrNotFound)
	create(t, r, "shop")
	created, err := r.Create(t.Context(), "shop")
	require.NoError(t, err)
	assert.False(t, created, "it was there")
	for want := range 3 {
		n, err := add(t.Context(), r, "shop")
		require.NoError(t, err)
		assert.Equal(t, want+1, n)
	}
	require.ErrorIs(t, r.Use(t.Context(), "shop", func(*sqlitex.DB) error { return errMine }), errMine)
	assert.Equal(t, Stats{Open: 1, MaxOpen: 256, Counters: Counters{Opens: 1}}, r.Stats())
}

func TestNamesThatAreNotValidReachNoFile(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, Options{})
	long := "a234567890123456789012345678901234567890123456789012345678901234"
	for _, name := range []string{
		"", ".", "..", "../up", "a/b", `a\b`, "/etc/passwd", "a.db", "a.deleted", "a\x00", "A", "-a", "ä", "a b", "a?mode=ro", "%61", ":memory:", long,
	} {
		assert.False(t, ValidName(name), "%q", name)
		_, err := r.Create(t.Context(), name)
		require.ErrorIs(t, err, ErrName, "%q", name)
		require.ErrorIs(t, r.Delete(t.Context(), name), ErrName, "%q", name)
		require.ErrorIs(t, r.Use(t.Context(), name, nil), ErrName, "%q", name)
	}
	for _, dir := range []string{r.dir, filepath.Dir(r.dir)} {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			assert.Equal(t, "apps", e.Name())
		}
	}
	for _, name := range []string{"a", "0", "a-", "a--b", "shop-1", long[:63]} {
		assert.True(t, ValidName(name), "%q", name)
		create(t, r, name)
	}
}

func TestWhatIsNoRegularFileIsNoApp(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, Options{})
	elsewhere := filepath.Join(t.TempDir(), "elsewhere.db")
	require.NoError(t, os.WriteFile(elsewhere, nil, 0o600))
	require.NoError(t, os.Symlink(elsewhere, r.file("link")))
	t.Cleanup(func() { _ = os.Remove(r.file("link")) })
	require.ErrorContains(t, r.Use(t.Context(), "link", nil), "not a regular file")
	require.ErrorContains(t, r.Delete(t.Context(), "link"), "not a regular file")
	names, err := r.List("", 10)
	require.NoError(t, err)
	assert.Empty(t, names)
	assert.FileExists(t, elsewhere)
}

func TestListIsSortedAndGoesOnBehindAName(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, Options{MaxOpen: 2})
	create(t, r, "b", "a-b", "a", "c", "0") // "a-b.db" sorts before "a.db"
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "note.txt"), nil, 0o600))
	defer os.Remove(filepath.Join(r.dir, "note.txt"))
	var all []string
	for after := ""; ; {
		names, err := r.List(after, 2)
		require.NoError(t, err)
		if len(names) == 0 {
			break
		}
		all = append(all, names...)
		after = names[len(names)-1]
	}
	assert.Equal(t, []string{"0", "a", "a-b", "b", "c"}, all)
}

func TestAPanicOrAnExitGivesTheDatabaseBack(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, Options{MaxOpen: 1})
	create(t, r, "a", "b")
	assert.PanicsWithValue(t, "mine", func() {
		_ = r.Use(t.Context(), "a", func(*sqlitex.DB) error { panic("mine") })
	})
	var exits sync.WaitGroup
	exits.Go(func() { _ = r.Use(context.Background(), "a", func(*sqlitex.DB) error { runtime.Goexit(); return nil }) })
	exits.Wait()
	_, err := add(t.Context(), r, "b")
	require.NoError(t, err, "the one place is free")
}

func TestManyCallersUseMoreAppsThanMayBeOpen(t *testing.T) {
	t.Parallel()
	const apps, callers, most = 9, 16, 3
	r := newRegistry(t, Options{MaxOpen: most})
	var names []string
	for i := range apps {
		names = append(names, fmt.Sprintf("app%d", i))
	}
	create(t, r, names...)
	end := time.Now().Add(dbtest.Stress(t, 500*time.Millisecond))
	var mu sync.Mutex
	wrote := map[string]int{}
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for time.Now().Before(end) {
				name := names[rand.IntN(apps)]
				if _, err := add(context.Background(), r, name); !assert.NoError(t, err) {
					return
				}
				mu.Lock()
				wrote[name]++
				mu.Unlock()
				assert.LessOrEqual(t, r.Stats().Open, most)
				if rand.IntN(20) == 0 {
					r.sweep(time.Now())
				}
			}
		})
	}
	all.Wait()
	for _, name := range names {
		n, err := add(t.Context(), r, name)
		require.NoError(t, err)
		assert.Equal(t, wrote[name]+1, n, name)
	}
	s := r.Stats()
	assert.Equal(t, s.Opens-s.Closes, int64(s.Open))
}

func TestAppsComeAndGoWhileOthersUseThem(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, Options{MaxOpen: 3})
	end := time.Now().Add(dbtest.Stress(t, 500*time.Millisecond))
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := 0; time.Now().Before(end); i++ {
				name := fmt.Sprintf("app%d", rand.IntN(5))
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+rand.IntN(20))*time.Millisecond)
				var err error
				switch (worker + i) % 4 {
				case 0:
					_, err = r.Create(ctx, name)
				case 1:
					err = r.Delete(ctx, name)
				default:
					_, err = add(ctx, r, name)
				}
				cancel()
				expected(t, err)
			}
		})
	}
	all.Wait()
	s := r.Stats()
	assert.Equal(t, s.Opens-s.Closes, int64(s.Open), "%+v", s)
	assert.Len(t, r.apps, s.Open)
}
