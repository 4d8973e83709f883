package pragma

import (
	"fmt"
	"strconv"
	"time"

	"zombiezen.com/go/sqlite"
)

// Read returns what c really has, with every field filled in. The results of two connections with the same settings are equal
// by ==. A busy timeout under a busy handler of one's own reads as no wait. A page cache that was set in pages is given in
// bytes.
func Read(c *sqlite.Conn) (Config, error) {
	r := reader{conn: c}
	r.text("schema_version") // looks at the file, whose journal mode another connection may have changed
	cfg := Config{
		BusyTimeout:       time.Duration(negativeIfZero(r.number("busy_timeout"))),
		JournalMode:       JournalMode(r.text("journal_mode")),
		Synchronous:       Synchronous(r.oneOf("synchronous", int64(SyncOff), int64(SyncNormal), int64(SyncFull), int64(SyncExtra))),
		FullFsync:         r.flag("fullfsync"),
		ForeignKeys:       r.flag("foreign_keys"),
		MmapSize:          Size(negativeIfZero(r.number("mmap_size"))),
		TempStore:         TempStore(r.oneOf("temp_store", int64(TempCompiled), int64(TempFile), int64(TempMemory))),
		PageSize:          Size(r.number("page_size")),
		AutoVacuum:        AutoVacuumNone + AutoVacuum(r.number("auto_vacuum")),
		WALAutoCheckpoint: int(negativeIfZero(r.number("wal_autocheckpoint"))),
		JournalSizeLimit:  Size(r.number("journal_size_limit")),
		TrustedSchema:     r.flag("trusted_schema"),
		CellSizeCheck:     r.flag("cell_size_check"),
		AnalysisLimit:     int(negativeIfZero(r.number("analysis_limit"))),
		SecureDelete:      SecureDeleteOff + SecureDelete(r.number("secure_delete")),
		RecursiveTriggers: r.flag("recursive_triggers"),
	}
	if cfg.BusyTimeout > 0 {
		cfg.BusyTimeout *= time.Millisecond
	}
	if cfg.JournalSizeLimit == 0 {
		cfg.JournalSizeLimit = 1 // byte: has the same effect as 0, which in a Config is the default
	}
	switch pages := r.number("cache_size"); {
	case pages < 0:
		cfg.CacheSize = Size(-pages) * KiB
	case pages == 0:
		cfg.CacheSize = KiB // less than a page, too
	default:
		cfg.CacheSize = Size(pages) * cfg.PageSize
	}
	if r.err != nil {
		return Config{}, r.err
	}
	return cfg, nil
}

func negativeIfZero(n int64) int64 {
	if n == 0 {
		return -1
	}
	return n
}

// A reader asks one connection and keeps the first error.
type reader struct {
	conn *sqlite.Conn
	err  error
}

func (r *reader) text(pragma string) string {
	if r.err != nil {
		return ""
	}
	value, _, err := query(r.conn, "PRAGMA "+pragma)
	r.err = err
	return value
}

// number is 0 where SQLite gives no answer, as to mmap_size of a memory database.
func (r *reader) number(pragma string) int64 {
	text := r.text(pragma)
	if r.err != nil || text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		r.err = fmt.Errorf("pragma %s: %q is not a number", pragma, text)
	}
	return n
}

func (r *reader) flag(pragma string) Flag { return Flag(r.oneOf(pragma, int64(Off), int64(On))) }

// oneOf translates SQLite's number by its place in values.
func (r *reader) oneOf(pragma string, values ...int64) int64 {
	n := r.number(pragma)
	if r.err != nil {
		return 0
	}
	if n < 0 || n >= int64(len(values)) {
		r.err = fmt.Errorf("pragma %s: %d is not known to this package", pragma, n)
		return 0
	}
	return values[n]
}
