package social

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// User is somebody who posts.
type User struct {
	ID        int64     `json:"id"`
	Handle    string    `json:"handle"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at" db:"created_at,unixmilli"`
}

// Profile is a user with figures, all of the same moment.
type Profile struct {
	User
	Posts     int64 `json:"posts"`
	Followers int64 `json:"followers"`
	Following int64 `json:"following"`
}

const (
	userColumns = `id, handle, name, created_at`

	userByHandle   = `SELECT ` + userColumns + ` FROM users WHERE handle = ?`
	countPosts     = `SELECT count(*) FROM posts WHERE user_id = ?`
	countFollowers = `SELECT count(*) FROM follows WHERE followee_id = ?`
	countFollowing = `SELECT count(*) FROM follows WHERE follower_id = ?`
	follow         = `INSERT INTO follows (follower_id, followee_id) VALUES (?, ?) ON CONFLICT DO NOTHING`
	unfollow       = `DELETE FROM follows WHERE follower_id = ? AND followee_id = ?`
)

// CreateUser adds a user. The handle has 1 to 30 letters, digits and underscores, and nobody else's in any case.
func (n *Network) CreateUser(ctx context.Context, handle, name string) (User, error) {
	u, err := sqlitex.ExecOne[User](ctx, n.db, `INSERT INTO users (handle, name, created_at) VALUES (?, ?, ?) RETURNING `+userColumns,
		handle, name, now())
	switch {
	case errors.Is(err, sqlitex.ErrUnique):
		return u, fmt.Errorf("%w: %q", ErrTaken, handle)
	case errors.Is(err, sqlitex.ErrConstraint):
		return u, fmt.Errorf("%w handle or name", ErrInvalid)
	}
	return u, err
}

// UserByHandle finds a user.
func (n *Network) UserByHandle(ctx context.Context, handle string) (User, error) {
	u, err := sqlitex.One[User](ctx, n.db, userByHandle, handle)
	return u, missing(err, ErrNoUser)
}

// Profile finds a user and counts. It asks four questions in one read transaction: the answers fit together.
func (n *Network) Profile(ctx context.Context, handle string) (p Profile, err error) {
	err = n.db.Read(ctx, func(r *tx.Reader) error {
		if p.User, err = tx.One[User](r, userByHandle, handle); err != nil {
			return missing(err, ErrNoUser)
		}
		for _, count := range []struct {
			of  *int64
			sql string
		}{
			{&p.Posts, countPosts},
			{&p.Followers, countFollowers},
			{&p.Following, countFollowing},
		} {
			if *count.of, err = tx.One[int64](r, count.sql, p.ID); err != nil {
				return err
			}
		}
		return nil
	})
	return p, err
}

// Follow adds followee's posts to follower's timeline. Doing it again changes nothing.
func (n *Network) Follow(ctx context.Context, follower, followee int64) error {
	if follower == followee {
		return fmt.Errorf("%w: nobody follows themselves", ErrInvalid)
	}
	_, err := n.db.Exec(ctx, follow, follower, followee)
	return dangling(err, ErrNoUser)
}

// Unfollow undoes Follow. Doing it again changes nothing.
func (n *Network) Unfollow(ctx context.Context, follower, followee int64) error {
	_, err := n.db.Exec(ctx, unfollow, follower, followee)
	return err
}

// missing names what was not found.
func missing(err, what error) error {
	if errors.Is(err, sqlitex.ErrNoRows) {
		return what
	}
	return err
}

// dangling names what a row refers to that is not there.
func dangling(err, what error) error {
	if errors.Is(err, sqlitex.ErrForeignKey) {
		return what
	}
	return err
}

func now() int64 { return time.Now().UnixMilli() }
