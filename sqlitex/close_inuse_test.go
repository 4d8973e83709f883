package sqlitex_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
)

// case P6
func TestCloseWhileManyUseTheHandle(t *testing.T) {
	t.Parallel()
	rounds := 10
	if testing.Short() {
		rounds = 3
	}
	for range rounds {
		path := dbtest.Path(t)
		db := dbtest.OpenAt(t, path, &sqlitex.Options{MaxReaders: 4}, schema)
		insert(t, db, "first")
		var users, closers sync.WaitGroup
		start := make(chan struct{})
		done := func(err error) bool {
			if err != nil && !errors.Is(err, sqlitex.ErrClosed) {
				assert.NoError(t, err)
			}
			return err != nil
		}
		ways := make([]func(context.Context) error, 0, 16)
		for name, call := range calls(db, anything) {
			if name != "Vacuum" && name != "Check" { // slow, and tried above
				ways = append(ways, call)
			}
		}
		for i := range 50 {
			users.Go(func() {
				<-start
				for j := i; !done(ways[j%len(ways)](context.Background())); j++ {
				}
			})
		}
		close(start)
		for range 2 {
			closers.Go(func() {
				for db.Stats().Readers.Acquired < 100 {
					_ = db.Ping(context.Background())
				}
				assert.NoError(t, db.Close())
			})
		}
		closers.Wait()
		users.Wait()
		absent(t, path)
	}
}

func TestOpeningAndClosingLeavesNoFileDescriptor(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	for range 50 {
		db, err := sqlitex.Open(t.Context(), path, nil)
		require.NoError(t, err)
		require.NoError(t, db.Ping(t.Context()))
		require.NoError(t, db.Close())
		require.Empty(t, dbtest.OpenFiles(filepath.Dir(path)))
	}
	absent(t, path)
	_, err := os.Stat(path)
	require.NoError(t, err)
}
