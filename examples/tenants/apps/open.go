package apps

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/sanelite/sanelite/sqlitex"
)

// acquire returns an app whose database is open, for release to be called with it.
func (r *Registry) acquire(ctx context.Context, name string, create bool) (a *app, created bool, err error) {
	if err := r.begin(ctx, name); err != nil {
		return nil, false, err
	}
	acquired := false
	defer func() { // also where a Setup function panics
		if !acquired {
			r.end()
		}
	}()
	for {
		a, entry, left, err := r.enter(name)
		switch {
		case err != nil:
			return nil, false, err
		case entry == opens:
			created, err := r.openApp(ctx, a, create)
			acquired = err == nil
			return a, created, err
		case entry == uses:
			acquired = true
			return a, false, nil
		}
		select {
		case <-left:
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
		if a.err != nil {
			return nil, false, a.err
		}
	}
}

// entry is what a caller has to do about an app.
type entry int

const (
	waits entry = iota // until it has opened or closed
	uses               // it is open, and counts the caller as a user
	opens              // nobody else does
)

func (r *Registry) enter(name string) (a *app, e entry, left <-chan struct{}, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a = r.apps[name]
	switch {
	case a == nil:
		a = &app{name: name, state: isOpening, left: make(chan struct{})}
		r.apps[name] = a
		return a, opens, nil, nil
	case a.state == isDeleting:
		return nil, 0, nil, ErrDeleting
	case a.state == isOpen:
		a.users++
		return a, uses, nil, nil
	}
	return a, waits, a.left, nil
}

// openApp opens the database for all who wait for it. The caller is its first user.
func (r *Registry) openApp(ctx context.Context, a *app, create bool) (created bool, err error) {
	err = errors.New("apps: opening did not return") // for the others, where it panics
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		defer close(a.left) // the others look at err then
		if err == nil {
			r.counters.Opens++
			a.state, a.users, a.lastUsed = isOpen, 1, r.now()
			a.place = r.open.PushBack(a)
			return
		}
		delete(r.apps, a.name)
		// The others try by themselves where the reason is this caller's own: its context, or that it may not create.
		if ctx.Err() == nil && !errors.Is(err, ErrNotFound) {
			r.counters.Failures++
			a.err = err
		}
	}()
	a.db, created, err = r.openFile(ctx, a.name, create)
	return created, err
}

// openFile looks for the file first: whoever asks for what does not exist is not to take another's place.
func (r *Registry) openFile(ctx context.Context, name string, create bool) (db *sqlitex.DB, created bool, err error) {
	there, err := r.exists(name)
	switch {
	case err != nil:
		return nil, false, err
	case !there && !create:
		return nil, false, ErrNotFound
	case !there:
		if err := r.sweepRemains(name); err != nil { // of an app of the same name
			return nil, false, err
		}
	}
	if err := r.takePlace(ctx); err != nil {
		return nil, false, err
	}
	defer func() {
		if db == nil {
			r.freePlace()
		}
	}()
	options := r.opts.Database
	if options.Mode = sqlitex.ReadWrite; !there {
		options.Mode = sqlitex.ReadWriteCreate
	}
	db, err = sqlitex.Open(ctx, r.file(name), &options)
	if err != nil {
		return nil, false, err
	}
	if err := migrate(ctx, db, r.opts.Migrations); err != nil {
		err = errors.Join(fmt.Errorf("apps: migrate %s: %w", name, err), db.Close())
		if !there {
			err = errors.Join(err, r.removeFiles(name))
		}
		return nil, false, err
	}
	r.opts.Logger.LogAttrs(ctx, slog.LevelDebug, "app opened", slog.String("app", name), slog.Bool("created", !there))
	return db, !there, nil
}

// release gives back what acquire returned.
func (r *Registry) release(a *app) {
	if r.leave(a) {
		_ = a.db.Close() // Close has given up on it, and nobody is left to be told
	}
}

// leave reports whether the database is the caller's to close.
func (r *Registry) leave(a *app) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.ended()
	a.lastUsed = r.now()
	r.open.MoveToBack(a.place)
	if a.users--; a.users > 0 {
		return false
	}
	if a.unused != nil {
		close(a.unused)
		a.unused = nil
		return false
	}
	r.offer(a)
	return r.abandoned
}
