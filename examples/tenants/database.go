package main

import (
	"log/slog"
	"time"

	"github.com/sanelite/sanelite/examples/tenants/apps"
	"github.com/sanelite/sanelite/pragma"
	"github.com/sanelite/sanelite/sqlitex"
)

// migrations bring a database from version i to i+1. Append to them; never change one that has been released: there are as
// many databases as apps, and each is brought up to date when it is opened next.
var migrations = []string{
	`CREATE TABLE items (
		id         INTEGER PRIMARY KEY, -- AUTOINCREMENT would write a second page in each commit; without it the last id is free again once its item is deleted
		title      TEXT NOT NULL,
		body       TEXT NOT NULL,
		created_at TEXT NOT NULL,
		updated_at TEXT NOT NULL
	) STRICT`,
}

func registryOptions(cfg config, log *slog.Logger) apps.Options {
	return apps.Options{
		MaxOpen:    cfg.maxOpen,
		Idle:       cfg.idle,
		Database:   smallDatabase(log),
		Migrations: migrations,
		Logger:     log,
	}
}

// smallDatabase are options for one of hundreds of databases in a process. What counts there is what each takes while it is
// open: its connections first, then the pages that they keep. The README has the figures.
func smallDatabase(log *slog.Logger) sqlitex.Options {
	return sqlitex.Options{
		MaxReaders:    2,           // one that reads a long list does not stop the others; the second opens when needed only
		ReaderIdle:    time.Second, // the second, and in an app that only writes the first: it takes less than a millisecond to open again
		MaxStatements: 16,          // there are eight, and the library's own
		Pragmas: pragma.Config{
			CacheSize:        48 * pragma.KiB, // for each connection: the inner pages of some ten thousand items; the system caches the rest
			JournalSizeLimit: 32 * pragma.MiB, // of the log on disk; at half of it the log starts over
		},
		Logger: log,
	}
}
