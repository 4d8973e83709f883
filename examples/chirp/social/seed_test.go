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

var small = Sizes{Users: 501, Posts: 4_007, Follows: 3_003, Likes: 8_011, Seed: 7}

// content is a digest of all rows.
func content(t *testing.T, db *sqlitex.DB) string {
	t.Helper()
	h := sha256.New()
	for _, sql := range []string{
		`SELECT concat_ws('|', id, handle, name, created_at) FROM users ORDER BY id`,
		`SELECT concat_ws('|', id, user_id, body, created_at, likes) FROM posts ORDER BY id`,
		`SELECT concat_ws('|', follower_id, followee_id) FROM follows ORDER BY 1`,
		`SELECT concat_ws('|', post_id, user_id) FROM likes ORDER BY 1`,
		`SELECT concat_ws('|', user_id, post_id) FROM mentions ORDER BY 1`,
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
		for table, want := range map[string]int{"users": small.Users, "posts": small.Posts, "follows": small.Follows, "likes": small.Likes, "mentions": small.Posts / mentionEach} {
			got, err := sqlitex.One[int](t.Context(), n.DB(), `SELECT count(*) FROM `+table)
			require.NoError(t, err)
			assert.Equal(t, want, got, table)
		}
		wrong, err := sqlitex.One[int](t.Context(), n.DB(), `SELECT count(*) FROM posts WHERE likes <> (SELECT count(*) FROM likes WHERE post_id = posts.id)`)
		require.NoError(t, err)
		assert.Zero(t, wrong)
		wrong, err = sqlitex.One[int](t.Context(), n.DB(), `SELECT count(*) FROM mentions JOIN users ON users.id = mentions.user_id JOIN posts ON posts.id = post_id
			WHERE body NOT LIKE '%@' || handle`)
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
	files, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Empty(t, files)
	require.NoError(t, Seed(t.Context(), path, small, nil))
	require.ErrorIs(t, Seed(t.Context(), path, small, nil), fs.ErrExist)
}

// The second run takes the first for one that was killed.
func TestOfTwoSeedsAtOnceOnlyAWholeNetworkGetsTheName(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "seeded.db")
	var second error
	begun := false
	first := Seed(t.Context(), path, small, func(Progress) {
		if !begun {
			begun = true
			ctx, cancel := context.WithCancel(t.Context())
			second = Seed(ctx, path, small, func(Progress) { cancel() })
		}
	})
	require.ErrorIs(t, second, context.Canceled)
	require.ErrorIs(t, first, fs.ErrNotExist)
	assert.NoFileExists(t, path)
}

func TestSizesThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []Sizes{{}, {Users: 1}, {Users: 10, Follows: 46}, {Users: 10, Posts: 10, Likes: 2}, {Users: 10, Posts: -1}} {
		err := Seed(t.Context(), filepath.Join(t.TempDir(), "x.db"), s, nil)
		require.True(t, errors.Is(err, ErrInvalid), "%+v: %v", s, err)
	}
}
