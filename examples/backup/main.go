// Backup is a service that backs itself up: every interval to a folder, where some hourly and daily copies are kept; it restores
// itself on start when its database is missing. The same program makes, lists, verifies and restores copies by hand.
//
// main.go is the commands, config.go what can be configured, service.go the service, folder.go the copies in their folder,
// retention.go which of them are kept, progress.go the bar on a terminal.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/sanelite/sanelite/backup"
	"github.com/sanelite/sanelite/sqlitex"
)

func main() {
	cfg, err := parseConfig(os.Args[1:], os.Getenv)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintf(os.Stderr, "backup: %v; -h lists commands and flags\n", err)
		os.Exit(2)
	}
	a := &app{
		config: cfg,
		folder: folder{dir: cfg.dir, prefix: prefixOf(cfg.database)},
		log:    slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: cfg.logLevel})),
		out:    os.Stdout,
	}
	if isTerminal(os.Stderr) && cfg.command != "run" { // the bar and log lines would spoil each other
		a.bar = os.Stderr
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := a.do(ctx); err != nil {
		a.log.Error(cfg.command+" failed", "error", err)
		os.Exit(1)
	}
}

// app is the program with all that it was given.
type app struct {
	config
	folder folder
	log    *slog.Logger
	out    io.Writer
	bar    io.Writer // nil: no progress is shown
}

// do runs the command.
func (a *app) do(ctx context.Context) error {
	switch a.command {
	case "run":
		return a.run(ctx)
	case "backup":
		return a.backup(ctx)
	case "list":
		return a.list()
	case "verify":
		return a.verify(ctx)
	case "restore":
		return a.restore(ctx)
	}
	return fmt.Errorf("unknown command %q", a.command)
}

// backup makes one copy, also beside a service that runs.
func (a *app) backup(ctx context.Context) (err error) {
	db, err := sqlitex.Open(ctx, a.database, &sqlitex.Options{Mode: sqlitex.ReadWrite, Logger: a.log}) // not a new one
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return a.copy(ctx, db)
}

// copy makes a copy of db in the folder, and deletes those that are no longer to be kept.
func (a *app) copy(ctx context.Context, db backup.Source) error {
	path := a.folder.path(time.Now())
	result, err := backup.To(ctx, db, path, &backup.Options{BytesPerSecond: a.rate, Progress: showProgress(a.bar)})
	if err != nil {
		return err
	}
	a.log.Info("backed up", "file", path, "bytes", result.Bytes, "took", result.Duration, "verified", result.Verified)
	return a.prune()
}

// prune deletes copies that are not to be kept. It is called after a copy has succeeded, never else: where none do, none may go.
func (a *app) prune() error {
	copies, err := a.folder.list()
	if err != nil {
		return err
	}
	var failed error
	for _, c := range expired(copies, a.hourly, a.daily) {
		if err := os.Remove(c.path); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		a.log.Info("deleted", "file", c.path)
	}
	return failed
}

func (a *app) list() error {
	copies, err := a.folder.list()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, c := range copies {
		fmt.Fprintf(w, "%s\t%d bytes\t%s\n", c.time.Format(time.RFC3339), c.bytes, c.path)
	}
	return w.Flush()
}

// verify checks the copies that were named, else all. It goes on after one that is damaged.
func (a *app) verify(ctx context.Context) error {
	paths := a.args
	if len(paths) == 0 {
		copies, err := a.folder.list()
		if err != nil {
			return err
		}
		for _, c := range copies {
			paths = append(paths, c.path)
		}
	}
	bad := 0
	for _, path := range paths {
		err := backup.Verify(ctx, path)
		if err := ctx.Err(); err != nil {
			return err
		}
		verdict := "ok"
		if err != nil {
			bad++
			verdict = err.Error()
		}
		fmt.Fprintf(a.out, "%s: %s\n", path, verdict)
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d copies are not good", bad, len(paths))
	}
	return nil
}

// restore puts the copy that was named, else the newest good one, in the place of the database. The service must not run.
func (a *app) restore(ctx context.Context) error {
	if len(a.args) > 1 {
		return errors.New("restore takes one file")
	}
	if len(a.args) == 1 {
		return a.restoreFrom(ctx, a.args[0])
	}
	found, err := a.restoreNewest(ctx)
	if err == nil && !found {
		err = fmt.Errorf("there is no copy in %q", a.dir)
	}
	return err
}

func (a *app) restoreFrom(ctx context.Context, path string) error {
	result, err := backup.RestoreFile(ctx, path, a.database, &backup.Options{Progress: showProgress(a.bar)})
	if err != nil {
		return err
	}
	a.log.Info("restored", "from", path, "database", a.database, "bytes", result.Bytes, "took", result.Duration)
	return nil
}

// restoreNewest restores the newest copy that passes its check. It reports false where there are no copies at all; copies of
// which none is good are an error.
func (a *app) restoreNewest(ctx context.Context) (found bool, err error) {
	copies, err := a.folder.list()
	if err != nil || len(copies) == 0 {
		return false, err
	}
	var damaged error
	for _, c := range copies {
		err := a.restoreFrom(ctx, c.path)
		if !errors.Is(err, sqlitex.ErrCheckFailed) {
			return err == nil, err
		}
		a.log.Warn("this copy is damaged", "file", c.path, "error", err)
		damaged = errors.Join(damaged, err)
	}
	return false, damaged
}
