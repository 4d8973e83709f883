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
)

// config is what can be configured: by a flag, else by an environment variable, else by the default.
type config struct {
	address         string
	database        string
	litestream      string // the program
	replication     string // its configuration; empty: nothing is restored
	mostLog         int64  // bytes of write-ahead log from which on the service calls itself degraded
	logLevel        slog.Level
	shutdownTimeout time.Duration
}

func parseConfig(args []string, getenv func(string) string) (config, error) {
	var cfg config
	flags := flag.NewFlagSet("litestream", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the caller prints the error, once
	flags.StringVar(&cfg.address, "addr", "127.0.0.1:8080", "`address` to listen on (NOTES_ADDR)")
	flags.StringVar(&cfg.database, "db", "notes.db", "database `file` (NOTES_DB)")
	flags.StringVar(&cfg.litestream, "litestream", "litestream", "`program` that restores (NOTES_LITESTREAM)")
	flags.StringVar(&cfg.replication, "replication", "", "Litestream's configuration `file`; a missing database is restored by it (NOTES_REPLICATION)")
	flags.Int64Var(&cfg.mostLog, "most-log", 1<<30, "`bytes` of write-ahead log from which on /health answers 503 (NOTES_MOST_LOG)")
	flags.TextVar(&cfg.logLevel, "log-level", slog.LevelInfo, "DEBUG, INFO, WARN or ERROR (NOTES_LOG_LEVEL)")
	flags.DurationVar(&cfg.shutdownTimeout, "shutdown-timeout", 10*time.Second, "bound of a graceful shutdown (NOTES_SHUTDOWN_TIMEOUT)")

	// The environment comes first, so that flags override it.
	var err error
	flags.VisitAll(func(f *flag.Flag) {
		variable := "NOTES_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
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
			flags.SetOutput(os.Stdout)
			flags.Usage()
		}
		return cfg, err
	}
	switch {
	case flags.NArg() > 0:
		return cfg, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case cfg.mostLog <= 0 || cfg.shutdownTimeout <= 0:
		return cfg, errors.New("limits and timeouts must be positive")
	}
	return cfg, nil
}
