// Package apps keeps one SQLite database per app, in one folder, of which only those in use are open.
//
// A database is opened when somebody uses its app, by one caller for all who come meanwhile. It stays open for the next, and is
// closed when nobody has used it for a while, or when another needs its place: no more than Options.MaxOpen are open at once.
// Whoever finds all of them in use waits, bounded by its context.
//
// registry.go is what callers see, open.go how a database is opened, places.go who may have one open, delete.go and close.go
// how it goes, files.go what lies in the folder, migrate.go the schema. One process uses a folder.
package apps
