package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
)

// The test binary can run as the service itself.
func TestMain(m *testing.M) {
	dbtest.Main(m, map[string]dbtest.Child{"notes": func([]string) { main() }})
}

func noEnvironment(string) string { return "" }

func TestFlagsOverrideTheEnvironmentWhichOverridesDefaults(t *testing.T) {
	t.Parallel()
	environment := map[string]string{"NOTES_DB": "env.db", "NOTES_ADDR": "env:1", "NOTES_MOST_LOG": "4096", "NOTES_REPLICATION": "l.yml"}
	cfg, err := parseConfig([]string{"-addr", "flag:2"}, func(name string) string { return environment[name] })
	require.NoError(t, err)
	assert.Equal(t, config{
		address: "flag:2", database: "env.db", litestream: "litestream", replication: "l.yml",
		mostLog: 4096, logLevel: slog.LevelInfo, shutdownTimeout: 10 * time.Second,
	}, cfg)

	for _, args := range [][]string{{"stray"}, {"-most-log", "0"}, {"-shutdown-timeout", "soon"}, {"-no-such-flag"}} {
		_, err := parseConfig(args, noEnvironment)
		assert.Error(t, err, args)
	}
	_, err = parseConfig(nil, func(name string) string { return map[string]string{"NOTES_MOST_LOG": "much"}[name] })
	require.ErrorContains(t, err, "NOTES_MOST_LOG")
}

// testAPI returns the service on a new database, without a server.
func testAPI(t *testing.T, mostLog int64) (*sqlitex.DB, http.Handler) {
	t.Helper()
	db := dbtest.Open(t, &sqlitex.Options{Checkpoints: sqlitex.CheckpointsExternal}, schema)
	return db, newAPI(db, config{mostLog: mostLog}, slog.New(slog.DiscardHandler))
}

func call(handler http.Handler, method, target, body string) (status int, answer string) {
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(method, target, strings.NewReader(body)))
	return w.Code, strings.TrimSpace(w.Body.String())
}

func TestNotesAreKeptAndListed(t *testing.T) {
	t.Parallel()
	_, service := testAPI(t, 1<<30)
	status, answer := call(service, "GET", "/notes", "")
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, "[]", answer)
	for _, body := range []string{`{"text": "one"}`, `{"text": "two"}`} {
		status, _ = call(service, "POST", "/notes", body)
		require.Equal(t, http.StatusCreated, status)
	}
	status, answer = call(service, "GET", "/notes?after=1", "")
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, answer, `"id":2,"text":"two"`)
	for _, body := range []string{"", `{"text": " "}`, "[]", `{"text": "` + strings.Repeat("x", mostBody) + `"}`} {
		status, _ = call(service, "POST", "/notes", body)
		assert.Equal(t, http.StatusBadRequest, status)
	}
	status, _ = call(service, "GET", "/notes?after=x", "")
	assert.Equal(t, http.StatusBadRequest, status)
}

// Nobody checkpoints here but the test, as Litestream would.
func TestALogThatNobodyTakesAwayMakesTheServiceDegraded(t *testing.T) {
	t.Parallel()
	db, service := testAPI(t, 200_000)
	status, answer := call(service, "GET", "/health", "")
	require.Equal(t, http.StatusOK, status, answer)
	for range 100 {
		_, err := db.Exec(t.Context(), `INSERT INTO notes (text) VALUES ('x')`)
		require.NoError(t, err)
	}
	status, answer = call(service, "GET", "/health", "")
	assert.Equal(t, http.StatusServiceUnavailable, status)
	var h health
	require.NoError(t, json.Unmarshal([]byte(answer), &h))
	assert.Equal(t, "degraded", h.Status)
	assert.Greater(t, h.LogBytes, int64(200_000))

	_, err := db.Checkpoint(t.Context(), sqlitex.CheckpointTruncate)
	require.NoError(t, err)
	status, answer = call(service, "GET", "/health", "")
	assert.Equal(t, http.StatusOK, status, answer)
}

func TestARestoreThatFailsIsAnErrorAndNotAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := config{address: "127.0.0.1:0", database: filepath.Join(dir, "notes.db"), litestream: filepath.Join(dir, "no-such-program"), replication: "l.yml"}
	err := run(t.Context(), cfg, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "restore: ")
	assert.NoFileExists(t, cfg.database)
}

func TestTheServiceStopsWhenItIsTold(t *testing.T) {
	t.Parallel()
	cfg, err := parseConfig([]string{"-addr", "127.0.0.1:0", "-db", filepath.Join(t.TempDir(), "notes.db")}, noEnvironment)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	address := make(chan string, 1)
	stopped := make(chan error, 1)
	go func() { stopped <- run(ctx, cfg, slog.New(slog.NewJSONHandler(listening(address), nil))) }()
	res, err := http.Get("http://" + <-address + "/health")
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, res.StatusCode)
	_, _ = io.Copy(io.Discard, res.Body)
	require.NoError(t, res.Body.Close())
	stop()
	require.NoError(t, <-stopped)
	assert.FileExists(t, cfg.database+"-wal", "the log is left to Litestream")
}

// listening takes the service's log and passes on the address that it listens on.
type listening chan string

func (l listening) Write(b []byte) (int, error) {
	var line struct{ Msg, Address string }
	if json.Unmarshal(b, &line) == nil && line.Msg == "listening" {
		if _, _, err := net.SplitHostPort(line.Address); err == nil {
			l <- line.Address
		}
	}
	return len(b), nil
}
