// Package pragma configures SQLite connections with typed values instead of SQL text.
//
// A [Config] holds the settings of one connection. Its zero value is what a Go service should run in production:
// write-ahead log, synchronous NORMAL, a busy timeout of five seconds, foreign keys enforced and a page cache of 16 MiB.
// A field that is set replaces that one default and leaves the others alone:
//
//	err := pragma.Apply(conn, pragma.Config{Synchronous: pragma.SyncFull})
//
// # Nothing is taken on trust
//
// SQLite ignores a PRAGMA that it does not know, and answers many that it cannot honour with silence or with the value it
// kept. [Apply] therefore reads every setting back. One that did not take is a [*MismatchError], which names the pragma, the
// value wanted and the value in force.
//
// # Order
//
// [Apply] sets the busy timeout first, so that what follows waits for a lock instead of failing. Page size and auto-vacuum
// come before the journal mode, since switching to WAL writes the first page of a new file and with it fixes both. All other
// settings belong to the connection alone and follow.
//
// # Which connection
//
// Nearly all PRAGMAs act on one connection and are forgotten when it closes, so every connection of a pool needs them. Use
// [Apply] where the connection may write, and [ApplyReader] where it was opened read-only. [Read] tells what a connection
// really has; two of its results can be compared with ==.
package pragma
