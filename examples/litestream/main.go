// Litestream is a service whose database is copied elsewhere all the time by another program, Litestream
// (https://litestream.io). What was committed survives the loss of the machine, but for the last second.
//
// main.go puts the parts together; config.go is what can be configured, restore.go brings a lost database back, notes.go is the
// service, health.go tells when nobody copies any more.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sanelite/sanelite/sqlitex"
)

func main() {
	cfg, err := parseConfig(os.Args[1:], os.Getenv)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintf(os.Stderr, "litestream: %v; -h lists the flags\n", err)
		os.Exit(2)
	}
	log := slog.New(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{Level: cfg.logLevel}))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx, cfg, log); err != nil {
		log.Error("stopped", "error", err)
		os.Exit(1)
	}
}

// run serves until ctx ends. When it returns, every request has been answered and the database is closed.
func run(ctx context.Context, cfg config, log *slog.Logger) (err error) {
	if err := restoreMissing(ctx, cfg, log); err != nil {
		return err
	}
	db, err := sqlitex.Open(ctx, cfg.database, &sqlitex.Options{
		// Litestream reads the write-ahead log, and must have copied it before anybody starts it over: it alone checkpoints.
		Checkpoints: sqlitex.CheckpointsExternal,
		Logger:      log,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.Exec(ctx, schema); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", cfg.address)
	if err != nil {
		return err
	}
	return serve(ctx, listener, newAPI(db, cfg, log), cfg, log)
}

// serve answers requests on listener until ctx ends, then takes no new ones and waits for those under way.
func serve(ctx context.Context, listener net.Listener, handler http.Handler, cfg config, log *slog.Logger) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      20 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	log.Info("listening", "address", listener.Addr().String(), "database", cfg.database)

	select {
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), cfg.shutdownTimeout)
	defer cancel()
	err := server.Shutdown(grace)
	if err != nil {
		err = errors.Join(fmt.Errorf("shutdown: %w", err), server.Close())
	}
	if e := <-served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}
