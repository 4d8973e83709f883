package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"
)

// config is what can be configured: by a flag, else by an environment variable, else by the default.
type config struct {
	address         string
	database        string
	logLevel        slog.Level
	maxBody         int64         // bytes of a request's body
	requestTimeout  time.Duration // for the work on one request, waiting for the database included
	shutdownTimeout time.Duration // for the requests that are under way when the service is told to stop
}

func parseConfig(args []string, getenv func(string) string) (config, error) {
	cfg := config{logLevel: slog.LevelInfo}
	flags := flag.NewFlagSet("crud", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the caller prints the error, once
	flags.StringVar(&cfg.address, "addr", "127.0.0.1:8080", "`address` to listen on (CRUD_ADDR)")
	flags.StringVar(&cfg.database, "db", "crud.db", "database `file` (CRUD_DB)")
	flags.TextVar(&cfg.logLevel, "log-level", cfg.logLevel, "DEBUG, INFO, WARN or ERROR (CRUD_LOG_LEVEL)")
	flags.Int64Var(&cfg.maxBody, "max-body", 64<<10, "largest request body in `bytes` (CRUD_MAX_BODY)")
	flags.DurationVar(&cfg.requestTimeout, "request-timeout", 5*time.Second, "bound of the work on one request (CRUD_REQUEST_TIMEOUT)")
	flags.DurationVar(&cfg.shutdownTimeout, "shutdown-timeout", 10*time.Second, "bound of a graceful shutdown (CRUD_SHUTDOWN_TIMEOUT)")

	// The environment comes first, so that flags override it.
	for name, variable := range map[string]string{
		"addr":             "CRUD_ADDR",
		"db":               "CRUD_DB",
		"log-level":        "CRUD_LOG_LEVEL",
		"max-body":         "CRUD_MAX_BODY",
		"request-timeout":  "CRUD_REQUEST_TIMEOUT",
		"shutdown-timeout": "CRUD_SHUTDOWN_TIMEOUT",
	} {
		if value := getenv(variable); value != "" {
			if err := flags.Set(name, value); err != nil {
				return cfg, fmt.Errorf("%s: %w", variable, err)
			}
		}
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(os.Stdout)
			flags.Usage()
		}
		return cfg, err
	}
	if flags.NArg() > 0 {
		return cfg, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if cfg.maxBody <= 0 || cfg.requestTimeout <= 0 || cfg.shutdownTimeout <= 0 {
		return cfg, errors.New("limits and timeouts must be positive")
	}
	return cfg, nil
}
