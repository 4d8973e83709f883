// Load reads a large CSV file into a table, in batches, with a progress bar. It can be stopped at any moment, and goes on where
// it was when it is started again.
//
// main.go is what can be configured, load.go the work, source.go the CSV file, progress.go what is shown meanwhile.
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
)

// config is what the flags say.
type config struct {
	csv      string
	database string
	batch    int
	generate int
}

func parseConfig(args []string) (config, error) {
	var cfg config
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the caller prints the error, once
	flags.StringVar(&cfg.csv, "csv", "readings.csv", "CSV `file`")
	flags.StringVar(&cfg.database, "db", "readings.db", "database `file`")
	flags.IntVar(&cfg.batch, "batch", 10_000, "rows per transaction")
	flags.IntVar(&cfg.generate, "generate", 0, "write a CSV file of so many `rows`, the same ones every time, and load nothing")
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
	case cfg.batch <= 0 || cfg.generate < 0:
		return cfg, errors.New("numbers of rows must be positive")
	}
	return cfg, nil
}

func main() {
	cfg, err := parseConfig(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintf(os.Stderr, "load: %v; -h lists the flags\n", err)
		os.Exit(2)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx, cfg, log, newDisplay(os.Stderr, log)); err != nil {
		log.Error("stopped", "error", err)
		os.Exit(1)
	}
}

// run does what cfg says.
func run(ctx context.Context, cfg config, log *slog.Logger, show display) error {
	if cfg.generate > 0 {
		if err := generate(ctx, cfg.csv, cfg.generate); err != nil {
			return err
		}
		log.Info("generated", "file", cfg.csv, "rows", cfg.generate)
		return nil
	}
	return load(ctx, cfg, log, show)
}
