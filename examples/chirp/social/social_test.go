package social

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

func open(t testing.TB) *Network {
	t.Helper()
	path := dbtest.Path(t)
	n, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, n.DB().Check(context.Background()))
		assert.NoError(t, n.Close(context.Background()))
	})
	return n
}

// people adds users a, b, c …
func people(t testing.TB, n *Network, count int) (ids []int64) {
	t.Helper()
	for i := range count {
		u, err := n.CreateUser(t.Context(), string(rune('a'+i)), "Somebody")
		require.NoError(t, err)
		ids = append(ids, u.ID)
	}
	return ids
}

func TestHandlesAreUniqueInAnyCaseAndWellFormed(t *testing.T) {
	t.Parallel()
	n := open(t)
	u, err := n.CreateUser(t.Context(), "Nobody_1", "No Body")
	require.NoError(t, err)
	_, err = n.CreateUser(t.Context(), "nobody_1", "Another")
	require.ErrorIs(t, err, ErrTaken)
	for _, bad := range [][2]string{{"", "x"}, {"a b", "x"}, {"ä", "x"}, {strings.Repeat("a", 31), "x"}, {"ok", ""}, {"ok", strings.Repeat("n", 81)}} {
		_, err = n.CreateUser(t.Context(), bad[0], bad[1])
		require.ErrorIs(t, err, ErrInvalid, "%q", bad)
	}
	found, err := n.UserByHandle(t.Context(), "NOBODY_1")
	require.NoError(t, err)
	assert.Equal(t, u, found)
	_, err = n.UserByHandle(t.Context(), "x")
	require.ErrorIs(t, err, ErrNoUser)
	_, err = n.Profile(t.Context(), "x")
	require.ErrorIs(t, err, ErrNoUser)
}

func TestAPostHasItsMentionsOrIsNotThere(t *testing.T) {
	t.Parallel()
	n := open(t)
	ids := people(t, n, 3)
	p, err := n.Post(t.Context(), ids[0], "  hello @B, @c, @b and @unknown  ")
	require.NoError(t, err)
	assert.Equal(t, "hello @B, @c, @b and @unknown", p.Body)
	for i, want := range []int{0, 1, 1} {
		posts, err := n.Mentions(t.Context(), ids[i], 0, 10)
		require.NoError(t, err)
		assert.Len(t, posts, want)
	}
	_, err = n.Post(t.Context(), 99, "hello")
	require.ErrorIs(t, err, ErrNoUser)
	for _, body := range []string{"", " \n", strings.Repeat("x", LongestBody+1), "\xff"} {
		_, err = n.Post(t.Context(), ids[0], body)
		require.ErrorIs(t, err, ErrInvalid)
	}
	_, err = n.Post(t.Context(), ids[0], strings.Repeat("ü", LongestBody))
	require.NoError(t, err, "characters, not bytes")
	_, err = n.PostByID(t.Context(), 99)
	require.ErrorIs(t, err, ErrNoPost)
}

func TestFollowingAndLikingTwiceIsOnce(t *testing.T) {
	t.Parallel()
	n := open(t)
	ids := people(t, n, 2)
	p, err := n.Post(t.Context(), ids[1], "hello")
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, n.Follow(t.Context(), ids[0], ids[1]))
		require.NoError(t, n.Like(t.Context(), ids[0], p.ID))
	}
	profile, err := n.Profile(t.Context(), "b")
	require.NoError(t, err)
	assert.Equal(t, [3]int64{1, 1, 0}, [3]int64{profile.Posts, profile.Followers, profile.Following})
	posts, err := n.Timeline(t.Context(), ids[0], 0, 10)
	require.NoError(t, err)
	require.Len(t, posts, 1)
	assert.Equal(t, int64(1), posts[0].Likes)
	for range 2 {
		require.NoError(t, n.Unlike(t.Context(), ids[0], p.ID))
		require.NoError(t, n.Unfollow(t.Context(), ids[0], ids[1]))
	}
	p, err = n.PostByID(t.Context(), p.ID)
	require.NoError(t, err)
	assert.Zero(t, p.Likes)
	posts, err = n.Timeline(t.Context(), ids[0], 0, 10)
	require.NoError(t, err)
	assert.Empty(t, posts)
	require.ErrorIs(t, n.Follow(t.Context(), ids[0], ids[0]), ErrInvalid)
	require.ErrorIs(t, n.Follow(t.Context(), ids[0], 99), ErrNoUser)
	require.ErrorIs(t, n.Like(t.Context(), ids[0], 99), ErrNoPost)
}

// The timeline is compared with a plain one: all posts, filtered and sorted in Go.
func TestTheTimelineIsTheNewestPostsOfThoseWhomOneFollows(t *testing.T) {
	t.Parallel()
	n := open(t)
	ids := people(t, n, 8)
	r := rand.New(rand.NewPCG(1, 1))
	var all []Post
	author := map[int64]int64{}
	for range 200 {
		who := ids[r.IntN(len(ids))]
		p, err := n.Post(t.Context(), who, "hello")
		require.NoError(t, err)
		all, author[p.ID] = append(all, p), who
	}
	slices.Reverse(all)
	for _, reader := range ids {
		follows := map[int64]bool{}
		for _, other := range ids {
			if other != reader && r.IntN(2) == 0 {
				follows[other] = true
				require.NoError(t, n.Follow(t.Context(), reader, other))
			}
		}
		var want []Post
		for _, p := range all {
			if follows[author[p.ID]] {
				want = append(want, p)
			}
		}
		var got []Post
		for before := int64(0); ; before = got[len(got)-1].ID {
			page, err := n.Timeline(t.Context(), reader, before, 7)
			require.NoError(t, err)
			if got = append(got, page...); len(page) < 7 {
				break
			}
		}
		assert.Equal(t, want, got)
	}
}

// Every statement finds its rows by an index, whatever the size of the tables.
func TestNoQueryLooksAtAWholeTable(t *testing.T) {
	t.Parallel()
	n := open(t)
	for _, sql := range []string{
		timeline, postsOf, mentions, postByID, userByHandle, countPosts, countFollowers, countFollowing, addMention, like, unlike, follow, unfollow,
	} {
		type step struct {
			ID, Parent, Notused int64 // the columns that SQLite has
			Detail              string
		}
		plan, err := tx.Write(t.Context(), n.DB(), func(w *tx.Writer) ([]step, error) { // a Reader does not even explain a write
			return tx.All[step](w, "EXPLAIN QUERY PLAN "+sql, make([]any, strings.Count(sql, "?"))...)
		})
		require.NoError(t, err, sql)
		var details []string
		for _, line := range plan {
			if line.Detail != "SCAN page" { // the 20 rows of the subquery
				assert.NotContains(t, line.Detail, "SCAN", sql)
			}
			details = append(details, line.Detail)
		}
		if sql == timeline { // the order in which an index is walked, and that it is enough, is what makes it fast
			assert.Contains(t, strings.Join(details, "\n"), "SEARCH posts USING COVERING INDEX posts_of_user (user_id=? AND id<?)")
		}
	}
}

// Timelines are read beside posts, likes and follows from many goroutines. Nobody sees SQLITE_BUSY, nor a post without its likes.
func TestReadersAndWritersDoNotDisturbEachOther(t *testing.T) {
	t.Parallel()
	n := open(t)
	ids := people(t, n, 8)
	for _, id := range ids[1:] {
		require.NoError(t, n.Follow(t.Context(), ids[0], id))
	}
	var stop atomic.Bool
	var readers, writers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			newest := int64(0)
			for !stop.Load() {
				posts, err := n.Timeline(context.Background(), ids[0], 0, 20)
				if !assert.NoError(t, err) {
					return
				}
				if len(posts) > 0 {
					assert.GreaterOrEqual(t, posts[0].ID, newest, "time goes forward")
					newest = posts[0].ID
				}
			}
		})
	}
	var posted atomic.Int64
	for worker, id := range ids {
		writers.Go(func() {
			for i := range 40 {
				p, err := n.Post(context.Background(), id, fmt.Sprintf("%d @a", i))
				if !assert.NoError(t, err) {
					return
				}
				posted.Add(1)
				assert.NoError(t, n.Like(context.Background(), ids[(worker+1)%len(ids)], p.ID))
				assert.NoError(t, n.Follow(context.Background(), id, ids[(worker+1+i%7)%len(ids)]))
			}
		})
	}
	writers.Wait()
	stop.Store(true)
	readers.Wait()
	for sql, want := range map[string]int64{
		`SELECT count(*) FROM posts`: posted.Load(), `SELECT sum(likes) FROM posts`: posted.Load(), `SELECT count(*) FROM mentions`: posted.Load(),
	} {
		got, err := sqlitex.One[int64](t.Context(), n.DB(), sql)
		require.NoError(t, err)
		assert.Equal(t, want, got, sql)
	}
}
