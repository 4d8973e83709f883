package main

import (
	"errors"
	"flag"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
)

func TestMain(m *testing.M) {
	dbtest.Main(m, map[string]dbtest.Child{"guard": guard, "write": write})
}

func noEnvironment(string) string { return "" }

func TestFlagsOverrideTheEnvironmentWhichOverridesDefaults(t *testing.T) {
	environment := map[string]string{"NOTES_DB": "env.db", "NOTES_ADDR": "env:1", "NOTES_MOST_LOG": "7"}
	cfg, err := parseConfig([]string{"-addr", "flag:2"}, func(name string) string { return environment[name] })
	require.NoError(t, err)
	assert.Equal(t, config{
		address: "flag:2", database: "env.db", litestream: "litestream", mostLog: 7,
		logLevel: slog.LevelInfo, shutdownTimeout: 10 * time.Second,
	}, cfg)
}

func TestConfigurationThatMakesNoSenseIsAnError(t *testing.T) {
	for name, args := range map[string][]string{
		"unknown flag": {"-no-such-flag"}, "stray argument": {"serve"}, "bad duration": {"-shutdown-timeout", "soon"},
		"no log at all": {"-most-log", "0"}, "bad level": {"-log-level", "loud"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseConfig(args, noEnvironment)
			assert.Error(t, err)
			assert.False(t, errors.Is(err, flag.ErrHelp))
		})
	}
	_, err := parseConfig(nil, func(name string) string { return map[string]string{"NOTES_MOST_LOG": "much"}[name] })
	assert.ErrorContains(t, err, "NOTES_MOST_LOG")
}
