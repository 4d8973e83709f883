package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/sanelite/sanelite/examples/chirp/social"
)

// config is what can be configured: by a flag, else by an environment variable, else by the default.
type config struct {
	command         string // serve or seed
	address         string
	database        string
	logLevel        slog.Level
	requestTimeout  time.Duration
	shutdownTimeout time.Duration
	sizes           social.Sizes // of seed
}

const usage = `usage: chirp [serve|seed] [flags]

  serve    the service (default)
  seed     make a network with invented people, in a new file

flags, each with its environment variable:
`

func parseConfig(args []string, getenv func(string) string) (config, error) {
	cfg := config{command: "serve", sizes: social.DefaultSizes}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		cfg.command, args = args[0], args[1:]
	}
	flags := flag.NewFlagSet("chirp", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the caller prints the error, once
	flags.StringVar(&cfg.address, "addr", "127.0.0.1:8080", "`address` to listen on (CHIRP_ADDR)")
	flags.StringVar(&cfg.database, "db", "chirp.db", "database `file` (CHIRP_DB)")
	flags.TextVar(&cfg.logLevel, "log-level", slog.LevelInfo, "DEBUG, INFO, WARN or ERROR (CHIRP_LOG_LEVEL)")
	flags.DurationVar(&cfg.requestTimeout, "request-timeout", 5*time.Second, "bound of the work on one request (CHIRP_REQUEST_TIMEOUT)")
	flags.DurationVar(&cfg.shutdownTimeout, "shutdown-timeout", 10*time.Second, "bound of a graceful shutdown (CHIRP_SHUTDOWN_TIMEOUT)")
	flags.IntVar(&cfg.sizes.Users, "users", cfg.sizes.Users, "seed: `number` of users (CHIRP_USERS)")
	flags.IntVar(&cfg.sizes.Posts, "posts", cfg.sizes.Posts, "seed: `number` of posts (CHIRP_POSTS)")
	flags.IntVar(&cfg.sizes.Follows, "follows", cfg.sizes.Follows, "seed: `number` of follows (CHIRP_FOLLOWS)")
	flags.IntVar(&cfg.sizes.Likes, "likes", cfg.sizes.Likes, "seed: `number` of likes (CHIRP_LIKES)")
	flags.Uint64Var(&cfg.sizes.Seed, "seed", cfg.sizes.Seed, "seed: the same `number` makes the same network (CHIRP_SEED)")

	// The environment comes first, so that flags override it.
	var err error
	flags.VisitAll(func(f *flag.Flag) {
		variable := "CHIRP_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if value := getenv(variable); value != "" && err == nil {
			if setErr := flags.Set(f.Name, value); setErr != nil {
				err = fmt.Errorf("%s: %w", variable, setErr)
			}
		}
	})
	if err != nil {
		return cfg, err
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Print(usage)
			flags.SetOutput(os.Stdout)
			flags.PrintDefaults()
		}
		return cfg, err
	}
	switch {
	case cfg.command != "serve" && cfg.command != "seed":
		return cfg, fmt.Errorf("unknown command %q", cfg.command)
	case flags.NArg() > 0:
		return cfg, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case cfg.requestTimeout <= 0 || cfg.shutdownTimeout <= 0:
		return cfg, errors.New("timeouts must be positive")
	}
	return cfg, nil
}
