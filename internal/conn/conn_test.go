package conn_test

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
	zsqlitex "zombiezen.com/go/sqlite/sqlitex"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/internal/sqlerr"
	"github.com/sanelite/sanelite/pragma"
)

func configuration(path string) *conn.Config {
	return &conn.Config{
		Path: path, Flags: sqlite.OpenReadWrite | sqlite.OpenCreate, Statements: 8, BusyTimeout: time.Minute,
		Pragmas: pragma.Config{BusyTimeout: time.Second},
	}
}

func open(t testing.TB, cfg *conn.Config) *conn.Conn {
	t.Helper()
	c, err := conn.Open(context.Background(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return c
}

func one(t testing.TB, c *conn.Conn, sql string) (answer string) {
	t.Helper()
	require.NoError(t, c.Query(sql, func(s *capi.Stmt) { answer = string(s.ColumnText(0)) }))
	return answer
}

func TestOpenConfiguresTheConnection(t *testing.T) {
	t.Parallel()
	c := open(t, configuration(dbtest.Path(t)))
	assert.Equal(t, "wal", one(t, c, "PRAGMA journal_mode"))
	assert.Equal(t, "1", one(t, c, "PRAGMA foreign_keys"))
	assert.Equal(t, "1000", one(t, c, "PRAGMA busy_timeout"))
	assert.Equal(t, time.Second, c.Pragmas().BusyTimeout)
	assert.True(t, c.OnlyMain())
	assert.False(t, c.Broken())
}

func TestOpenThatFailsClosesTheConnection(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for name, setup := range map[string]func(context.Context, *sqlite.Conn) error{
		"error":       func(context.Context, *sqlite.Conn) error { return boom },
		"panic":       func(context.Context, *sqlite.Conn) error { panic(boom) },
		"goexit":      func(context.Context, *sqlite.Conn) error { runtime.Goexit(); return nil },
		"transaction": func(_ context.Context, c *sqlite.Conn) error { return zsqlitex.ExecuteTransient(c, "BEGIN", nil) },
		"pragma": func(_ context.Context, c *sqlite.Conn) error {
			return zsqlitex.ExecuteTransient(c, "PRAGMA cache_size=7", nil)
		},
		"closed by it": func(_ context.Context, c *sqlite.Conn) error { return c.Close() },
	} {
		path := dbtest.Path(t)
		cfg := configuration(path)
		cfg.Setup = setup
		var all sync.WaitGroup
		all.Go(func() {
			defer func() { _ = recover() }()
			_, err := conn.Open(context.Background(), cfg)
			assert.Error(t, err, name)
		})
		all.Wait()
		assert.Zero(t, capi.OpenConnections(path), name)
		assert.Empty(t, dbtest.OpenFiles(filepath.Dir(path)), name)
	}
}

// always is a context that has always ended, as every look at it finds, while nothing waits for it.
type always struct{ context.Context }

func (always) Err() error { return context.Canceled }

// SQLite counts the steps of all runs of a statement, and looks at the context after every thousandth: for BEGIN that is when
// its work is done. It then reports an interrupt, with the transaction open.
func TestBeginThatIsInterruptedLeavesNoTransaction(t *testing.T) {
	t.Parallel()
	c := open(t, configuration(dbtest.Path(t)))
	interrupted := 0
	for range 5_000 {
		for _, begin := range []func(context.Context) error{c.BeginRead, c.BeginWrite} {
			ctx := always{t.Context()}
			c.SetContext(ctx)
			if err := begin(ctx); err != nil {
				require.ErrorIs(t, err, context.Canceled)
				interrupted++
			} else {
				c.Rollback()
			}
			require.True(t, c.Autocommit())
			require.False(t, c.InTransaction())
		}
	}
	assert.Positive(t, interrupted, "else this test tries nothing")
}

func TestCommitIsNotInterrupted(t *testing.T) {
	t.Parallel()
	c := open(t, configuration(dbtest.Path(t)))
	require.NoError(t, c.RunOnce("CREATE TABLE t (x)"))
	for range 2_000 {
		require.NoError(t, c.BeginWrite(t.Context()))
		require.NoError(t, c.RunOnce("INSERT INTO t VALUES (1)"))
		c.SetContext(always{t.Context()})
		require.NoError(t, c.Commit(always{t.Context()}))
	}
	assert.Equal(t, "2000", one(t, c, "SELECT count(*) FROM t"))
}

func TestWriteTransactionHasTheConfiguredBusyTimeoutInside(t *testing.T) {
	t.Parallel()
	c := open(t, configuration(dbtest.Path(t)))
	require.NoError(t, c.BeginWrite(t.Context()))
	assert.Equal(t, "1000", one(t, c, "PRAGMA busy_timeout"))
	c.Rollback()
	assert.Equal(t, "1000", one(t, c, "PRAGMA busy_timeout"))
}

// Without a write-ahead log a statement may need the file for itself in the middle of a transaction, where SQLite's own wait
// could not be cancelled.
func TestWriteTransactionWithARollbackJournalDoesNotWaitInsideSQLite(t *testing.T) {
	t.Parallel()
	cfg := configuration(dbtest.Path(t))
	cfg.Pragmas.JournalMode = pragma.JournalDelete
	c := open(t, cfg)
	for _, end := range []func(){c.Rollback, func() { require.NoError(t, c.Commit(t.Context())) }} {
		require.NoError(t, c.BeginWrite(t.Context()))
		assert.Equal(t, "0", one(t, c, "PRAGMA busy_timeout"))
		end()
		assert.Equal(t, "1000", one(t, c, "PRAGMA busy_timeout"))
	}
}

func TestStopEndsTheWaitForALock(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	first := open(t, configuration(path))
	cfg := configuration(path)
	cfg.BusyTimeout, cfg.Stop = -1, new(capi.Stop)
	second := open(t, cfg)
	require.NoError(t, first.BeginWrite(t.Context()))
	waits := make(chan error)
	go func() { waits <- second.BeginWrite(context.Background()) }()
	cfg.Stop.Set(sqlerr.ErrClosed)
	require.ErrorIs(t, <-waits, sqlerr.ErrClosed)
	first.Rollback()
}

func TestRestoreReportsATransactionAndUndoesIt(t *testing.T) {
	t.Parallel()
	c := open(t, configuration(dbtest.Path(t)))
	require.NoError(t, c.RunOnce("BEGIN"))
	require.NoError(t, c.RunOnce("CREATE TABLE t (x)"))
	report, whole := c.Restore()
	require.ErrorIs(t, report, sqlerr.ErrStateChanged)
	assert.True(t, whole)
	assert.Equal(t, "0", one(t, c, "SELECT count(*) FROM sqlite_schema"))
	report, whole = c.Restore()
	require.NoError(t, report, "nothing was left")
	assert.True(t, whole)
}

func TestForgetTemporaryDropsOnlyWhatIsTemporary(t *testing.T) {
	t.Parallel()
	c := open(t, configuration(dbtest.Path(t)))
	for _, sql := range []string{
		"CREATE TABLE keep (id INTEGER PRIMARY KEY)", "CREATE VIEW keepview AS SELECT * FROM keep",
		"CREATE TEMP TABLE keep (x)", `CREATE TEMP VIEW "a""b" AS SELECT 1`, "CREATE TEMP TABLE p (id INTEGER PRIMARY KEY)",
		"CREATE TEMP TABLE c (p REFERENCES p DEFERRABLE INITIALLY DEFERRED)", "INSERT INTO p VALUES (1)", "INSERT INTO c VALUES (1)",
		"CREATE TEMP TRIGGER tr AFTER INSERT ON main.keep BEGIN SELECT 1; END", "CREATE VIRTUAL TABLE temp.f USING fts5(x)",
	} {
		require.NoError(t, c.RunOnce(sql), sql)
	}
	c.Created = true
	c.ForgetTemporary()
	assert.False(t, c.Broken())
	assert.Equal(t, "0", one(t, c, "SELECT count(*) FROM temp.sqlite_schema"))
	assert.Equal(t, "2", one(t, c, "SELECT count(*) FROM main.sqlite_schema"))
	assert.Equal(t, "1", one(t, c, "PRAGMA foreign_keys"))
}
