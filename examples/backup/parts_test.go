package main

import (
	"bytes"
	"errors"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/backup"
)

func at(s string) time.Time {
	t, err := time.Parse("2006-01-02 15:04", s)
	if err != nil {
		panic(err)
	}
	return t
}

func TestRetentionKeepsTheNewestOfHoursAndDays(t *testing.T) {
	t.Parallel()
	all := []string{ // newest first
		"2025-03-10 12:45", "2025-03-10 12:15", "2025-03-10 11:59", "2025-03-10 11:00", "2025-03-10 08:30",
		"2025-03-09 23:00", "2025-03-09 01:00", "2025-03-07 13:00", "2025-02-01 00:30", "2025-02-01 00:10",
	}
	for name, c := range map[string]struct {
		hourly, daily int
		kept          []string
	}{
		"the newest alone":          {0, 0, all[:1]},
		"hours":                     {2, 0, []string{all[0], all[2]}},
		"hours without a copy":      {4, 0, []string{all[0], all[2], all[4], all[5]}},
		"days":                      {0, 2, []string{all[0], all[5]}},
		"days without a copy":       {0, 4, []string{all[0], all[5], all[7], all[8]}},
		"both, which overlap":       {3, 3, []string{all[0], all[2], all[4], all[5], all[7]}},
		"more than there are":       {99, 99, []string{all[0], all[2], all[4], all[5], all[6], all[7], all[8]}},
		"one hour, and one day too": {1, 1, all[:1]},
	} {
		t.Run(name, func(t *testing.T) {
			var copies []saved
			for _, s := range all {
				copies = append(copies, saved{path: s, time: at(s)})
			}
			kept := slices.Clone(all)
			for _, old := range expired(copies, c.hourly, c.daily) {
				kept = slices.DeleteFunc(kept, func(s string) bool { return s == old.path })
			}
			assert.Equal(t, c.kept, kept)
		})
	}
	assert.Empty(t, expired(nil, 1, 1))
}

func TestRestartDoesNotMoveTheSchedule(t *testing.T) {
	t.Parallel()
	now := at("2025-03-10 12:00")
	ago := func(d time.Duration) []saved { return []saved{{time: now.Add(-d)}} }
	assert.Zero(t, firstWait(nil, now, time.Hour), "no copy yet")
	assert.Equal(t, 40*time.Minute, firstWait(ago(20*time.Minute), now, time.Hour))
	assert.Zero(t, firstWait(ago(3*time.Hour), now, time.Hour), "overdue")
	assert.Equal(t, time.Hour, firstWait(ago(-5*time.Hour), now, time.Hour), "a clock that was set back")
}

func TestFolderListsCopiesOfThisDatabaseNewestFirst(t *testing.T) {
	t.Parallel()
	f := folder{dir: t.TempDir(), prefix: prefixOf("/data/app.db")}
	first, second := f.path(at("2025-03-10 12:00")), f.path(at("2025-03-10 13:00"))
	assert.Equal(t, "app-20250310T120000.000Z.db", filepath.Base(first))
	for _, path := range []string{
		first, second, filepath.Join(f.dir, "other-20250310T120000.000Z.db"), filepath.Join(f.dir, "app-yesterday.db"),
		first + "-wal", filepath.Join(f.dir, "notes.txt"),
	} {
		require.NoError(t, os.WriteFile(path, []byte("four"), 0o600))
	}
	require.NoError(t, os.Mkdir(f.path(at("2025-03-10 14:00")), 0o700))
	copies, err := f.list()
	require.NoError(t, err)
	assert.Equal(t, []saved{{second, at("2025-03-10 13:00"), 4}, {first, at("2025-03-10 12:00"), 4}}, copies)
	copies, err = folder{dir: filepath.Join(f.dir, "missing")}.list()
	require.NoError(t, err)
	assert.Empty(t, copies)
}

func TestBarIsOneLineThatGrows(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "[                                        ]   0 %       0.0 MB       ", bar(backup.Progress{PagesLeft: 8, PagesTotal: 8}))
	assert.Equal(t, "[##########                              ]  25 %       8.2 MB     9s", bar(backup.Progress{PagesLeft: 6, PagesTotal: 8, BytesDone: 8192000, Elapsed: 3 * time.Second}))
	assert.Equal(t, "[########################################] 100 %      32.8 MB       ", bar(backup.Progress{PagesTotal: 8, BytesDone: 32768000, Elapsed: 12 * time.Second}))
	var out bytes.Buffer
	show := showProgress(&out)
	for left := 1000; left >= 0; left-- {
		require.NoError(t, show(backup.Progress{PagesLeft: left, PagesTotal: 1000, Elapsed: time.Duration(1000-left) * time.Millisecond}))
	}
	assert.Equal(t, 21, bytes.Count(out.Bytes(), []byte("\r")), "not more often than the eye can follow")
	assert.True(t, bytes.HasSuffix(out.Bytes(), []byte("\n")))
	assert.Nil(t, showProgress(nil))
}

func TestFlagsOverrideTheEnvironmentWhichOverridesDefaults(t *testing.T) {
	t.Parallel()
	environment := map[string]string{"BACKUP_DB": "env.db", "BACKUP_EVERY": "5m", "BACKUP_LOG_LEVEL": "WARN"}
	cfg, err := parseConfig([]string{"verify", "-every", "7m", "a", "b"}, func(name string) string { return environment[name] })
	require.NoError(t, err)
	assert.Equal(t, config{
		command: "verify", args: []string{"a", "b"}, database: "env.db", dir: "backups", every: 7 * time.Minute,
		hourly: 24, daily: 14, beat: time.Second, logLevel: slog.LevelWarn,
	}, cfg)
}

func TestConfigurationThatMakesNoSenseIsAnError(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"no command": {}, "unknown command": {"dance"}, "unknown flag": {"run", "-no-such-flag"}, "stray argument": {"run", "a"},
		"no interval": {"run", "-every", "0"}, "negative number": {"run", "-daily", "-1"},
	} {
		_, err := parseConfig(args, noEnvironment)
		assert.Error(t, err, name)
		assert.False(t, errors.Is(err, flag.ErrHelp), name)
	}
	_, err := parseConfig([]string{"run"}, func(name string) string { return map[string]string{"BACKUP_HOURLY": "many"}[name] })
	assert.ErrorContains(t, err, "BACKUP_HOURLY")
}
