// Crud is a JSON service for users over net/http, as one would run it: configured by flags and environment, with limits and
// timeouts, structured logs, and a shutdown that loses nothing.
//
// main.go puts the parts together; config.go is what can be configured, server.go the HTTP server's life, routes.go its
// routes, json.go how requests and answers look, errors.go which error becomes which status, users.go the SQL.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/sanelite/sanelite/sqlitex"
)

func main() {
	cfg, err := parseConfig(os.Args[1:], os.Getenv)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintf(os.Stderr, "crud: %v; -h lists the flags\n", err)
		os.Exit(2)
	}
	log := slog.New(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{Level: cfg.logLevel}))

	if os.Getenv("GOGC") == "" {
		// What lives on Go's heap are a few megabytes, the data are in SQLite's memory: the collector would run dozens of times in a
		// second. Twelve megabytes more spare a tenth of the processor time.
		debug.SetGCPercent(400)
	}

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx, cfg, log); err != nil {
		log.Error("stopped", "error", err)
		os.Exit(1)
	}
}

// run serves until ctx ends. When it returns, every request has been answered and the database is closed.
func run(ctx context.Context, cfg config, log *slog.Logger) (err error) {
	db, err := sqlitex.Open(ctx, cfg.database, &sqlitex.Options{Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeDatabase(db, cfg)) }()
	users, err := openUsers(ctx, db)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", cfg.address)
	if err != nil {
		return err
	}
	return serve(ctx, listener, newAPI(users, db, cfg, log), cfg, log)
}

// closeDatabase waits for what still runs, and interrupts it when the time is over: it leaves nothing behind then.
func closeDatabase(db *sqlitex.DB, cfg config) error {
	ctx, cancel := context.WithTimeout(context.Background(), cfg.shutdownTimeout)
	defer cancel()
	return db.CloseContext(ctx)
}
