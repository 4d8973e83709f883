package pragma_test

import (
	"testing"
	"time"

	"github.com/sanelite/sanelite/internal/sqlerr"
	"github.com/sanelite/sanelite/pragma"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
)

func TestApplySetsEachPragma(t *testing.T) {
	t.Parallel()
	type config = pragma.Config
	for _, test := range []struct {
		name   string
		cfg    config
		pragma string
		want   string
	}{
		{"journal mode by default", config{}, "journal_mode", "wal"},
		{"journal mode delete", config{JournalMode: pragma.JournalDelete}, "journal_mode", "delete"},
		{"journal mode truncate", config{JournalMode: pragma.JournalTruncate}, "journal_mode", "truncate"},
		{"journal mode persist", config{JournalMode: pragma.JournalPersist}, "journal_mode", "persist"},
		{"journal mode memory", config{JournalMode: pragma.JournalMemory}, "journal_mode", "memory"},
		{"journal mode off", config{JournalMode: pragma.JournalOff}, "journal_mode", "off"},
		{"synchronous by default", config{}, "synchronous", "1"},
		{"synchronous normal", config{Synchronous: pragma.SyncNormal}, "synchronous", "1"},
		{"synchronous full", config{Synchronous: pragma.SyncFull}, "synchronous", "2"},
		{"synchronous extra", config{Synchronous: pragma.SyncExtra}, "synchronous", "3"},
		{"synchronous off", config{Synchronous: pragma.SyncOff}, "synchronous", "0"},
		{"full fsync by default", config{}, "fullfsync", "0"},
		{"full fsync on", config{FullFsync: pragma.On}, "fullfsync", "1"},
		{"busy timeout by default", config{}, "busy_timeout", "5000"},
		{"busy timeout", config{BusyTimeout: 1500 * time.Millisecond}, "busy_timeout", "1500"},
		{"busy timeout rounded up", config{BusyTimeout: time.Microsecond}, "busy_timeout", "1"},
		{"busy timeout rounded up in between", config{BusyTimeout: 2*time.Millisecond + 1}, "busy_timeout", "3"},
		{"busy timeout longer than SQLite counts", config{BusyTimeout: 1<<63 - 1}, "busy_timeout", "2147483647"},
		{"busy timeout off", config{BusyTimeout: -1}, "busy_timeout", "0"},
		{"foreign keys by default", config{}, "foreign_keys", "1"},
		{"foreign keys off", config{ForeignKeys: pragma.Off}, "foreign_keys", "0"},
		{"cache size by default", config{}, "cache_size", "-16384"},
		{"cache size", config{CacheSize: 3 * pragma.MiB}, "cache_size", "-3072"},
		{"cache size rounded up", config{CacheSize: 1}, "cache_size", "-1"},
		{"cache size left alone", config{CacheSize: -1}, "cache_size", "-2000"},
		{"mmap size by default", config{}, "mmap_size", "0"},
		{"mmap size", config{MmapSize: pragma.GiB}, "mmap_size", "1073741824"},
		{"mmap size off", config{MmapSize: -1}, "mmap_size", "0"},
		{"temp store by default", config{}, "temp_store", "2"},
		{"temp store file", config{TempStore: pragma.TempFile}, "temp_store", "1"},
		{"temp store as compiled", config{TempStore: pragma.TempCompiled}, "temp_store", "0"},
		{"page size by default", config{}, "page_size", "4096"},
		{"page size smallest", config{PageSize: 512}, "page_size", "512"},
		{"page size largest", config{PageSize: 64 * pragma.KiB}, "page_size", "65536"},
		{"auto vacuum by default", config{}, "auto_vacuum", "0"},
		{"auto vacuum none", config{AutoVacuum: pragma.AutoVacuumNone}, "auto_vacuum", "0"},
		{"auto vacuum full", config{AutoVacuum: pragma.AutoVacuumFull}, "auto_vacuum", "1"},
		{"auto vacuum incremental", config{AutoVacuum: pragma.AutoVacuumIncremental}, "auto_vacuum", "2"},
		{"checkpoint by default", config{}, "wal_autocheckpoint", "1000"},
		{"checkpoint", config{WALAutoCheckpoint: 20}, "wal_autocheckpoint", "20"},
		{"checkpoint off", config{WALAutoCheckpoint: -1}, "wal_autocheckpoint", "0"},
		{"journal size limit by default", config{}, "journal_size_limit", "67108864"},
		{"journal size limit", config{JournalSizeLimit: pragma.MiB}, "journal_size_limit", "1048576"},
		{"journal size without limit", config{JournalSizeLimit: -7}, "journal_size_limit", "-1"},
		{"trusted schema by default", config{}, "trusted_schema", "0"},
		{"trusted schema on", config{TrustedSchema: pragma.On}, "trusted_schema", "1"},
		{"cell size check by default", config{}, "cell_size_check", "1"},
		{"cell size check off", config{CellSizeCheck: pragma.Off}, "cell_size_check", "0"},
		{"analysis limit by default", config{}, "analysis_limit", "400"},
		{"analysis limit", config{AnalysisLimit: 1000}, "analysis_limit", "1000"},
		{"analysis without limit", config{AnalysisLimit: -1}, "analysis_limit", "0"},
		{"secure delete left alone", config{}, "secure_delete", "0"},
		{"secure delete off", config{SecureDelete: pragma.SecureDeleteOff}, "secure_delete", "0"},
		{"secure delete on", config{SecureDelete: pragma.SecureDeleteOn}, "secure_delete", "1"},
		{"secure delete fast", config{SecureDelete: pragma.SecureDeleteFast}, "secure_delete", "2"},
		{"recursive triggers by default", config{}, "recursive_triggers", "0"},
		{"recursive triggers on", config{RecursiveTriggers: pragma.On}, "recursive_triggers", "1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := open(t, newFile(t))
			require.NoError(t, pragma.Apply(c, test.cfg))
			assert.Equal(t, test.want, get(t, c, "PRAGMA "+test.pragma))
		})
	}
}

// case O3, the part of one connection: whatever it was before, the settings are the same afterwards.
func TestApplyUndoesWhatAConnectionHadBefore(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	fresh, used := open(t, path), open(t, path)
	require.NoError(t, pragma.Apply(fresh, pragma.Config{}))

	require.NoError(t, pragma.Apply(used, pragma.Config{
		Synchronous: pragma.SyncOff, FullFsync: pragma.On, BusyTimeout: -1, ForeignKeys: pragma.Off, CacheSize: pragma.KiB,
		MmapSize: pragma.MiB, TempStore: pragma.TempFile, WALAutoCheckpoint: -1, JournalSizeLimit: -1,
		TrustedSchema: pragma.On, CellSizeCheck: pragma.Off, AnalysisLimit: -1, RecursiveTriggers: pragma.On,
	}))
	require.NoError(t, pragma.Apply(used, pragma.Config{}))

	want, err := pragma.Read(fresh)
	require.NoError(t, err)
	got, err := pragma.Read(used)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

func TestApplyLeavesNoStatementBehind(t *testing.T) {
	t.Parallel()
	c, err := sqlite.OpenConn(newFile(t), sqlite.OpenReadWrite|sqlite.OpenCreate)
	require.NoError(t, err)
	require.NoError(t, pragma.Apply(c, pragma.Config{}))
	_, err = pragma.Read(c)
	require.NoError(t, err)
	assert.NoError(t, c.Close(), "sqlite3_close refuses while a statement is left")
}

func TestApplyReportsAValueThatDidNotTake(t *testing.T) {
	t.Parallel()
	c := open(t, newFile(t))
	err := pragma.Apply(c, pragma.Config{MmapSize: 3 * pragma.GiB})
	mismatch := new(pragma.MismatchError)
	require.ErrorAs(t, err, &mismatch)
	assert.Equal(t, pragma.MismatchError{Pragma: "mmap_size", Want: "3221225472", Got: "2147418112"}, *mismatch)
	assert.EqualError(t, err, "pragma mmap_size: wanted 3221225472, got 2147418112")
	assert.NotErrorIs(t, err, sqlerr.ErrWALUnavailable)
}

func TestApplyReportsAPragmaWithoutAnswer(t *testing.T) {
	t.Parallel()
	c := open(t, ":memory:")
	err := pragma.Apply(c, pragma.Config{JournalMode: pragma.JournalMemory, MmapSize: pragma.MiB})
	assert.EqualError(t, err, "pragma mmap_size: wanted 1048576, got no answer")
}

func TestApplyRefusesInsideATransaction(t *testing.T) {
	t.Parallel()
	c := open(t, newFile(t))
	get(t, c, "BEGIN")
	assert.ErrorContains(t, pragma.Apply(c, pragma.Config{}), "inside a transaction")
	assert.ErrorContains(t, pragma.ApplyReader(c, pragma.Config{}), "inside a transaction")
	get(t, c, "ROLLBACK")
	assert.NoError(t, pragma.Apply(c, pragma.Config{}))
}

func TestApplyChangesNothingForAnInvalidConfig(t *testing.T) {
	t.Parallel()
	c := open(t, newFile(t))
	before, err := pragma.Read(c)
	require.NoError(t, err)
	bad := pragma.Config{JournalMode: "wal; DROP TABLE t"}
	require.ErrorContains(t, pragma.Apply(c, bad), "Config.JournalMode")
	require.ErrorContains(t, pragma.ApplyReader(c, bad), "Config.JournalMode")
	after, err := pragma.Read(c)
	require.NoError(t, err)
	assert.Equal(t, before, after)
}

func TestApplyReaderLeavesTheFileAsItIs(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	w := open(t, path)
	require.NoError(t, pragma.Apply(w, pragma.Config{JournalMode: pragma.JournalDelete}))
	get(t, w, "CREATE TABLE t (x)")

	r := open(t, path, sqlite.OpenReadOnly)
	cfg := pragma.Config{PageSize: 8192, AutoVacuum: pragma.AutoVacuumFull, CacheSize: pragma.MiB}
	require.NoError(t, pragma.ApplyReader(r, cfg))
	got, err := pragma.Read(r)
	require.NoError(t, err)
	want := pragma.Config{
		JournalMode: pragma.JournalDelete, PageSize: 4096, AutoVacuum: pragma.AutoVacuumNone,
		CacheSize: pragma.MiB, SecureDelete: pragma.SecureDeleteOff,
	}
	assert.Equal(t, want.WithDefaults(), got)
}

func TestApplyOnAReadOnlyConnectionFails(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	w := open(t, path)
	get(t, w, "CREATE TABLE t (x)")
	r := open(t, path, sqlite.OpenReadOnly)
	assert.ErrorIs(t, pragma.Apply(r, pragma.Config{}), sqlerr.ErrWALUnavailable)
}

func TestReaderAndWriterOfAWALDatabaseReadTheSame(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	w := open(t, path)
	require.NoError(t, pragma.Apply(w, pragma.Config{PageSize: 8192, AutoVacuum: pragma.AutoVacuumIncremental}))
	r := open(t, path, sqlite.OpenReadOnly)
	require.NoError(t, pragma.ApplyReader(r, pragma.Config{}))
	want, err := pragma.Read(w)
	require.NoError(t, err)
	got, err := pragma.Read(r)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}
