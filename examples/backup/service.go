package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/sanelite/sanelite/backup"
	"github.com/sanelite/sanelite/sqlitex"
)

const schema = `CREATE TABLE IF NOT EXISTS beats (id INTEGER PRIMARY KEY, at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP) STRICT`

// run serves until ctx ends: it writes a row every beat, in the place of what a real service does, and backs itself up.
func (a *app) run(ctx context.Context) error {
	err := a.serve(ctx)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil // told to stop while it was still starting
	}
	return err
}

func (a *app) serve(ctx context.Context) (err error) {
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		return err
	}
	if err := a.restoreMissing(ctx); err != nil {
		return err
	}
	db, err := sqlitex.Open(ctx, a.database, &sqlitex.Options{Logger: a.log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.Exec(ctx, schema); err != nil {
		return err
	}
	a.sweep()
	a.log.Info("running", "database", a.database, "backups", a.dir, "every", a.every)

	backups := make(chan struct{})
	go func() {
		defer close(backups)
		a.schedule(ctx, db)
	}()
	defer func() { <-backups }() // before the database is closed
	return a.work(ctx, db)
}

// restoreMissing brings the database back where it is gone. Where there are no copies either, this is a new service; where there
// are some and none is good, it must not begin with nothing, as if there had never been any data.
func (a *app) restoreMissing(ctx context.Context) error {
	if _, err := os.Lstat(a.database); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	found, err := a.restoreNewest(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("the database is missing, and cannot be restored: %w", err)
	case !found:
		a.log.Info("beginning with a new database", "database", a.database)
	}
	return nil
}

// sweep deletes what a killed process has left half-done in the folder. None that is a day old is of one that still runs.
func (a *app) sweep() {
	left, _ := filepath.Glob(filepath.Join(a.dir, backup.LeftoverPattern)) // the pattern is well formed
	for _, path := range left {
		if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			a.log.Info("deleting a leftover", "file", path, "error", os.Remove(path))
		}
	}
}

// schedule makes copies until ctx ends. One that fails is logged, and the next is tried when it is due.
func (a *app) schedule(ctx context.Context, db backup.Source) {
	copies, err := a.folder.list()
	if err != nil {
		a.log.Error("the folder of the copies cannot be read", "error", err)
	}
	timer := time.NewTimer(firstWait(copies, time.Now(), a.every))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if err := a.copy(ctx, db); err != nil && ctx.Err() == nil {
			a.log.Error("backup failed", "error", err)
		}
		timer.Reset(a.every)
	}
}

// firstWait is how long a service that has just started waits for its first copy: a restart does not move the schedule.
func firstWait(copies []saved, now time.Time, every time.Duration) time.Duration {
	if len(copies) == 0 {
		return 0
	}
	return min(max(0, every-now.Sub(copies[0].time)), every)
}

// work is what the service is for.
func (a *app) work(ctx context.Context, db *sqlitex.DB) error {
	ticker := time.NewTicker(a.beat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if _, err := db.Exec(ctx, `INSERT INTO beats DEFAULT VALUES`); err != nil && ctx.Err() == nil {
			return err
		}
	}
}
