package pragma

import (
	"fmt"
	"math"
	"slices"
)

var journalModes = []JournalMode{
	"", JournalWAL, JournalDelete, JournalTruncate, JournalPersist, JournalMemory, JournalOff,
}

// Validate returns an error that names the first field whose value SQLite has no meaning for. [Apply] and [ApplyReader]
// call it before they touch the connection.
func (cfg Config) Validate() error {
	if !slices.Contains(journalModes, cfg.JournalMode) {
		return invalid("JournalMode", fmt.Sprintf("%q", string(cfg.JournalMode)), "is none of the Journal constants")
	}
	if p := cfg.PageSize; p != 0 && (p < 512 || p > 65536 || p&(p-1) != 0) {
		return invalid("PageSize", p, "is not a power of two from 512 to 65536")
	}
	if cfg.CacheSize > math.MaxInt32*KiB {
		return invalid("CacheSize", cfg.CacheSize, "is more than SQLite can count")
	}
	for _, f := range []struct {
		name  string
		value interface{ String() string }
		ok    bool
	}{
		{"Synchronous", cfg.Synchronous, inRange(cfg.Synchronous, SyncOff)},
		{"FullFsync", cfg.FullFsync, inRange(cfg.FullFsync, Off)},
		{"ForeignKeys", cfg.ForeignKeys, inRange(cfg.ForeignKeys, Off)},
		{"TempStore", cfg.TempStore, inRange(cfg.TempStore, TempCompiled)},
		{"AutoVacuum", cfg.AutoVacuum, inRange(cfg.AutoVacuum, AutoVacuumIncremental)},
		{"TrustedSchema", cfg.TrustedSchema, inRange(cfg.TrustedSchema, Off)},
		{"CellSizeCheck", cfg.CellSizeCheck, inRange(cfg.CellSizeCheck, Off)},
		{"SecureDelete", cfg.SecureDelete, inRange(cfg.SecureDelete, SecureDeleteFast)},
		{"RecursiveTriggers", cfg.RecursiveTriggers, inRange(cfg.RecursiveTriggers, Off)},
	} {
		if !f.ok {
			return invalid(f.name, f.value, "is none of its type's constants")
		}
	}
	if cfg.WALAutoCheckpoint > math.MaxInt32 {
		return invalid("WALAutoCheckpoint", cfg.WALAutoCheckpoint, "is more than SQLite can count")
	}
	if cfg.AnalysisLimit > math.MaxInt32 {
		return invalid("AnalysisLimit", cfg.AnalysisLimit, "is more than SQLite can count")
	}
	return nil
}

func inRange[T ~int8](v, last T) bool { return v >= 0 && v <= last }

func invalid(field string, value any, why string) error {
	return fmt.Errorf("pragma: Config.%s: %v %s", field, value, why)
}
