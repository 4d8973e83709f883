package capi

import (
	lib "modernc.org/sqlite/lib"

	"github.com/sanelite/sanelite/internal/cmem"
)

// ForeignKeysOpen reports whether the transaction has foreign keys that are not resolved yet: a deferred one that would
// make its COMMIT fail if nothing came after. https://www.sqlite.org/c3ref/c_dbstatus_options.html#sqlitedbstatusdeferredfks
func (c *Conn) ForeignKeysOpen() bool {
	current, highest := c.word, c.word+4
	lib.Xsqlite3_db_status(c.tls, c.db, lib.SQLITE_DBSTATUS_DEFERRED_FKS, current, highest, 0)
	return *cmem.At[int32](current) != 0
}
