package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// SQLite applies a log to the file that has its name, whichever that is.
func TestALogWithoutItsDatabaseIsNotAppliedToARestoredOne(t *testing.T) {
	t.Parallel()
	for _, left := range []string{"-wal", "-journal"} {
		cfg := config{database: filepath.Join(t.TempDir(), "notes.db"), litestream: "no-such-program", replication: "l.yml"}
		require.NoError(t, os.WriteFile(cfg.database+left, []byte("log"), 0o600))
		err := restoreMissing(t.Context(), cfg, slog.New(slog.DiscardHandler))
		require.ErrorContains(t, err, left+" is there without its database")
		assert.FileExists(t, cfg.database+left)
	}
}
