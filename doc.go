// Package sanelite is the map of the module github.com/sanelite/sanelite, SQLite for Go services without cgo. It holds no code.
//
// Most programs import two packages:
//
//   - [github.com/sanelite/sanelite/sqlitex] opens a database, and reads and writes with one call
//   - [github.com/sanelite/sanelite/tx] is what runs inside a transaction: statements, rows, values, errors
//
// and some one of these:
//
//   - [github.com/sanelite/sanelite/pragma] configures connections with typed values instead of SQL text
//   - [github.com/sanelite/sanelite/backup] copies a database while it is in use, and brings copies back
//
// Their documentation is a manual: read sqlitex first, then tx. Programs to run and to copy are in the folder examples:
//
//   - examples/quickstart does the main job in one file
//   - examples/crud is a JSON service over HTTP
//   - examples/chirp is a social network with a page
//   - examples/tenants has a file for each customer
//   - examples/load brings in a CSV file of any size
//   - examples/backup and examples/litestream keep copies elsewhere
//
// Everything below internal is the machinery, one folder for each idea.
package sanelite
