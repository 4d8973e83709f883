package social

import (
	"context"
	"math"

	"github.com/sanelite/sanelite/sqlitex"
)

// Pages go from newer to older: before is the id of the last post of the page before, or 0 for the newest. That costs the same
// on every page, and shows no post twice when others are added, as OFFSET would.

// The inner query reads nothing but two indexes, and finds the ids of the page: for each followee the part of posts_of_user that is
// theirs, all of it through a sorter that keeps the newest. Only for the rows of the page the outer one reads posts and users.
// One query without an inner one reads the row of every post of all followees, and took 3 to 4 times as long; a search for the
// newest 20 of each followee, which bounds what a busy one costs, took 15 times as long, and walking back over all posts until
// enough are by followees takes a thousand times as many steps for a user who follows one in a thousand. Counting likes instead of
// keeping their number: 1.5 to 2.5 times.
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
