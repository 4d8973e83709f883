package conn

import (
	"maps"

	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/sqlerr"
)

// otherPragmas are the settings of a connection that pragma.Config does not govern. Setup may have chosen them; whoever
// borrows the connection may not leave another choice to the next.
var otherPragmas = []string{
	"automatic_index", "cache_spill", "checkpoint_fullfsync", "count_changes", "defer_foreign_keys", "empty_result_callbacks",
	"full_column_names", "ignore_check_constraints", "legacy_alter_table", "locking_mode", "max_page_count", "query_only",
	"read_uncommitted", "reverse_unordered_selects", "short_column_names", "threads", "writable_schema",
}

// others is all state of a connection that can be read, but for pragma.Config and the databases.
type others struct {
	pragmas       map[string]string
	caseSensitive bool // PRAGMA case_sensitive_like, which has no answer
	defensive     bool
	limits        [sqlite.LimitWorkerThreads + 1]int32
}

func (c *Conn) readOthers() (o others, err error) {
	o.pragmas = make(map[string]string, len(otherPragmas))
	for _, name := range otherPragmas {
		if err := c.eachRow("PRAGMA "+name, func(s *capi.Stmt) { o.pragmas[name] = string(s.ColumnText(0)) }); err != nil {
			return o, err
		}
	}
	err = c.eachRow("SELECT 'a' NOT LIKE 'A'", func(s *capi.Stmt) { o.caseSensitive = s.ColumnInt64(0) != 0 })
	o.defensive = c.Defensive()
	for i := range o.limits {
		o.limits[i] = c.Zombie().Limit(sqlite.Limit(i), -1)
	}
	return o, err
}

func (c *Conn) restoreLimits() {
	for i, value := range c.others.limits {
		c.Zombie().Limit(sqlite.Limit(i), value)
	}
}

func (c *Conn) restoreOthers() error {
	now, err := c.readOthers()
	if err != nil || now.equal(c.others) {
		return err
	}
	if now.defensive != c.others.defensive {
		if err := c.Zombie().SetDefensive(c.others.defensive); err != nil {
			return err
		}
	}
	if now.caseSensitive != c.others.caseSensitive {
		if err := c.RunOnce("PRAGMA case_sensitive_like = " + bit(c.others.caseSensitive)); err != nil {
			return err
		}
	}
	for _, name := range otherPragmas {
		if now.pragmas[name] != c.others.pragmas[name] {
			if err := c.RunOnce("PRAGMA " + name + " = " + c.others.pragmas[name]); err != nil {
				return err
			}
		}
	}
	if now, err = c.readOthers(); err == nil && !now.equal(c.others) {
		err = sqlerr.Wrapf(sqlerr.ErrStateChanged, "sqlite: settings differ: wanted %v, got %v", c.others, now)
	}
	return err
}

func (o others) equal(p others) bool {
	return maps.Equal(o.pragmas, p.pragmas) && o.caseSensitive == p.caseSensitive && o.defensive == p.defensive && o.limits == p.limits
}

func bit(on bool) string {
	if on {
		return "1"
	}
	return "0"
}
