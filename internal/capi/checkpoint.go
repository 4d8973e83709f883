package capi

import (
	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/sanelite/sanelite/internal/cmem"
)

// CheckpointMode is how far a checkpoint goes. https://www.sqlite.org/c3ref/c_checkpoint_full.html
type CheckpointMode int32

// The modes of sqlite3_wal_checkpoint_v2.
const (
	CheckpointPassive  CheckpointMode = lib.SQLITE_CHECKPOINT_PASSIVE
	CheckpointFull     CheckpointMode = lib.SQLITE_CHECKPOINT_FULL
	CheckpointRestart  CheckpointMode = lib.SQLITE_CHECKPOINT_RESTART
	CheckpointTruncate CheckpointMode = lib.SQLITE_CHECKPOINT_TRUNCATE
)

// Checkpoint copies pages of the write-ahead log of main back into the database. It returns the number of pages in the log
// and how many of them have been copied; both are -1 where there is no log. https://www.sqlite.org/c3ref/wal_checkpoint_v2.html
func (c *Conn) Checkpoint(mode CheckpointMode) (inLog, copied int, err error) {
	out := libc.Xcalloc(c.tls, 2, 4)
	defer libc.Xfree(c.tls, out)
	rc := lib.Xsqlite3_wal_checkpoint_v2(c.tls, c.db, c.main, int32(mode), out, out+4)
	inLog, copied = int(*cmem.At[int32](out)), int(*cmem.At[int32](out + 4))
	if rc != lib.SQLITE_OK {
		err = c.newError(rc, "", "checkpoint")
	}
	return inLog, copied, err
}
