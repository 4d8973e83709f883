package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
)

// The test binary can run as the program itself: see TestASignalLeavesWholeBatches.
func TestMain(m *testing.M) {
	dbtest.Main(m, map[string]dbtest.Child{"load": func([]string) { main() }})
}

// observer is a display that calls a function.
type observer func(at position)

func (o observer) update(at position, _ int64, _ time.Duration) {
	if o != nil {
		o(at)
	}
}

func (observer) end() {}

func testConfig(t *testing.T, rows, batch int) config {
	t.Helper()
	cfg, err := parseConfig([]string{"-csv", filepath.Join(t.TempDir(), "in.csv"), "-db", dbtest.Path(t), "-batch", fmt.Sprint(batch)})
	require.NoError(t, err)
	if rows > 0 {
		require.NoError(t, generate(context.Background(), cfg.csv, rows))
	}
	return cfg
}

func runQuietly(ctx context.Context, cfg config, show display) error {
	return run(ctx, cfg, slog.New(slog.DiscardHandler), show)
}

// stored returns what is in the table, and checks that it is what the file says, from its beginning.
func stored(t *testing.T, cfg config) (rows int) {
	t.Helper()
	db := dbtest.OpenAt(t, cfg.database, nil, "")
	in, _, err := newSource(cfg.csv, 0)
	require.NoError(t, err)
	defer in.Close()
	for got, err := range sqlitex.Each[reading](context.Background(), db, `SELECT id, station, at, celsius, note FROM readings ORDER BY id`) {
		require.NoError(t, err)
		want, err := in.read(make([]reading, 0, 1))
		require.NoError(t, err)
		require.Len(t, want, 1)
		require.Equal(t, want[0], got)
		rows++
	}
	require.NoError(t, db.Close())
	return rows
}

func TestEveryRowArrivesAndNoneTwice(t *testing.T) {
	cfg := testConfig(t, 1234, 100)
	var seen []int64
	require.NoError(t, runQuietly(context.Background(), cfg, observer(func(at position) { seen = append(seen, at.Rows) })))
	assert.Len(t, seen, 13)
	assert.EqualValues(t, 1234, seen[12])
	assert.Equal(t, 1234, stored(t, cfg))

	require.NoError(t, runQuietly(context.Background(), cfg, observer(func(position) { assert.Fail(t, "there is nothing left to load") })))
	assert.Equal(t, 1234, stored(t, cfg))
}

func TestAnInterruptedLoadGoesOnBehindItsLastBatch(t *testing.T) {
	cfg := testConfig(t, 1000, 100)
	ctx, cancel := context.WithCancel(context.Background())
	err := runQuietly(ctx, cfg, observer(func(at position) {
		if at.Rows == 300 {
			cancel()
		}
	}))
	assert.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, "300 rows are in the database")
	assert.Equal(t, 300, stored(t, cfg))

	var first int64
	require.NoError(t, runQuietly(context.Background(), cfg, observer(func(at position) {
		if first == 0 {
			first = at.Rows
		}
	})))
	assert.EqualValues(t, 400, first)
	assert.Equal(t, 1000, stored(t, cfg))
}

func TestASignalLeavesWholeBatches(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals to send")
	}
	const rows, batch = 200_000, 500
	cfg := testConfig(t, rows, batch)
	child := dbtest.Command(t, "load", "-csv", cfg.csv, "-db", cfg.database, "-batch", fmt.Sprint(batch))
	child.Stderr = nil // the log is read here
	log, err := child.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	for lines := bufio.NewScanner(log); lines.Scan() && !strings.Contains(lines.Text(), "progress"); {
	}
	require.NoError(t, child.Process.Signal(syscall.SIGINT))
	interrupted := child.Wait() != nil // on a slow machine it may have been done already
	n := stored(t, cfg)
	assert.Zero(t, n%batch)
	assert.Positive(t, n)
	assert.Equal(t, interrupted, n < rows)
	require.NoError(t, runQuietly(context.Background(), cfg, observer(nil)))
	assert.Equal(t, rows, stored(t, cfg))
}

func TestABadRowIsNamedAndItsBatchIsNotLoaded(t *testing.T) {
	for what, bad := range map[string]string{
		"id":              "x,station-001,2020-01-01T00:00:00Z,1.5,\n",
		"at":              "251,station-001,yesterday,1.5,\n",
		"celsius":         "251,station-001,2020-01-01T00:00:00Z,warm,\n",
		"number of field": "251,station-001\n",
		"quote":           "251,\"station-001,2020-01-01T00:00:00Z,1.5,\n",
	} {
		t.Run(what, func(t *testing.T) {
			cfg := testConfig(t, 250, 100)
			f, err := os.OpenFile(cfg.csv, os.O_APPEND|os.O_WRONLY, 0)
			require.NoError(t, err)
			_, err = f.WriteString(bad)
			require.NoError(t, errors.Join(err, f.Close()))
			err = runQuietly(context.Background(), cfg, observer(nil))
			assert.ErrorContains(t, err, "row 251 of ")
			assert.ErrorContains(t, err, what)
			assert.Equal(t, 200, stored(t, cfg))
		})
	}
}

func TestARowThatTheTableRefusesIsNamed(t *testing.T) {
	cfg := testConfig(t, 250, 100)
	f, err := os.OpenFile(cfg.csv, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString("7,station-001,2020-01-01T00:00:00Z,1.5,\n")
	require.NoError(t, errors.Join(err, f.Close()))
	err = runQuietly(context.Background(), cfg, observer(nil))
	assert.ErrorIs(t, err, sqlitex.ErrUnique)
	assert.ErrorContains(t, err, "rows from 201: sqlite: row 51: ")
	assert.Equal(t, 200, stored(t, cfg))
}

func TestAFileThatIsNotTheSameIsRefused(t *testing.T) {
	cfg := testConfig(t, 100, 10)
	require.NoError(t, runQuietly(context.Background(), cfg, observer(nil)))
	require.NoError(t, generate(context.Background(), cfg.csv, 200))
	assert.ErrorContains(t, runQuietly(context.Background(), cfg, observer(nil)), "has changed since 100 rows")

	require.NoError(t, os.WriteFile(cfg.csv, []byte("a,b,c,d,e\n"), 0o600))
	cfg.database = dbtest.Path(t)
	assert.ErrorContains(t, runQuietly(context.Background(), cfg, observer(nil)), `column 1 is "a", want "id"`)
	cfg.csv += ".missing"
	assert.ErrorIs(t, runQuietly(context.Background(), cfg, observer(nil)), os.ErrNotExist)
}

func TestGenerateWritesTheSameFileEveryTime(t *testing.T) {
	a, b := testConfig(t, 0, 1), testConfig(t, 0, 1)
	a.generate, b.generate = 500, 500
	require.NoError(t, runQuietly(context.Background(), a, observer(nil)))
	require.NoError(t, runQuietly(context.Background(), b, observer(nil)))
	one, err := os.ReadFile(a.csv)
	require.NoError(t, err)
	two, err := os.ReadFile(b.csv)
	require.NoError(t, err)
	assert.Equal(t, string(one), string(two))
	assert.Equal(t, 501, bytes.Count(one, []byte("\n")))
}

func TestTheBarDrawsOverItself(t *testing.T) {
	var out bytes.Buffer
	b := &bar{out: &out}
	b.update(position{Size: 200, Bytes: 50, Rows: 100_000}, 100_000, 2*time.Second)
	b.update(position{Size: 200, Bytes: 200, Rows: 9}, 9, time.Second)
	b.end()
	assert.Equal(t, "\r[#######-----------------------]  25 %  100000 rows  50000 rows/s"+
		"\r[##############################] 100 %  9 rows  9 rows/s         \n", out.String())
}

func TestWithoutATerminalThereIsALineForEachTenth(t *testing.T) {
	cfg := testConfig(t, 1000, 10)
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	pipe, in, err := os.Pipe()
	require.NoError(t, err)
	defer pipe.Close()
	defer in.Close()
	require.NoError(t, run(context.Background(), cfg, log, newDisplay(in, log)))
	assert.Equal(t, 10, strings.Count(out.String(), "msg=progress"))
	assert.Contains(t, out.String(), "percent=100 rows=1000")
	assert.Contains(t, out.String(), "msg=loaded rows=1000 new=1000")
}

func TestFlagsThatMakeNoSenseAreAnError(t *testing.T) {
	for name, args := range map[string][]string{
		"unknown": {"-no-such-flag"}, "stray": {"in.csv"}, "no rows": {"-batch", "0"}, "negative": {"-generate", "-1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseConfig(args)
			assert.Error(t, err)
			assert.NotErrorIs(t, err, flag.ErrHelp)
		})
	}
}
