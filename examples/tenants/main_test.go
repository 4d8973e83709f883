package main

import (
	"errors"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
)

// The test binary can run as the service itself: see process_test.go.
func TestMain(m *testing.M) {
	dbtest.Main(m, map[string]dbtest.Child{"tenants": func([]string) { main() }})
}

// testConfig is for a folder of its own, whose databases are verified when the test has ended.
func testConfig(t testing.TB, more ...string) config {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "apps")
	t.Cleanup(func() { verifyFolder(t, dir) })
	cfg, err := parseConfig(append([]string{"-addr", "127.0.0.1:0", "-dir", dir}, more...), noEnvironment)
	require.NoError(t, err)
	return cfg
}

func noEnvironment(string) string { return "" }

// verifyFolder checks what a service that has ended leaves behind: databases that are whole, and nothing else.
func verifyFolder(t testing.TB, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	require.NoError(t, err)
	for _, e := range entries {
		if assert.Equal(t, ".db", filepath.Ext(e.Name()), "a side file is left") {
			dbtest.Verify(t, filepath.Join(dir, e.Name()))
		}
	}
}

func TestFlagsOverrideTheEnvironmentWhichOverridesDefaults(t *testing.T) {
	environment := map[string]string{
		"TENANTS_DIR": "env", "TENANTS_ADDR": "env:1", "TENANTS_LOG_LEVEL": "DEBUG", "TENANTS_MAX_OPEN": "7", "TENANTS_IDLE": "3s",
	}
	cfg, err := parseConfig([]string{"-addr", "flag:2", "-idle", "4s"}, func(name string) string { return environment[name] })
	require.NoError(t, err)
	assert.Equal(t, config{
		address: "flag:2", dir: "env", maxOpen: 7, idle: 4 * time.Second, logLevel: slog.LevelDebug,
		maxBody: 256 << 10, requestTimeout: 5 * time.Second, shutdownTimeout: 10 * time.Second,
	}, cfg)
}

func TestConfigurationThatMakesNoSenseIsAnError(t *testing.T) {
	for name, args := range map[string][]string{
		"unknown flag": {"-no-such-flag"}, "stray argument": {"serve"}, "bad duration": {"-idle", "soon"},
		"no body at all": {"-max-body", "0"}, "bad level": {"-log-level", "loud"}, "no place": {"-max-open", "0"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseConfig(args, noEnvironment)
			assert.Error(t, err)
			assert.False(t, errors.Is(err, flag.ErrHelp))
		})
	}
	_, err := parseConfig(nil, func(name string) string { return map[string]string{"TENANTS_MAX_OPEN": "many"}[name] })
	assert.ErrorContains(t, err, "TENANTS_MAX_OPEN")
}

func TestRunFailsWhereItCannotListenOrHasNoFolder(t *testing.T) {
	cfg := testConfig(t)
	cfg.address = "127.0.0.1:999999"
	assert.Error(t, run(t.Context(), cfg, slog.New(slog.DiscardHandler)))
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	cfg.dir = file
	assert.Error(t, run(t.Context(), cfg, slog.New(slog.DiscardHandler)))
}
