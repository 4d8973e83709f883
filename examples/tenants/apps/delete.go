package apps

import (
	"context"
	"log/slog"
)

// Delete removes an app with all that it has. It waits, bounded by ctx, until nobody uses it; new calls answer ErrDeleting
// meanwhile. If ctx ends first the app stays.
func (r *Registry) Delete(ctx context.Context, name string) error {
	if err := r.begin(ctx, name); err != nil {
		return err
	}
	defer r.end()
	for {
		a, left, err := r.claim(name)
		if err != nil {
			return err
		}
		if left == nil {
			return r.deleteApp(ctx, a)
		}
		select {
		case <-left:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// claim makes the app the caller's to delete, or says how long it will be opening or closing.
func (r *Registry) claim(name string) (a *app, left <-chan struct{}, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a = r.apps[name]
	switch {
	case a == nil:
		a = &app{name: name}
		r.apps[name] = a
	case a.state == isDeleting:
		return nil, nil, ErrDeleting
	case a.state != isOpen:
		return a, a.left, nil
	}
	a.state = isDeleting
	if a.users > 0 {
		a.unused = make(chan struct{})
	}
	return a, nil, nil
}

func (r *Registry) deleteApp(ctx context.Context, a *app) error {
	if a.db == nil { // it was not open
		defer r.forget(a)
		there, err := r.exists(a.name)
		if err != nil {
			return err
		}
		if !there {
			return ErrNotFound
		}
		return r.removeApp(ctx, a.name)
	}
	if err := r.untilUnused(ctx, a); err != nil {
		return err
	}
	r.mu.Lock()
	r.open.Remove(a.place)
	r.counters.Closes++
	r.mu.Unlock()
	defer r.freePlace()
	defer r.forget(a)
	if err := a.db.Close(); err != nil {
		r.opts.Logger.Error("closing an app", "app", a.name, "error", err) // no reason to keep it
	}
	return r.removeApp(ctx, a.name)
}

// untilUnused waits for the users of an app that is claimed, and lets go of the claim where it does so in vain.
func (r *Registry) untilUnused(ctx context.Context, a *app) (err error) {
	r.mu.Lock()
	unused := a.unused
	r.mu.Unlock()
	if unused == nil {
		return nil
	}
	select {
	case <-unused:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-r.closing:
		err = ErrClosed
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	a.state, a.unused = isOpen, nil
	if a.users == 0 {
		r.offer(a)
	}
	return err
}

func (r *Registry) removeApp(ctx context.Context, name string) error {
	if err := r.removeFiles(name); err != nil {
		return err
	}
	r.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "app deleted", slog.String("app", name))
	return nil
}

// forget ends the claim on an app that is gone.
func (r *Registry) forget(a *app) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.apps, a.name)
}
