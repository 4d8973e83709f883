package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
)

// The test binary can run as the service itself: see TestSignalsStopTheProcessCleanly.
func TestMain(m *testing.M) {
	dbtest.Main(m, map[string]dbtest.Child{"crud": func([]string) { main() }})
}

func testConfig(t testing.TB) config {
	t.Helper()
	cfg, err := parseConfig([]string{"-addr", "127.0.0.1:0", "-db", dbtest.Path(t)}, noEnvironment)
	require.NoError(t, err)
	return cfg
}

func noEnvironment(string) string { return "" }

func TestFlagsOverrideTheEnvironmentWhichOverridesDefaults(t *testing.T) {
	environment := map[string]string{"CRUD_DB": "env.db", "CRUD_ADDR": "env:1", "CRUD_LOG_LEVEL": "WARN", "CRUD_REQUEST_TIMEOUT": "3s"}
	cfg, err := parseConfig([]string{"-addr", "flag:2"}, func(name string) string { return environment[name] })
	require.NoError(t, err)
	assert.Equal(t, config{
		address: "flag:2", database: "env.db", logLevel: slog.LevelWarn,
		maxBody: 64 << 10, requestTimeout: 3 * time.Second, shutdownTimeout: 10 * time.Second,
	}, cfg)
}

func TestConfigurationThatMakesNoSenseIsAnError(t *testing.T) {
	for name, args := range map[string][]string{
		"unknown flag": {"-no-such-flag"}, "stray argument": {"serve"}, "bad duration": {"-request-timeout", "soon"},
		"no body at all": {"-max-body", "0"}, "bad level": {"-log-level", "loud"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseConfig(args, noEnvironment)
			assert.Error(t, err)
			assert.False(t, errors.Is(err, flag.ErrHelp))
		})
	}
	_, err := parseConfig(nil, func(name string) string { return map[string]string{"CRUD_MAX_BODY": "much"}[name] })
	assert.ErrorContains(t, err, "CRUD_MAX_BODY")
}

func TestRunFailsWhereItCannotListenOrOpen(t *testing.T) {
	cfg := testConfig(t)
	cfg.address = "127.0.0.1:999999"
	assert.Error(t, run(context.Background(), cfg, slog.New(slog.DiscardHandler)))
	cfg.database = t.TempDir()
	assert.ErrorContains(t, run(context.Background(), cfg, slog.New(slog.DiscardHandler)), "is a directory")
}
