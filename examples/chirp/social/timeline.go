package social

import (
	"context"
	"math"

	"github.com/sanelite/sanelite/sqlitex"
)

// Pages go from newer to older: before is the id of the last post of the page before, or 0 for the newest. That costs the same
// on every page, and shows no post twice when others are added, as OFFSET would.

// The inner query reads nothing but two indexes, and finds the ids of the page. For each followee it walks back in posts_of_user,
// and goes on to the next one at the first post that is older than the whole page found so far: SQLite does so by itself where the
// inner loop runs in the order that is wanted (EXPLAIN shows it as IdxLE behind Last). So a busy followee costs little more than
// another. Only for the rows of the page the outer query reads posts and users.
//
// Tried with DefaultSizes, as medians over users who follow few, some or many, against this one's 80 to 290 µs: one query without
// an inner one also reads the rows of posts that do not make it, 2 to 4 times as long. The newest 20 of each followee by a subquery: 5 to
// 30 times. Walking back over all posts until enough are by followees: 10 times for who follows many, 900 times for who follows
// few, and up to seconds. Counting likes instead of keeping their number: 1 to 1.8 times where no post has more than 100, and without a
// bound where one has. Not tried: a copy of each post for every follower, which makes a post of somebody with 5,000 followers
// 5,000 writes.
const timeline = `SELECT ` + postColumns + `
	FROM (
		SELECT posts.id AS id FROM follows JOIN posts ON posts.user_id = followee_id
		WHERE follower_id = ?1 AND posts.id < ?2 ORDER BY posts.id DESC LIMIT ?3
	) AS page
	JOIN posts ON posts.id = page.id JOIN users ON users.id = posts.user_id
	ORDER BY page.id DESC`

// Timeline returns the newest posts of those whom a user follows.
func (n *Network) Timeline(ctx context.Context, userID, before int64, limit int) ([]Post, error) {
	return n.page(ctx, timeline, userID, before, limit)
}

// PostsOf returns the newest posts of a user.
func (n *Network) PostsOf(ctx context.Context, userID, before int64, limit int) ([]Post, error) {
	return n.page(ctx, postsOf, userID, before, limit)
}

const postsOf = `SELECT ` + postColumns + ` FROM posts JOIN users ON users.id = user_id
	WHERE user_id = ?1 AND posts.id < ?2 ORDER BY posts.id DESC LIMIT ?3`

// Mentions returns the newest posts that mention a user.
func (n *Network) Mentions(ctx context.Context, userID, before int64, limit int) ([]Post, error) {
	return n.page(ctx, mentions, userID, before, limit)
}

const mentions = `SELECT ` + postColumns + ` FROM mentions JOIN posts ON posts.id = post_id JOIN users ON users.id = posts.user_id
	WHERE mentions.user_id = ?1 AND post_id < ?2 ORDER BY post_id DESC LIMIT ?3`

func (n *Network) page(ctx context.Context, sql string, userID, before int64, limit int) ([]Post, error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	return sqlitex.All[Post](ctx, n.db, sql, userID, before, limit)
}
