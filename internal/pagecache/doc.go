// Package pagecache is a page cache for SQLite (https://www.sqlite.org/c3ref/pcache_methods2.html) that needs no lock and
// can survive commits.
//
// SQLite's own cache is compiled, in modernc's build, to share one mutex between all connections of the process. Here
// every connection has a hash table and a list of its own, which only the goroutine that owns the connection touches. All
// of it lies in C memory, outside the Go heap.
//
// In WAL mode SQLite drops the whole cache of a reader whose snapshot is no longer the newest, because it does not know
// which pages have changed. A Renewal does know, and puts the unchanged ones back; see there for when that is right.
//
// The cache is installed once for the process, before its first connection, and serves the connections of other packages
// too. The environment variable SANELITE_PAGECACHE chooses another: "builtin" for SQLite's own, "plain" for this one without
// surviving commits.
package pagecache
