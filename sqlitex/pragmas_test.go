package sqlitex_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/pragma"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// configured are the pragmas that must read alike on every connection.
var configured = []string{
	"busy_timeout", "foreign_keys", "journal_mode", "synchronous", "cache_size", "mmap_size", "temp_store", "wal_autocheckpoint",
	"journal_size_limit", "trusted_schema", "cell_size_check", "analysis_limit", "recursive_triggers", "page_size", "auto_vacuum",
	"fullfsync", "checkpoint_fullfsync", "query_only", "read_uncommitted", "locking_mode", "ignore_check_constraints",
	"writable_schema", "legacy_alter_table", "reverse_unordered_selects", "cache_spill", "automatic_index", "count_changes",
	"full_column_names", "short_column_names", "empty_result_callbacks", "threads", "secure_delete", "max_page_count",
	"defer_foreign_keys",
}

// text reads a value, whichever type it has. Some pragmas have none.
func text(q tx.Queryer, sql string) (string, error) {
	words, err := tx.All[string](q, sql)
	if errors.Is(err, sqlitex.ErrScan) {
		numbers, err := tx.All[int64](q, sql)
		return fmt.Sprint(numbers), err
	}
	return strings.Join(words, ""), err
}

func read(q tx.Queryer) (map[string]string, error) {
	values := map[string]string{}
	for _, name := range configured {
		v, err := text(q, "PRAGMA "+name)
		if err != nil {
			return nil, err
		}
		values[name] = v
	}
	// What no pragma tells.
	for name, sql := range map[string]string{
		"databases": `SELECT group_concat(name || file) FROM pragma_database_list WHERE name <> 'temp'`,
		"temporary": `SELECT count(*) FROM temp.sqlite_schema WHERE name NOT LIKE 'sqlite%'`,
		"like":      `SELECT 'a' LIKE 'A'`,
		"limits":    `SELECT count(*) FROM (SELECT 1 AS a, 2 AS b)`, // more than any limit that a test sets
	} {
		v, err := text(q, sql)
		if err != nil {
			return nil, err
		}
		values[name] = v
	}
	return values, nil
}

// everywhere reads the pragmas of all connections of db, which are all in use at that moment.
func everywhere(t testing.TB, db *sqlitex.DB) (all []map[string]string) {
	t.Helper()
	var mu sync.Mutex
	note := func(q tx.Queryer) error {
		values, err := read(q)
		mu.Lock()
		defer mu.Unlock()
		all = append(all, values)
		return err
	}
	n := db.Stats().Readers.Max
	var together, done sync.WaitGroup
	together.Add(n)
	for range n {
		done.Go(func() {
			assert.NoError(t, db.Read(context.Background(), func(r *tx.Reader) error {
				together.Done()
				together.Wait()
				return note(r)
			}))
		})
	}
	done.Wait()
	require.NoError(t, db.Write(context.Background(), func(w *tx.Writer) error { return note(w) }))
	return all
}

// case O3
func TestEveryConnectionHasTheSamePragmas(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, &sqlitex.Options{MaxReaders: 5}, schema)
	all := everywhere(t, db)
	require.Len(t, all, 6)
	for name, want := range map[string]string{
		"busy_timeout": "5000", "foreign_keys": "1", "journal_mode": "wal", "synchronous": "1", "temp_store": "2", "trusted_schema": "0",
		"cell_size_check": "1", "analysis_limit": "400", "mmap_size": "0", "journal_size_limit": "67108864",
		"cache_size": "-10923", // 64 MiB over five readers and the writer
	} {
		assert.Equal(t, want, strings.Trim(all[0][name], "[]"), name)
	}
	for i, values := range all {
		assert.Equal(t, all[0], values, "connection %d", i)
	}

	// One reader and the writer break, and are replaced.
	opened := db.Stats().Readers.Opened
	breakIt := func(c *sqlite.Conn) error { _ = c.Close(); return nil }
	require.ErrorIs(t, db.ReadConn(t.Context(), breakIt), sqlitex.ErrStateChanged)
	require.ErrorIs(t, db.WriteConn(t.Context(), breakIt), sqlitex.ErrStateChanged)
	again := everywhere(t, db)
	assert.Equal(t, opened+1, db.Stats().Readers.Opened, "replaced")
	for i, values := range again {
		assert.Equal(t, all[0], values, "connection %d", i)
	}
}

// case O3
func TestPragmasOfTheCallerReachEveryConnection(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, &sqlitex.Options{MaxReaders: 3, BusyTimeout: 1234 * time.Millisecond, Pragmas: pragma.Config{
		ForeignKeys: pragma.Off, CacheSize: 3 * pragma.MiB, Synchronous: pragma.SyncFull, RecursiveTriggers: pragma.On, TempStore: pragma.TempFile,
		MmapSize: pragma.MiB,
	}}, schema)
	for i, values := range everywhere(t, db) {
		for name, want := range map[string]string{
			"busy_timeout": "1234", "foreign_keys": "0", "cache_size": "-3072", "synchronous": "2", "recursive_triggers": "1", "temp_store": "1",
			"mmap_size": "1048576",
		} {
			assert.Equal(t, want, strings.Trim(values[name], "[]"), "%s of connection %d", name, i)
		}
	}
}

// case O4
func TestWALThatCannotBeHadIsAnError(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	database(t, path, "delete")
	release := hold(t, path, "BEGIN IMMEDIATE")
	within(t, "the busy timeout is 50 ms", func() {
		_, err := sqlitex.Open(t.Context(), path, &sqlitex.Options{BusyTimeout: 50 * time.Millisecond})
		require.ErrorIs(t, err, sqlitex.ErrWALUnavailable)
		require.ErrorIs(t, err, sqlitex.ErrBusy)
		assert.ErrorContains(t, err, path)
	})
	release()
	assert.Equal(t, "delete", ask(t, rawConn(t, path), "PRAGMA journal_mode"), "as it was")
	db := dbtest.OpenAt(t, path, nil, "")
	usable(t, db)
}

// case O5
func TestPageSizeAndAutoVacuumHoldAfterReopening(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	o := &sqlitex.Options{Pragmas: pragma.Config{PageSize: 16384, AutoVacuum: pragma.AutoVacuumIncremental}}
	require.NoError(t, dbtest.OpenAt(t, path, o, schema).Close())
	for _, o := range []*sqlitex.Options{nil, o} {
		db := dbtest.OpenAt(t, path, o, "")
		for i, values := range everywhere(t, db) {
			assert.Equal(t, "[16384]", values["page_size"], i)
			assert.Equal(t, "[2]", values["auto_vacuum"], i)
			assert.Equal(t, "wal", values["journal_mode"], i)
		}
		require.NoError(t, db.Close())
	}
	for name, cfg := range map[string]pragma.Config{
		"page_size: wanted 4096, got 16384": {PageSize: 4096},
		"auto_vacuum: wanted 0, got 2":      {AutoVacuum: pragma.AutoVacuumNone},
	} {
		_, err := sqlitex.Open(t.Context(), path, &sqlitex.Options{Pragmas: cfg})
		require.ErrorContains(t, err, name)
		assert.ErrorContains(t, err, path)
		assert.ErrorAs(t, err, new(*pragma.MismatchError))
	}
	assert.FileExists(t, path, "it was there before")
}

func TestSetupRunsOnceForEveryConnection(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	db := dbtest.Open(t, &sqlitex.Options{MaxReaders: 3, Setup: func(_ context.Context, c *sqlite.Conn) error {
		calls.Add(1)
		return c.CreateFunction("twice", &sqlite.FunctionImpl{
			NArgs: 1, Deterministic: true,
			Scalar: func(_ sqlite.Context, args []sqlite.Value) (sqlite.Value, error) {
				return sqlite.IntegerValue(2 * args[0].Int64()), nil
			},
		})
	}}, schema)
	assert.EqualValues(t, 1, calls.Load(), "readers are opened when they are needed")
	holdReaders(t, db, 3)()
	assert.EqualValues(t, 4, calls.Load())
	for range 10 {
		four, err := sqlitex.One[int](t.Context(), db, "SELECT twice(2)")
		require.NoError(t, err)
		require.Equal(t, 4, four)
	}
	assert.NoError(t, db.Check(t.Context()))
	four, err := tx.Write(t.Context(), db, func(w *tx.Writer) (int, error) { return tx.One[int](w, "SELECT twice(2)") })
	require.NoError(t, err)
	assert.Equal(t, 4, four)
	assert.EqualValues(t, 5, calls.Load(), "Check has a connection of its own")
}

func TestSetupThatFailsLaterFailsTheCallAndNotTheHandle(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	var how atomic.Value
	how.Store("fine")
	db := dbtest.Open(t, &sqlitex.Options{MaxReaders: 1, Setup: func(context.Context, *sqlite.Conn) error {
		switch how.Load() {
		case "error":
			return boom
		case "panic":
			panic(boom)
		}
		return nil
	}}, schema)
	for range 3 {
		how.Store("error")
		_, err := sqlitex.One[int](t.Context(), db, "SELECT 1")
		require.ErrorIs(t, err, boom)
		how.Store("panic")
		require.PanicsWithValue(t, boom, func() { _, _ = sqlitex.One[int](t.Context(), db, "SELECT 1") })
	}
	how.Store("fine")
	usable(t, db)

	// Likewise where the writer has to be replaced.
	breakWriter := func() {
		_ = db.WriteConn(t.Context(), func(c *sqlite.Conn) error { _ = c.Close(); return nil })
	}
	breakWriter()
	how.Store("error")
	_, err := db.Exec(t.Context(), `INSERT INTO t (v) VALUES ('x')`)
	require.ErrorIs(t, err, boom)
	how.Store("panic")
	require.PanicsWithValue(t, boom, func() { _, _ = db.Exec(t.Context(), `INSERT INTO t (v) VALUES ('x')`) })
	how.Store("fine")
	usable(t, db)
}

func TestDatabaseAttachedBySetupStays(t *testing.T) {
	t.Parallel()
	other := dbtest.Path(t)
	database(t, other, "wal")
	db := dbtest.Open(t, &sqlitex.Options{Setup: func(_ context.Context, c *sqlite.Conn) error {
		return run(c, "ATTACH '"+other+"' AS other")
	}}, schema)
	for range 3 {
		n, err := sqlitex.One[int](t.Context(), db, "SELECT count(*) FROM other.t")
		require.NoError(t, err)
		assert.Equal(t, 1, n)
		require.NoError(t, db.ReadConn(t.Context(), func(c *sqlite.Conn) error { return run(c, "DETACH other") }))
		require.NoError(t, db.WriteConn(t.Context(), func(c *sqlite.Conn) error { return run(c, "DETACH other") }))
		usable(t, db)
	}
}
