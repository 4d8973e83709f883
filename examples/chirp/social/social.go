// Package social is a small social network in one SQLite file: users who post, follow and like. It knows nothing of HTTP.
//
// social.go opens the file, migrations.go brings its schema up to date, users.go, posts.go and timeline.go are the queries. seed.go
// makes a network of any size for trying things out, unfinished.go sees to it that it is whole or not there, words.go invents texts.
package social

import (
	"context"
	"errors"
	"fmt"

	"github.com/sanelite/sanelite/sqlitex"
)

// Network is an open database. It may be used by any number of goroutines.
type Network struct{ db *sqlitex.DB }

// Errors that callers can do something about.
var (
	ErrNoUser  = errors.New("no such user")
	ErrNoPost  = errors.New("no such post")
	ErrTaken   = errors.New("the handle is taken")
	ErrInvalid = errors.New("invalid")
	ErrNewer   = errors.New("the database was made by a newer version of this program")
)

// Open opens the network at path, makes it if there is none, and brings its schema up to date. o may be nil.
func Open(ctx context.Context, path string, o *sqlitex.Options) (*Network, error) {
	db, err := sqlitex.Open(ctx, path, o)
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, db, migrations); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), db.Close())
	}
	return &Network{db}, nil
}

// DB is the handle: for health checks, statistics, backups.
func (n *Network) DB() *sqlitex.DB { return n.db }

// Close waits for what runs, and interrupts it when ctx ends.
func (n *Network) Close(ctx context.Context) error { return n.db.CloseContext(ctx) }
