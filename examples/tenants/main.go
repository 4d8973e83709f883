// Tenants is a JSON service for documents over net/http that keeps the data of each app in an SQLite file of its own: hundreds
// of them open at once in one small process, many more on disk.
//
// main.go puts the parts together; config.go is what can be configured, database.go how a database is opened and what is in
// it, items.go the SQL, server.go the HTTP server's life, routes.go its routes, handlers.go and itemhandlers.go what they do,
// json.go how requests and answers look, errors.go which error becomes which status, memory.go what the process takes. Package apps opens and closes the databases.
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

	"github.com/sanelite/sanelite/examples/tenants/apps"
)

func main() {
	cfg, err := parseConfig(os.Args[1:], os.Getenv)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintf(os.Stderr, "tenants: %v; -h lists the flags\n", err)
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

// run serves until ctx ends. When it returns, every request has been answered and all databases are closed.
func run(ctx context.Context, cfg config, log *slog.Logger) (err error) {
	registry, err := apps.New(cfg.dir, registryOptions(cfg, log))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeApps(registry, cfg)) }()
	listener, err := net.Listen("tcp", cfg.address)
	if err != nil {
		return err
	}
	return serve(ctx, listener, newAPI(registry, cfg, log), cfg, log)
}

// closeApps waits for what still runs, and interrupts it when the time is over: it leaves nothing behind then.
func closeApps(registry *apps.Registry, cfg config) error {
	ctx, cancel := context.WithTimeout(context.Background(), cfg.shutdownTimeout)
	defer cancel()
	return registry.Close(ctx)
}
