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
	dir             string
	maxOpen         int
	idle            time.Duration
	logLevel        slog.Level
	maxBody         int64         // bytes of a request's body
	requestTimeout  time.Duration // for the work on one request, waiting for a database included
	shutdownTimeout time.Duration // for the requests that are under way when the service is told to stop, and again to close the databases
}

func parseConfig(args []string, getenv func(string) string) (config, error) {
	cfg := config{logLevel: slog.LevelInfo}
	flags := flag.NewFlagSet("tenants", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the caller prints the error, once
	flags.StringVar(&cfg.address, "addr", "127.0.0.1:8080", "`address` to listen on (TENANTS_ADDR)")
	flags.StringVar(&cfg.dir, "dir", "tenants", "`folder` of the databases, created if there is none (TENANTS_DIR)")
	flags.IntVar(&cfg.maxOpen, "max-open", 256, "databases that may be open at once (TENANTS_MAX_OPEN)")
	flags.DurationVar(&cfg.idle, "idle", time.Minute, "time after which a database that nobody uses is closed (TENANTS_IDLE)")
	flags.TextVar(&cfg.logLevel, "log-level", cfg.logLevel, "DEBUG, with a line for each request, INFO, WARN or ERROR (TENANTS_LOG_LEVEL)")
	flags.Int64Var(&cfg.maxBody, "max-body", 256<<10, "largest request body in `bytes` (TENANTS_MAX_BODY)")
	flags.DurationVar(&cfg.requestTimeout, "request-timeout", 5*time.Second, "bound of the work on one request (TENANTS_REQUEST_TIMEOUT)")
	flags.DurationVar(&cfg.shutdownTimeout, "shutdown-timeout", 10*time.Second, "bound of a graceful shutdown (TENANTS_SHUTDOWN_TIMEOUT)")

	// The environment comes first, so that flags override it.
	for name, variable := range map[string]string{
		"addr":             "TENANTS_ADDR",
		"dir":              "TENANTS_DIR",
		"max-open":         "TENANTS_MAX_OPEN",
		"idle":             "TENANTS_IDLE",
		"log-level":        "TENANTS_LOG_LEVEL",
		"max-body":         "TENANTS_MAX_BODY",
		"request-timeout":  "TENANTS_REQUEST_TIMEOUT",
		"shutdown-timeout": "TENANTS_SHUTDOWN_TIMEOUT",
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
	if cfg.maxOpen <= 0 || cfg.idle <= 0 || cfg.maxBody <= 0 || cfg.requestTimeout <= 0 || cfg.shutdownTimeout <= 0 {
		return cfg, errors.New("limits and times must be positive")
	}
	return cfg, nil
}
