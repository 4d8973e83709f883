package social

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
)

var small = Sizes{Users: 501, Posts: 10_007, Follows: 5_003, Likes: 20_011, Seed: 7}

// content is a digest of all rows.
func content(t *testing.T, db *sqlitex.DB) string {
	t.Helper()
	h := sha256.New()
	for _, sql := range []string{
		`SELECT concat_ws('|', id, handle, name, created_at) FROM users ORDER BY id`,
		`SELECT concat_ws('|', id, user_id, body, created_at, likes) FROM posts ORDER BY id`,
		`SELECT concat_ws('|', follower_id, followee_id) FROM follows ORDER BY 1`,
		`SELECT concat_ws('|', post_id, user_id) FROM likes ORDER BY 1`,
	} {
		for row, err := range sqlitex.Each[string](t.Context(), db, sql) {
			require.NoError(t, err)
			fmt.Fprintln(h, row)
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

func TestTheSameSeedMakesTheSameNetworkOfExactlyTheSizesAskedFor(t *testing.T) {
	t.Parallel()
	digests := map[uint64]string{}
	for _, seed := range []uint64{7, 7, 8} {
		path := filepath.Join(t.TempDir(), "seeded.db")
		sizes := small
		sizes.Seed = seed
		var last Progress
		require.NoError(t, Seed(t.Context(), path, sizes, func(p Progress) {
			assert.GreaterOrEqual(t, p.Done, last.Done)
			last = p
		}))
		assert.Equal(t, last.Total, last.Done)
		dbtest.Verify(t, path) // foreign keys, too: seeding does not look at them
		n, err := Open(t.Context(), path, nil)
		require.NoError(t, err)
		for table, want := range map[string]int{"users": small.Users, "posts": small.Posts, "follows": small.Follows, "likes": small.Likes} {
			got, err := sqlitex.One[int](t.Context(), n.DB(), `SELECT count(*) FROM `+table)
			require.NoError(t, err)
			assert.Equal(t, want, got, table)
		}
		wrong, err := sqlitex.One[int](t.Context(), n.DB(), `SELECT count(*) FROM posts WHERE likes <> (SELECT count(*) FROM likes WHERE post_id = posts.id)`)
		require.NoError(t, err)
		assert.Zero(t, wrong)
		indexes, err := sqlitex.One[int](t.Context(), n.DB(), `SELECT count(*) FROM sqlite_schema WHERE type IN ('index', 'trigger') AND sql IS NOT NULL`)
		require.NoError(t, err)
		assert.Equal(t, 6, indexes, "made again")
		mode, err := sqlitex.One[string](t.Context(), n.DB(), `PRAGMA journal_mode`)
		require.NoError(t, err)
		assert.Equal(t, "wal", mode)
		digest := content(t, n.DB())
		if before := digests[seed]; before != "" {
			assert.Equal(t, before, digest)
		}
		digests[seed] = digest
		require.NoError(t, n.Close(t.Context()))
	}
	assert.NotEqual(t, digests[7], digests[8])
}

func TestASeedThatDidNotEndLeavesNothingUnderTheName(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "seeded.db")
	ctx, cancel := context.WithCancel(t.Context())
	err := Seed(ctx, path, small, func(p Progress) {
		if p.Step == "likes" {
			cancel()
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	assert.NoFileExists(t, path)
	require.NoError(t, Seed(t.Context(), path, small, nil), "what is left is no obstacle")
	assert.NoFileExists(t, path+".seeding")
	require.ErrorIs(t, Seed(t.Context(), path, small, nil), fs.ErrExist)
	require.NoError(t, os.Remove(path))
}

func TestSizesThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []Sizes{{}, {Users: 1}, {Users: 10, Follows: 46}, {Users: 10, Posts: 10, Likes: 2}, {Users: 10, Posts: -1}} {
		err := Seed(t.Context(), filepath.Join(t.TempDir(), "x.db"), s, nil)
		require.True(t, errors.Is(err, ErrInvalid), "%+v: %v", s, err)
	}
}

func benchmarkNetwork(b *testing.B) *Network {
	b.Helper()
	path := filepath.Join(b.TempDir(), "seeded.db")
	require.NoError(b, Seed(b.Context(), path, Sizes{Users: 5_000, Posts: 100_000, Follows: 250_000, Likes: 200_000, Seed: 1}, nil))
	n, err := Open(b.Context(), path, nil)
	require.NoError(b, err)
	b.Cleanup(func() { assert.NoError(b, n.Close(context.Background())) })
	return n
}

func BenchmarkTimeline(b *testing.B) {
	n := benchmarkNetwork(b)
	i := int64(0)
	for b.Loop() {
		i++
		posts, err := n.Timeline(b.Context(), 1+i*7919%5_000, 0, 20)
		if err != nil {
			b.Fatal(len(posts), err)
		}
	}
}

func BenchmarkPost(b *testing.B) {
	n := benchmarkNetwork(b)
	i := int64(0)
	for b.Loop() {
		i++
		if _, err := n.Post(b.Context(), 1+i*7919%5_000, "what is new"); err != nil {
			b.Fatal(err)
		}
	}
}
