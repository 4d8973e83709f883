package sqltext

import (
	"fmt"
	"strings"

	"github.com/sanelite/sanelite/internal/sqlerr"
)

// pragma reads `[schema.]name [= value | (value)]` from s.
func (info *Info) pragma(s *scanner) {
	t := s.next()
	info.Name = strings.ToLower(t.name())
	t = s.next()
	if t.kind == dot {
		info.Schema = info.Name
		info.Name = strings.ToLower(s.next().name())
		t = s.next()
	}
	info.HasValue = t.kind != end && t.kind != semi
}

// use says what a pragma does, by bits.
type use uint8

const (
	reads    use = 1 << iota // without a value it only reads
	asks                     // its value is an argument to a question
	runs                     // without a value it does something that belongs in a write transaction
	sets                     // with a value it does something that belongs in a write transaction
	anywhere = reads | asks
)

// pragmas holds every pragma of SQLite 3.54 (PRAGMA pragma_list, https://www.sqlite.org/pragma.html). A name that is not here
// is refused: SQLite would silently ignore it. What sets or does something to the connection rather than to the database
// has no bit for that: the next user of the connection would find it.
var pragmas = map[string]use{
	"analysis_limit": reads, "auto_vacuum": reads, "automatic_index": reads, "busy_timeout": reads,
	"cache_size": reads, "cache_spill": reads, "case_sensitive_like": reads, "cell_size_check": reads,
	"checkpoint_fullfsync": reads, "collation_list": reads, "compile_options": reads, "count_changes": reads,
	"data_version": reads, "database_list": reads, "default_cache_size": reads, "empty_result_callbacks": reads,
	"encoding": reads, "foreign_keys": reads, "freelist_count": reads, "full_column_names": reads, "fullfsync": reads,
	"function_list": reads, "hard_heap_limit": reads, "ignore_check_constraints": reads, "journal_mode": reads,
	"journal_size_limit": reads, "legacy_alter_table": reads, "locking_mode": reads, "max_page_count": reads,
	"mmap_size": reads, "module_list": reads, "page_count": reads, "page_size": reads, "pragma_list": reads,
	"query_only": reads, "read_uncommitted": reads, "recursive_triggers": reads, "reverse_unordered_selects": reads,
	"schema_version": reads, "secure_delete": reads, "short_column_names": reads, "soft_heap_limit": reads,
	"synchronous": reads, "temp_store": reads, "temp_store_directory": reads, "threads": reads, "trusted_schema": reads,
	"wal_autocheckpoint": reads, "writable_schema": reads,

	"foreign_key_check": anywhere, "foreign_key_list": anywhere, "index_info": anywhere, "index_list": anywhere,
	"index_xinfo": anywhere, "integrity_check": anywhere, "quick_check": anywhere, "table_info": anywhere,
	"table_list": anywhere, "table_xinfo": anywhere,

	"user_version": reads | sets, "application_id": reads | sets, "defer_foreign_keys": reads | sets,
	"incremental_vacuum": runs | sets, "optimize": runs | sets,

	"shrink_memory": 0, "wal_checkpoint": 0,
}

// instead names what to use for a pragma that is refused; the others are settings.
var instead = map[string]string{
	"wal_checkpoint": "use Checkpoint",
	"optimize":       "use Optimize, or Write",
	"shrink_memory":  "set Options.CacheSize",
	"query_only":     "use Read",
}

// checkPragma refuses a pragma that would change how the connection works for its next user.
func (info Info) checkPragma(write bool) error {
	u, known := pragmas[info.Name]
	harmless, writing := reads, runs
	if info.HasValue {
		harmless, writing = asks, sets
	}
	// A pragma of temp or of an attached database leaves its mark on the connection.
	main := info.Schema == "" || info.Schema == "main"
	switch {
	case u&harmless != 0, write && main && u&writing != 0:
		return nil
	case !known:
		return refuse(info, "SQLite knows no such pragma")
	case u&writing != 0 && !main:
		return refuse(info, "it may only change schema main")
	case instead[info.Name] != "":
		return refuse(info, instead[info.Name])
	case u&writing != 0:
		return refuse(info, "use Write")
	}
	return refuse(info, "set it in Options.Pragmas or Options.Setup")
}

func (info Info) String() string {
	if info.Kind != Pragma {
		return info.Verb
	}
	s := "PRAGMA "
	if info.Schema != "" {
		s += info.Schema + "."
	}
	s += info.Name
	if info.HasValue {
		s += " with a value"
	}
	return s
}

func refuse(info Info, advice string) error {
	return sqlerr.Wrapf(sqlerr.ErrNotAllowed, "sqlite: %s", fmt.Sprintf("%v is not allowed here: %s", info, advice))
}
