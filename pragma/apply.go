package pragma

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/sanelite/sanelite/internal/sqlerr"

	"zombiezen.com/go/sqlite"
)

// Apply gives c the settings of cfg, in a fixed order, and reads each back. A setting that did not take is a
// [*MismatchError]; those after it are then not made. The connection must not be inside a transaction.
//
// Apply waits for locks of other connections, at most cfg.BusyTimeout. It gives up earlier when the connection is interrupted
// by its [sqlite.Conn.SetInterrupt]. Where the lock outlasts the wait, the error matches ErrBusy of package tx; calling Apply
// again is then safe. Whatever keeps SQLite from switching to WAL, the error matches ErrWALUnavailable as well.
//
// A memory database cannot have a write-ahead log: ask for [JournalMemory] there.
func Apply(c *sqlite.Conn, cfg Config) error {
	return apply(c, cfg, applyFile)
}

// ApplyReader gives c what a read-only connection can have: all settings but JournalMode, PageSize and AutoVacuum. Those three
// live in the database file; ApplyReader leaves them as they are, and [Read] tells what they are.
func ApplyReader(c *sqlite.Conn, cfg Config) error {
	return apply(c, cfg, func(*sqlite.Conn, Config) error { return nil })
}

func apply(c *sqlite.Conn, cfg Config, file func(*sqlite.Conn, Config) error) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	if !c.AutocommitEnabled() {
		return errors.New("pragma: the connection is inside a transaction, where SQLite ignores some settings")
	}
	cfg = cfg.WithDefaults()
	if err := applyBusyTimeout(c, cfg.BusyTimeout); err != nil {
		return err
	}
	if err := file(c, cfg); err != nil {
		return err
	}
	for _, s := range cfg.connectionSettings() {
		if err := s.apply(c); err != nil {
			return err
		}
	}
	return nil
}

// applyBusyTimeout goes through the API instead of the PRAGMA, so that zombiezen forgets its own busy handler, under which
// the PRAGMA would read 0.
func applyBusyTimeout(c *sqlite.Conn, d time.Duration) error {
	d = wholeMilliseconds(d)
	c.SetBusyTimeout(d)
	return setting{pragma: "busy_timeout", want: number(d / time.Millisecond)}.check(c)
}

// wholeMilliseconds rounds up, so that a short wait does not become none, and keeps to SQLite's 32 bits.
func wholeMilliseconds(d time.Duration) time.Duration {
	const most = math.MaxInt32 * time.Millisecond
	d = min(max(d, 0), most)
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}

// applyFile makes the settings that live in the database file.
func applyFile(c *sqlite.Conn, cfg Config) error {
	return waitForLock(c, wholeMilliseconds(cfg.BusyTimeout), func() error {
		// Until it has read the file, a connection takes any page size and reads it back, also a wrong one.
		if _, _, err := query(c, "PRAGMA schema_version"); err != nil {
			return err
		}
		var fixed []setting // with the first write
		if cfg.PageSize != 0 {
			fixed = append(fixed, setting{pragma: "page_size", want: number(cfg.PageSize)})
		}
		if cfg.AutoVacuum != 0 {
			fixed = append(fixed, setting{pragma: "auto_vacuum", want: number(cfg.AutoVacuum - AutoVacuumNone)})
		}
		for _, s := range fixed {
			if err := s.applyUnlessSet(c); err != nil {
				return err
			}
		}
		journal := setting{pragma: "journal_mode", want: string(cfg.JournalMode)}
		if err := journal.applyUnlessSet(c); err != nil {
			failed := (*sqlerr.Error)(nil)
			if errors.As(err, &failed) && cfg.JournalMode == JournalWAL && !errors.Is(err, sqlerr.ErrInterrupted) {
				got, _, _ := query(c, "PRAGMA journal_mode")
				return fmt.Errorf("%w: %w", &MismatchError{Pragma: journal.pragma, Want: journal.want, Got: got}, err)
			}
			return err
		}
		for _, s := range fixed { // another process may have been first
			if err := s.check(c); err != nil {
				return err
			}
		}
		return nil
	})
}

// waitForLock calls fn until it does not meet another connection's lock, or for at most timeout.
//
// SQLite's own wait is not enough: where waiting could be a deadlock it does not call the busy handler, and of several
// connections that open the same new database at once, one is told SQLITE_BUSY within microseconds. It is still used, in
// slices: during it SQLite holds the pending lock, which keeps a stream of readers from starving us.
func waitForLock(c *sqlite.Conn, timeout time.Duration, fn func() error) error {
	const slice = 50 * time.Millisecond
	defer c.SetBusyTimeout(timeout)
	deadline := time.Now().Add(timeout)
	for pause := 200 * time.Microsecond; ; pause = min(2*pause, 10*time.Millisecond) {
		left := time.Until(deadline)
		c.SetBusyTimeout(min(wholeMilliseconds(left), slice))
		err := fn()
		if !sqlerr.IsBusy(err) {
			return err
		}
		if left = time.Until(deadline); left <= 0 {
			return err
		}
		time.Sleep(min(left, pause/2+rand.N(pause)))
	}
}

// connectionSettings lists what belongs to the connection alone. Config must have its defaults. SQLite counts its constants
// from 0, this package from 1, as 0 is the default here.
func (cfg Config) connectionSettings() []setting {
	settings := []setting{
		{pragma: "synchronous", want: number(cfg.Synchronous % SyncOff)},
		{pragma: "fullfsync", want: bit(cfg.FullFsync)},
		{pragma: "foreign_keys", want: bit(cfg.ForeignKeys)},
		{pragma: "mmap_size", want: number(max(cfg.MmapSize, 0)), silent: cfg.MmapSize < 0},
		{pragma: "temp_store", want: number(TempCompiled - cfg.TempStore)},
		{pragma: "wal_autocheckpoint", want: number(max(cfg.WALAutoCheckpoint, 0))},
		{pragma: "journal_size_limit", want: number(max(cfg.JournalSizeLimit, -1))},
		{pragma: "trusted_schema", want: bit(cfg.TrustedSchema)},
		{pragma: "cell_size_check", want: bit(cfg.CellSizeCheck)},
		{pragma: "analysis_limit", want: number(max(cfg.AnalysisLimit, 0))},
		{pragma: "recursive_triggers", want: bit(cfg.RecursiveTriggers)},
	}
	if cfg.CacheSize > 0 {
		settings = append(settings, setting{pragma: "cache_size", want: number(-((cfg.CacheSize + KiB - 1) / KiB))})
	}
	if cfg.SecureDelete != 0 {
		settings = append(settings, setting{
			pragma: "secure_delete",
			set:    cfg.SecureDelete.String(), // "fast" reads as 2, but 2 means on
			want:   number(cfg.SecureDelete - SecureDeleteOff),
		})
	}
	return settings
}

func bit(f Flag) string { return number(Off - f) }

func number[T ~int8 | ~int | ~int64](n T) string { return strconv.FormatInt(int64(n), 10) }
