package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
)

// restoreMissing brings the database back from its replica where the file is missing: a new machine, a lost disk. Where there
// is no replica either, the service begins with an empty database.
func restoreMissing(ctx context.Context, cfg config, log *slog.Logger) error {
	if cfg.replication == "" {
		return nil
	}
	switch _, err := os.Stat(cfg.database); {
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	// SQLite would apply a log that was left behind to whatever file gets the name, and Litestream looks for one only where the
	// database exists. What is in the log may be worth keeping, so a person decides.
	for _, left := range []string{cfg.database + "-wal", cfg.database + "-journal"} {
		if _, err := os.Stat(left); err == nil {
			return fmt.Errorf("restore: %s is there without its database: move it away first", left)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	// Litestream writes a temporary file and renames it. Its two flags make a missing replica no error.
	cmd := exec.CommandContext(ctx, cfg.litestream, "restore",
		"-config", cfg.replication, "-if-db-not-exists", "-if-replica-exists", "-integrity-check", "quick", cfg.database)
	var words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &words, &words
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("restore: %w: %s", err, bytes.TrimSpace(words.Bytes()))
	}
	if _, err := os.Stat(cfg.database); err != nil {
		log.Warn("no database and no replica of it: beginning with an empty one", "database", cfg.database)
		return nil
	}
	log.Warn("restored from the replica", "database", cfg.database)
	return nil
}
