// Chirp is a social network on one machine, in one file: people post, follow and like, and read the newest posts of those whom
// they follow, as JSON and as a page for a browser.
//
// main.go is the commands; config.go is what can be configured, server.go the HTTP server's life, routes.go the API, json.go how
// requests and answers look, page.go and the folder page the page, progress.go the bar of `chirp seed`. Package social is the
// network itself.
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
	"syscall"
	"time"

	"github.com/sanelite/sanelite/examples/chirp/social"
	"github.com/sanelite/sanelite/sqlitex"
)

func main() {
	cfg, err := parseConfig(os.Args[1:], os.Getenv)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintf(os.Stderr, "chirp: %v; -h lists commands and flags\n", err)
		os.Exit(2)
	}
	log := slog.New(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{Level: cfg.logLevel}))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx, cfg, log); err != nil {
		log.Error(cfg.command+" failed", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, cfg config, log *slog.Logger) error {
	if cfg.command == "seed" {
		return seed(ctx, cfg, log)
	}
	return serveNetwork(ctx, cfg, log)
}

// serveNetwork serves until ctx ends. When it returns, every request has been answered and the database is closed.
func serveNetwork(ctx context.Context, cfg config, log *slog.Logger) (err error) {
	network, err := social.Open(ctx, cfg.database, &sqlitex.Options{Logger: log})
	if err != nil {
		return err
	}
	defer func() {
		grace, cancel := context.WithTimeout(context.Background(), cfg.shutdownTimeout)
		defer cancel()
		err = errors.Join(err, network.Close(grace))
	}()
	listener, err := net.Listen("tcp", cfg.address)
	if err != nil {
		return err
	}
	return serve(ctx, listener, newAPI(network, cfg, log), cfg, log)
}

// seed makes a network to try things out with.
func seed(ctx context.Context, cfg config, log *slog.Logger) error {
	begin, show := time.Now(), newProgress(os.Stderr)
	err := social.Seed(ctx, cfg.database, cfg.sizes, show.update)
	show.end()
	if err != nil {
		return err
	}
	log.Info("seeded", "database", cfg.database, "users", cfg.sizes.Users, "posts", cfg.sizes.Posts, "follows", cfg.sizes.Follows,
		"likes", cfg.sizes.Likes, "took", time.Since(begin).Round(time.Millisecond).String())
	return nil
}
