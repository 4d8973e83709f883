package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"
)

// config is what can be configured: by a flag, else by an environment variable, else by the default.
type config struct {
	command string
	args    []string // files

	database string
	dir      string        // where copies go
	every    time.Duration // from one copy to the next
	hourly   int           // how many hours have their newest copy kept
	daily    int           // likewise days
	rate     int64         // bytes per second; 0: as fast as it goes
	beat     time.Duration // how often the service has something to write
	logLevel slog.Level
}

var commands = []string{"run", "backup", "list", "verify", "restore"}

const usage = `usage: backup COMMAND [flags] [files]

  run               the service; it copies its database every interval, and restores it on start when it is missing
  backup            make a copy now, also beside the service
  list              list the copies, newest first
  verify [files]    check copies, all of them by default
  restore [file]    put a copy in the place of the database, the newest good one by default; the service must not run

flags, each with its environment variable:
`

func parseConfig(args []string, getenv func(string) string) (config, error) {
	var cfg config
	flags := flag.NewFlagSet("backup", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the caller prints the error, once
	flags.StringVar(&cfg.database, "db", "app.db", "database `file` (BACKUP_DB)")
	flags.StringVar(&cfg.dir, "dir", "backups", "`folder` of the copies, best on another disk (BACKUP_DIR)")
	flags.DurationVar(&cfg.every, "every", time.Hour, "time from one copy to the next (BACKUP_EVERY)")
	flags.IntVar(&cfg.hourly, "hourly", 24, "`number` of hours whose newest copy is kept (BACKUP_HOURLY)")
	flags.IntVar(&cfg.daily, "daily", 14, "`number` of days whose newest copy is kept (BACKUP_DAILY)")
	flags.Int64Var(&cfg.rate, "rate", 0, "most `bytes` copied per second, 0 for no bound (BACKUP_RATE)")
	flags.DurationVar(&cfg.beat, "beat", time.Second, "how often the service writes a row (BACKUP_BEAT)")
	flags.TextVar(&cfg.logLevel, "log-level", slog.LevelInfo, "DEBUG, INFO, WARN or ERROR (BACKUP_LOG_LEVEL)")

	// The environment comes first, so that flags override it.
	var err error
	flags.VisitAll(func(f *flag.Flag) {
		variable := "BACKUP_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if value := getenv(variable); value != "" && err == nil {
			if e := flags.Set(f.Name, value); e != nil {
				err = fmt.Errorf("%s: %w", variable, e)
			}
		}
	})
	if err != nil {
		return cfg, err
	}
	if len(args) > 0 && slices.Contains(commands, args[0]) {
		cfg.command, args = args[0], args[1:]
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Print(usage)
			flags.SetOutput(os.Stdout)
			flags.PrintDefaults()
		}
		return cfg, err
	}
	cfg.args = flags.Args()
	return cfg, cfg.check()
}

func (cfg *config) check() error {
	switch {
	case cfg.command == "" && len(cfg.args) > 0:
		return fmt.Errorf("unknown command %q", cfg.args[0])
	case cfg.command == "":
		return fmt.Errorf("which command? One of %s", strings.Join(commands, ", "))
	case cfg.command != "verify" && cfg.command != "restore" && len(cfg.args) > 0:
		return fmt.Errorf("unexpected argument %q", cfg.args[0])
	case cfg.every <= 0 || cfg.beat <= 0:
		return errors.New("intervals must be positive")
	case cfg.hourly < 0 || cfg.daily < 0 || cfg.rate < 0:
		return errors.New("numbers must not be negative")
	}
	return nil
}
