package pragma

import "time"

// Config holds the settings of one connection. The zero value means the production defaults, field by field.
//
// Configs can be compared with ==.
type Config struct {
	// JournalMode says how transactions are made atomic. With the write-ahead log readers never wait for the writer nor it
	// for them, and a commit appends to one file. It needs shared memory, hence a local filesystem. The mode is stored in
	// the database file: all connections have the same.
	// https://www.sqlite.org/pragma.html#pragma_journal_mode
	// Default: JournalWAL.
	JournalMode JournalMode

	// Synchronous says when a commit waits for the disk. With WAL, NORMAL never corrupts the file and needs no fsync per
	// commit; power loss may undo the last commits, a crash of the program does not. SyncFull makes every commit durable.
	// https://www.sqlite.org/pragma.html#pragma_synchronous
	// Default: SyncNormal.
	Synchronous Synchronous

	// FullFsync asks macOS to empty the drive's own write cache at every sync (F_FULLFSYNC); elsewhere it changes nothing.
	// Without it, "synced" data on a Mac can still be lost with the power. It is slow, and servers are seldom Macs.
	// https://www.sqlite.org/pragma.html#pragma_fullfsync
	// Default: Off.
	FullFsync Flag

	// BusyTimeout bounds how long a statement waits for another connection's lock before it fails with SQLITE_BUSY. SQLite
	// itself does not wait at all, which turns every brush with another process into an error. It counts whole milliseconds:
	// fractions are rounded up, and more than 24 days count as 24 days. Negative: no wait.
	// https://www.sqlite.org/pragma.html#pragma_busy_timeout
	// Default: 5 seconds.
	BusyTimeout time.Duration

	// ForeignKeys enforces REFERENCES clauses. SQLite parses but ignores them unless told otherwise on each connection.
	// https://www.sqlite.org/pragma.html#pragma_foreign_keys
	// Default: On.
	ForeignKeys Flag

	// CacheSize bounds the page cache of this connection, in bytes rounded up to KiB. SQLite's own 2 MB evict the inner pages
	// of the indexes of a database of moderate size. The memory is taken when needed, and lies outside the Go heap. Negative:
	// leave SQLite's own.
	// https://www.sqlite.org/pragma.html#pragma_cache_size
	// Default: 16 MiB.
	CacheSize Size

	// MmapSize bounds how much of the file is read through a memory map; SQLite allows 2 GiB less 64 KiB. It spares copying
	// where a large file is read and hardly written. Danger: a file that is truncated from outside kills the whole process by
	// SIGBUS, and every commit unmaps, so that beside a writer it is slower than a warm page cache. Negative: off.
	// https://www.sqlite.org/pragma.html#pragma_mmap_size
	// Default: off.
	MmapSize Size

	// TempStore says where temporary tables and the sorters' indexes are kept. Memory spares the creation of files, and
	// leaves none of the data in a folder that others can read. Choose TempFile where sorts are larger than memory.
	// https://www.sqlite.org/pragma.html#pragma_temp_store
	// Default: TempMemory.
	TempStore TempStore

	// PageSize sets the page size of a database that does not exist yet: a power of two from 512 to 65536. An existing
	// database of another page size is an error. Zero leaves it: 4 KiB for a new file, which fits the pages of the
	// filesystem.
	// https://www.sqlite.org/pragma.html#pragma_page_size
	// Default: 0, leave it.
	PageSize Size

	// AutoVacuum says how a database that does not exist yet gives back freed pages. An existing database that cannot be
	// switched is an error: only VACUUM turns it on or off there. It costs a page of bookkeeping per thousand pages and
	// scatters tables over the file, so it is worth it only where much is deleted and nothing comes after.
	// https://www.sqlite.org/pragma.html#pragma_auto_vacuum
	// Default: 0, leave it (new databases have none).
	AutoVacuum AutoVacuum

	// WALAutoCheckpoint is the number of pages in the write-ahead log from which a commit also copies the log into the
	// database. More pages make commits more even and reads and recovery slower. Negative: off; then somebody else has
	// to run checkpoints, or the log grows without limit.
	// https://www.sqlite.org/pragma.html#pragma_wal_autocheckpoint
	// Default: 1000.
	WALAutoCheckpoint int

	// JournalSizeLimit bounds the size that the write-ahead log, or a journal that persists, keeps on disk after it has been
	// copied back. SQLite itself sets no limit: after one large transaction the file stays large for good. Negative: no limit.
	// https://www.sqlite.org/pragma.html#pragma_journal_size_limit
	// Default: 64 MiB.
	JournalSizeLimit Size

	// TrustedSchema lets views, triggers, CHECK constraints and indexes call SQL functions and virtual tables that may have
	// side effects. Off, as SQLite recommends, a database file from elsewhere cannot run them. Functions that the program
	// registers as innocuous are not affected.
	// https://www.sqlite.org/pragma.html#pragma_trusted_schema
	// Default: Off.
	TrustedSchema Flag

	// CellSizeCheck checks a page of a b-tree more closely when it is read from disk, so that corruption is noticed near its
	// cause. It costs little, as pages in the cache are not checked again. With a memory map it costs more: pages are then
	// checked whenever they are used, and a read by key takes two to three times as long.
	// https://www.sqlite.org/pragma.html#pragma_cell_size_check
	// Default: On; Off where MmapSize is positive.
	CellSizeCheck Flag

	// AnalysisLimit bounds how many rows per index ANALYZE and PRAGMA optimize look at, which keeps both short on a large
	// database. SQLite's documentation recommends 100 to 1000. Negative: no limit.
	// https://www.sqlite.org/pragma.html#pragma_analysis_limit
	// Default: 400.
	AnalysisLimit int

	// SecureDelete says whether deleted content is overwritten with zeros. It matters where the file itself may get into
	// other hands. Zero leaves it as SQLite was compiled, which is off here.
	// https://www.sqlite.org/pragma.html#pragma_secure_delete
	// Default: 0, leave it.
	SecureDelete SecureDelete

	// RecursiveTriggers lets a trigger fire itself, and delete triggers fire for rows that REPLACE removes. SQLite keeps it
	// off for compatibility, and most schemas were written for that.
	// https://www.sqlite.org/pragma.html#pragma_recursive_triggers
	// Default: Off.
	RecursiveTriggers Flag
}

// Default returns the production defaults with every field filled in. PageSize, AutoVacuum and SecureDelete stay zero:
// they are left as the database and SQLite have them.
func Default() Config {
	return Config{
		JournalMode:       JournalWAL,
		Synchronous:       SyncNormal,
		FullFsync:         Off,
		BusyTimeout:       5 * time.Second,
		ForeignKeys:       On,
		CacheSize:         16 * MiB,
		MmapSize:          -1,
		TempStore:         TempMemory,
		WALAutoCheckpoint: 1000,
		JournalSizeLimit:  64 * MiB,
		TrustedSchema:     Off,
		CellSizeCheck:     On,
		AnalysisLimit:     400,
		RecursiveTriggers: Off,
	}
}

// Durable returns [Default] with synchronous FULL (and a real flush on macOS): a commit that was acknowledged survives power
// loss. Each commit waits for the disk.
func Durable() Config {
	cfg := Default()
	cfg.Synchronous = SyncFull
	cfg.FullFsync = On
	return cfg
}

// RollbackFull returns [Default] with the journal mode DELETE and synchronous FULL, which SQLite itself starts with. It is
// there to be measured against; with it readers and the writer block each other.
func RollbackFull() Config {
	cfg := Default()
	cfg.JournalMode = JournalDelete
	cfg.Synchronous = SyncFull
	return cfg
}

// NoSync returns [Default] with synchronous OFF: nothing ever waits for the disk. A crash of the program loses no commit, but
// a crash of the system may leave the file corrupt. It suits tests, and data that can be made again.
func NoSync() Config {
	cfg := Default()
	cfg.Synchronous = SyncOff
	return cfg
}

// WithDefaults returns cfg with each zero field replaced by that of [Default].
func (cfg Config) WithDefaults() Config {
	d := Default()
	fill(&cfg.JournalMode, d.JournalMode)
	fill(&cfg.Synchronous, d.Synchronous)
	fill(&cfg.FullFsync, d.FullFsync)
	fill(&cfg.BusyTimeout, d.BusyTimeout)
	fill(&cfg.ForeignKeys, d.ForeignKeys)
	fill(&cfg.CacheSize, d.CacheSize)
	fill(&cfg.MmapSize, d.MmapSize)
	fill(&cfg.TempStore, d.TempStore)
	fill(&cfg.WALAutoCheckpoint, d.WALAutoCheckpoint)
	fill(&cfg.JournalSizeLimit, d.JournalSizeLimit)
	fill(&cfg.TrustedSchema, d.TrustedSchema)
	if cfg.MmapSize > 0 {
		d.CellSizeCheck = Off
	}
	fill(&cfg.CellSizeCheck, d.CellSizeCheck)
	fill(&cfg.AnalysisLimit, d.AnalysisLimit)
	fill(&cfg.RecursiveTriggers, d.RecursiveTriggers)
	return cfg
}

func fill[T comparable](field *T, def T) {
	var zero T
	if *field == zero {
		*field = def
	}
}
