package main

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/backup"
	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
)

// The test binary can run as the program itself: see TestKilledServiceRestoresItself.
func TestMain(m *testing.M) {
	dbtest.Main(m, map[string]dbtest.Child{"backup": func([]string) { main() }})
}

// testApp is the program in a folder of its own, with copies and rows in quick succession.
func testApp(t testing.TB, args ...string) (*app, *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	cfg, err := parseConfig(append(args, "-db", filepath.Join(dir, "app.db"), "-dir", filepath.Join(dir, "copies"), "-every", "20ms", "-beat", "1ms"), noEnvironment)
	require.NoError(t, err)
	t.Cleanup(func() { dbtest.Verify(t, cfg.database) })
	out := new(bytes.Buffer)
	return &app{config: cfg, folder: folder{dir: cfg.dir, prefix: prefixOf(cfg.database)}, log: slog.New(slog.DiscardHandler), out: out}, out
}

func noEnvironment(string) string { return "" }

// serve runs the service until stop.
func serve(t testing.TB, a *app) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		require.NoError(t, <-done)
	}
}

func copies(t testing.TB, a *app) []saved {
	t.Helper()
	found, err := a.folder.list()
	require.NoError(t, err)
	return found
}

func beats(t testing.TB, path string) (n int) {
	t.Helper()
	db, err := sqlitex.Open(t.Context(), path, nil)
	require.NoError(t, err)
	n, err = sqlitex.One[int](t.Context(), db, `SELECT count(*) FROM beats`)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	return n
}

func eventually(t testing.TB, condition func() bool, what string) {
	t.Helper()
	require.Eventually(t, condition, 20*time.Second, time.Millisecond, what)
}

func TestServiceBacksItselfUpAndDeletesOldCopies(t *testing.T) {
	t.Parallel()
	a, out := testApp(t, "run", "-hourly", "1", "-daily", "0")
	stop := serve(t, a)
	first := ""
	eventually(t, func() bool {
		now := copies(t, a)
		if first == "" && len(now) > 0 {
			first = now[0].path
		}
		return len(now) > 0 && now[0].path != first
	}, "a second copy is made")
	eventually(t, func() bool { _, err := os.Stat(first); return os.IsNotExist(err) }, "the first is deleted")
	require.NoError(t, a.restoreMissing(t.Context()), "nothing is missing")
	assert.ErrorIs(t, a.restore(t.Context()), backup.ErrInUse, "not while it runs")
	stop()

	require.NoError(t, a.backup(t.Context()))
	left := copies(t, a)
	require.NoError(t, a.list())
	assert.Contains(t, out.String(), left[0].path)
	out.Reset()
	require.NoError(t, a.verify(t.Context()))
	assert.Contains(t, out.String(), left[0].path+": ok\n")
}

func TestServiceRestoresTheNewestGoodCopyWhenItsDatabaseIsMissing(t *testing.T) {
	t.Parallel()
	a, out := testApp(t, "run")
	a.every = time.Hour
	stop := serve(t, a)
	eventually(t, func() bool { return len(copies(t, a)) == 1 }, "a copy is made at once")
	good := copies(t, a)[0]
	stop()
	require.NoError(t, os.Remove(a.database))
	damaged := a.folder.path(good.time.Add(time.Minute))
	require.NoError(t, os.WriteFile(damaged, []byte("not a database"), 0o600))

	stop = serve(t, a)
	eventually(t, func() bool { _, err := os.Stat(a.database); return err == nil }, "the database is back")
	stop()
	require.Error(t, a.verify(t.Context()))
	assert.Contains(t, out.String(), good.path+": ok\n")
	assert.Contains(t, out.String(), damaged+": backup: check of")

	// Without any good copy it must not begin anew.
	require.NoError(t, os.Remove(a.database))
	require.NoError(t, os.Truncate(good.path, 100))
	require.ErrorIs(t, a.run(t.Context()), sqlitex.ErrCheckFailed)
	assert.NoFileExists(t, a.database)
}

func TestKilledServiceRestoresItself(t *testing.T) {
	t.Parallel()
	a, _ := testApp(t, "run")
	cmd := dbtest.Command(t, "backup", "run", "-db", a.database, "-dir", a.dir, "-every", "20ms", "-beat", "1ms", "-log-level", "ERROR")
	require.NoError(t, cmd.Start())
	eventually(t, func() bool { return len(copies(t, a)) > 0 && copies(t, a)[0].bytes > 8192 }, "a copy with rows")
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	for _, suffix := range []string{"", "-wal", "-shm"} {
		require.NoError(t, os.Remove(a.database+suffix))
	}
	require.NoError(t, a.restoreMissing(t.Context()))
	assert.Positive(t, beats(t, a.database))
}

func TestRestoreTakesTheFileThatIsNamed(t *testing.T) {
	t.Parallel()
	a, _ := testApp(t, "restore")
	require.ErrorContains(t, a.restore(t.Context()), "no copy")
	a.every = time.Hour
	stop := serve(t, a)
	eventually(t, func() bool { return len(copies(t, a)) == 1 }, "a copy")
	stop()
	rows := beats(t, copies(t, a)[0].path)
	a.args = []string{copies(t, a)[0].path}
	require.NoError(t, a.do(t.Context()))
	assert.Equal(t, rows, beats(t, a.database))
	a.args = []string{"a", "b"}
	require.Error(t, a.restore(t.Context()))
}

func TestBackupOfADatabaseThatDoesNotExistMakesNone(t *testing.T) {
	t.Parallel()
	a, _ := testApp(t, "backup")
	require.ErrorIs(t, a.do(t.Context()), os.ErrNotExist)
	assert.NoFileExists(t, a.database)
	a.command = "list"
	require.NoError(t, a.do(t.Context()))
	a.command = "dance"
	require.Error(t, a.do(t.Context()))
}

func TestOldLeftoversAreSweptAndYoungOnesStay(t *testing.T) {
	t.Parallel()
	a, _ := testApp(t, "run")
	require.NoError(t, os.Mkdir(a.dir, 0o700))
	pattern := strings.TrimSuffix(backup.LeftoverPattern, "*")
	old, young, other := filepath.Join(a.dir, pattern+"1.tmp"), filepath.Join(a.dir, pattern+"2.tmp"), filepath.Join(a.dir, "notes.txt")
	for _, path := range []string{old, young, other} {
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	long := time.Now().Add(-48 * time.Hour)
	require.NoError(t, os.Chtimes(old, long, long))
	require.NoError(t, os.Chtimes(other, long, long))
	a.sweep()
	assert.NoFileExists(t, old)
	assert.FileExists(t, young)
	assert.FileExists(t, other)
}
