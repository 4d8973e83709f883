package social

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// Post is what people read: a post with its author.
type Post struct {
	ID        int64     `json:"id"`
	Handle    string    `json:"handle"`
	Name      string    `json:"name"`
	Body      string    `json:"body"`
	CreatedAt time.Time `json:"created_at" db:"created_at,unixmilli"`
	Likes     int64     `json:"likes"`
}

// LongestBody is the length of a post in characters.
const LongestBody = 500

const (
	postColumns = `posts.id, handle, name, body, posts.created_at, likes`

	postByID   = `SELECT ` + postColumns + ` FROM posts JOIN users ON users.id = user_id WHERE posts.id = ?`
	addMention = `INSERT INTO mentions (user_id, post_id) SELECT id, ? FROM users WHERE handle = ? ON CONFLICT DO NOTHING`
	like       = `INSERT INTO likes (post_id, user_id) VALUES (?, ?) ON CONFLICT DO NOTHING`
	unlike     = `DELETE FROM likes WHERE post_id = ? AND user_id = ?`
)

var mention = regexp.MustCompile(`@([a-zA-Z0-9_]{1,30})`)

// Post adds a post and its mentions, in one transaction, which may be shared with others who write.
func (n *Network) Post(ctx context.Context, userID int64, body string) (Post, error) {
	body = strings.TrimSpace(body)
	if length := utf8.RuneCountInString(body); length == 0 || length > LongestBody || !utf8.ValidString(body) {
		return Post{}, fmt.Errorf("%w: a post has 1 to %d characters", ErrInvalid, LongestBody)
	}
	p, err := tx.Batch(ctx, n.db, func(w *tx.Writer) (Post, error) {
		id, err := tx.One[int64](w, `INSERT INTO posts (user_id, body, created_at) VALUES (?, ?, ?) RETURNING id`, userID, body, now())
		if err != nil {
			return Post{}, err
		}
		for _, found := range mention.FindAllStringSubmatch(body, -1) {
			_, err := w.Exec(addMention, id, found[1])
			if err != nil {
				return Post{}, err
			}
		}
		return tx.One[Post](w, postByID, id)
	})
	return p, dangling(err, ErrNoUser)
}

// PostByID finds a post.
func (n *Network) PostByID(ctx context.Context, id int64) (Post, error) {
	p, err := sqlitex.One[Post](ctx, n.db, postByID, id)
	return p, missing(err, ErrNoPost)
}

// Like counts userID among those who like a post. Doing it again changes nothing.
func (n *Network) Like(ctx context.Context, userID, postID int64) error {
	_, err := n.db.Exec(ctx, like, postID, userID)
	return dangling(err, ErrNoPost)
}

// Unlike undoes Like. Doing it again changes nothing.
func (n *Network) Unlike(ctx context.Context, userID, postID int64) error {
	_, err := n.db.Exec(ctx, unlike, postID, userID)
	return err
}
