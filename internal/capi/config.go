package capi

import (
	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/sanelite/sanelite/internal/cmem"
)

// SkipCheckpointOnClose leaves the write-ahead log alone when the last connection closes, for the program that copies it.
// https://www.sqlite.org/c3ref/c_dbconfig_defensive.html#sqlitedbconfignockptonclose
func (c *Conn) SkipCheckpointOnClose() error {
	_, err := c.configure(lib.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
	return err
}

// Defensive reports whether statements that could damage the file are refused.
// https://www.sqlite.org/c3ref/c_dbconfig_defensive.html#sqlitedbconfigdefensive
func (c *Conn) Defensive() bool {
	on, _ := c.configure(lib.SQLITE_DBCONFIG_DEFENSIVE, -1)
	return on
}

// configure switches an option on (1) or off (0), or leaves it (-1), and reports how it is then.
// https://www.sqlite.org/c3ref/db_config.html
func (c *Conn) configure(option, value int32) (on bool, err error) {
	va := libc.NewVaList(value, c.word)
	defer libc.Xfree(c.tls, va)
	if rc := lib.Xsqlite3_db_config(c.tls, c.db, option, va); rc != lib.SQLITE_OK {
		return false, c.newError(rc, "", "configure")
	}
	return *cmem.At[int32](c.word) != 0, nil
}
