package pragma

import "strconv"

// Flag is a setting that is on, off, or left at its default, which is the zero value.
type Flag int8

const (
	On  Flag = iota + 1 // switched on, whatever the default
	Off                 // switched off, whatever the default
)

// String returns "on", "off" or "default".
func (f Flag) String() string { return name(f, "default", "on", "off") }

// Size is a number of bytes. What zero and negative values stand for is said at each field of [Config].
type Size int64

// Units of [Size], to be multiplied: 16 * pragma.MiB.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
)

// String returns the size in the largest unit that divides it: "64 MiB", "1000 B".
func (s Size) String() string {
	for _, unit := range []struct {
		size Size
		name string
	}{{GiB, " GiB"}, {MiB, " MiB"}, {KiB, " KiB"}} {
		if s != 0 && s%unit.size == 0 {
			return strconv.FormatInt(int64(s/unit.size), 10) + unit.name
		}
	}
	return strconv.FormatInt(int64(s), 10) + " B"
}

// JournalMode says how SQLite makes a transaction atomic. The empty value is [JournalWAL].
type JournalMode string

const (
	JournalWAL      JournalMode = "wal"      // write-ahead log: readers and the writer do not block each other
	JournalDelete   JournalMode = "delete"   // rollback journal, deleted after each transaction: SQLite's own default
	JournalTruncate JournalMode = "truncate" // rollback journal, truncated instead of deleted
	JournalPersist  JournalMode = "persist"  // rollback journal, its header overwritten instead of deleted
	JournalMemory   JournalMode = "memory"   // rollback journal in memory: a crash in a transaction corrupts the file
	JournalOff      JournalMode = "off"      // no journal: ROLLBACK is undefined, and a crash corrupts the file
)

// Synchronous says when SQLite waits until its writes have reached the disk. The zero value is [SyncNormal].
type Synchronous int8

const (
	SyncNormal Synchronous = iota + 1 // with WAL: at checkpoints only; power loss may undo the last commits, nothing else
	SyncFull                          // at every commit: a commit survives power loss
	SyncExtra                         // as full, and the folder too after a rollback journal is deleted
	SyncOff                           // never: power loss may corrupt the file
)

// String returns "normal", "full", "extra", "off" or "default".
func (s Synchronous) String() string { return name(s, "default", "normal", "full", "extra", "off") }

// TempStore says where temporary tables and indexes are kept. The zero value is [TempMemory].
type TempStore int8

const (
	TempMemory   TempStore = iota + 1 // in memory
	TempFile                          // in files of the system's folder for temporary files
	TempCompiled                      // wherever SQLite was compiled to keep them
)

// String returns "memory", "file", "compiled" or "default".
func (t TempStore) String() string { return name(t, "default", "memory", "file", "compiled") }

// AutoVacuum says what becomes of the pages that a deletion frees. The zero value leaves the database as it is.
type AutoVacuum int8

const (
	AutoVacuumNone        AutoVacuum = iota + 1 // they are reused; the file never shrinks without VACUUM
	AutoVacuumFull                              // each commit moves them to the end of the file and cuts them off
	AutoVacuumIncremental                       // PRAGMA incremental_vacuum does so on demand
)

// String returns "none", "full", "incremental" or "leave".
func (a AutoVacuum) String() string { return name(a, "leave", "none", "full", "incremental") }

// SecureDelete says whether deleted content is overwritten. The zero value leaves SQLite's choice.
type SecureDelete int8

const (
	SecureDeleteOff  SecureDelete = iota + 1 // deleted content stays in free pages until they are reused
	SecureDeleteOn                           // it is overwritten with zeros, at the price of more writing
	SecureDeleteFast                         // it is overwritten where that costs no additional writing
)

// String returns "off", "on", "fast" or "leave".
func (s SecureDelete) String() string { return name(s, "leave", "off", "on", "fast") }

// name returns the word for v, or its number where there is none.
func name[T ~int8](v T, words ...string) string {
	if v >= 0 && int(v) < len(words) {
		return words[v]
	}
	return strconv.Itoa(int(v))
}
