// Package sqlitex opens SQLite databases for Go services: one connection that writes, many that read, with the settings that
// production needs, and without cgo.
//
// What runs inside a transaction is in package [github.com/sanelite/sanelite/tx]: statements, rows into structs, values,
// errors. Most programs import both.
//
// # Opening
//
//	db, err := sqlitex.Open(ctx, "app.db", nil)
//	if err != nil {
//		return err
//	}
//	defer db.Close()
//
// Open one handle per database, keep it as long as the program runs, and share it: a [DB] is safe for any number of
// goroutines. Without options every connection has a write-ahead log, synchronous NORMAL, a busy timeout of five seconds,
// foreign keys enforced and a page cache, each of them read back after it was set. [Options] changes single ones; a field that
// is zero keeps its default, and every default can be switched off, flags by pragma.Off, sizes and times by a negative number:
//
//	db, err := sqlitex.Open(ctx, "ledger.db", &sqlitex.Options{
//		Pragmas:     pragma.Durable(), // synchronous FULL: a commit survives power loss
//		BusyTimeout: 2 * time.Second,
//	})
//
// The path is a file name and nothing else: "file:app.db?mode=ro" is a file with an odd name. The folder must exist. The one
// exception is ":memory:", a database that belongs to this handle alone, lives until Close, and is served by one connection, so
// that readers and writers take turns. If Open fails, the error names path and reason, and nothing new is left on disk.
//
// Several handles and several programs may use a file at the same time, as long as they are on one machine: WAL needs shared
// memory, and locks that can be trusted (https://www.sqlite.org/wal.html). A database on NFS, SMB or AFS is refused with
// [ErrNetworkFilesystem] unless Options.AllowNetworkFS is set. The files app.db-wal and app.db-shm belong to the database while
// it is open. Do not open, copy or delete any of the three by other means than SQLite: to close such a file drops the locks
// that this process has on it (https://www.sqlite.org/howtocorrupt.html).
//
// # Reading
//
// One call is one read transaction. [One] wants exactly one row, [All] any number, [Each] reads row by row:
//
//	user, err := sqlitex.One[User](ctx, db, `SELECT id, name, email FROM users WHERE id = ?`, id)
//	names, err := sqlitex.All[string](ctx, db, `SELECT name FROM users ORDER BY id LIMIT ?`, 20)
//	for user, err := range sqlitex.Each[User](ctx, db, `SELECT id, name, email FROM users`) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(user.Name)
//	}
//
// Where several statements must see the same state, [DB.Read] gives them one snapshot:
//
//	err := db.Read(ctx, func(r *tx.Reader) error {
//		total, err := tx.One[int64](r, `SELECT count(*) FROM posts WHERE user_id = ?`, id)
//		if err != nil {
//			return err
//		}
//		posts, err := tx.All[Post](r, `SELECT id, user_id, body FROM posts WHERE user_id = ? LIMIT 20`, id)
//		fmt.Println(len(posts), "of", total)
//		return err
//	})
//
// A read sees every commit that was complete when it began, whoever made it, and none that comes later. It neither waits for
// the writer nor makes it wait (https://www.sqlite.org/isolation.html). Its connection is open for reading only, so that no
// SQL can write through it.
//
// Keep reads short all the same. While one snapshot is in use the write-ahead log cannot start over and grows; Stats tells the
// age of the oldest. And within fn use r, or pass it on: to call One or Read there takes a second of the MaxReaders
// connections, and where all of them do that, all wait. On ":memory:" there is no second connection, and it is ErrBusy at once.
//
// # Writing
//
// [DB.Exec] runs one statement, [ExecOne] one with RETURNING; each is a transaction of its own:
//
//	res, err := db.Exec(ctx, `UPDATE users SET name = ? WHERE id = ?`, name, id)
//	if err == nil && res.RowsAffected == 0 {
//		err = sqlitex.ErrNoRows
//	}
//	id, err := sqlitex.ExecOne[int64](ctx, db, `INSERT INTO users (name) VALUES (?) RETURNING id`, name)
//
// [DB.Write] makes several statements one transaction. tx.Write is the same with a result:
//
//	id, err := tx.Write(ctx, db, func(w *tx.Writer) (int64, error) {
//		id, err := tx.One[int64](w, `INSERT INTO posts (user_id, body) VALUES (?, ?) RETURNING id`, userID, body)
//		if err != nil {
//			return 0, err
//		}
//		_, err = w.Exec(`UPDATE users SET posts = posts + 1 WHERE id = ?`, userID)
//		return id, err
//	})
//
// A nil error means that the transaction is committed. After anything else nothing is left of it: an error that fn returns,
// a panic (which goes on to the caller), runtime.Goexit, a context that ends before the COMMIT begins, a COMMIT that fails, or
// SQLite rolling back by itself. Write calls fn once; it never runs it again.
//
// SQLite has one writer at a time (https://www.sqlite.org/lang_transaction.html). Callers of a handle queue for it, first
// come, first served, so they never see SQLITE_BUSY from each other. Whatever fn does, all other writers wait for it: read
// and compute before, make network calls before or after. A Write inside a Write of the same handle would wait for itself;
// it is ErrBusy at once. Use w, or [github.com/sanelite/sanelite/tx.Writer.Savepoint].
//
// Schemas and migrations are scripts, in a transaction like anything else:
//
//	err := db.Write(ctx, func(w *tx.Writer) error {
//		return w.Script(`CREATE TABLE IF NOT EXISTS users (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT`)
//	})
//
// # Waiting and contexts
//
// Nothing waits for ever. Options.BusyTimeout bounds each wait: for the writer, for a free reader, for a lock that another
// process holds. The context bounds it, too; where BusyTimeout is negative, it alone does. A wait that ends in vain is a
// [*BusyError]. It matches [ErrBusy] if the busy timeout ended it, the context's error if the context did, and says what was
// waited for, how long, which function or statement holds the writer and since when, or how many readers are in use:
//
//	sqlite: waited 5s for the writer, held for 1m12s by import.go:88 (main.importAll.func1)
//
// A context that is done already does nothing. One that ends later interrupts the statement that runs, within a thousand or so
// steps of SQLite's virtual machine, and the transaction is rolled back. A COMMIT that has begun is not interrupted: its
// answer is the truth. r.Context and w.Context return the context for whatever fn calls.
//
// # Errors
//
// Errors are told apart with errors.Is. The sentinels are listed below, and explained in package tx, whose values they are:
//
//	switch {
//	case errors.Is(err, sqlitex.ErrNoRows):
//		// One or ExecOne found nothing; sql.ErrNoRows matches as well
//	case errors.Is(err, sqlitex.ErrUnique):
//		// the row exists; ErrConstraint matches every constraint
//	case errors.Is(err, sqlitex.ErrBusy):
//		// try again later
//	}
//
// What SQLite reports is a [*Error] with the extended result code, SQLite's words, the SQL text and the place in it. No error
// contains the values of arguments, so that it may be logged.
//
// # State of a connection
//
// Connections are used by one caller after the other, and none finds what the last one left. Statements that change a
// connection are refused with [ErrNotAllowed], which names what to use instead: BEGIN and its relatives, ATTACH, and every
// PRAGMA that sets something, but for user_version, application_id, optimize, incremental_vacuum and defer_foreign_keys in a
// Write. Temporary tables are gone when the call returns. Functions, collations and attached databases belong into
// Options.Setup, which is called for every connection that is opened.
//
// [DB.ReadConn] and [DB.WriteConn] lend a connection to zombiezen's own API: blobs, sessions, whatever this package does not
// have. They may do anything with it. Afterwards it is checked and restored.
//
// # Maintenance
//
// Nothing here needs to be called for a database to work well. PRAGMA optimize runs at Open, every few hours and at Close, and
// the write-ahead log is copied back in the background whenever it has grown by a thousand pages; no commit waits for that.
//
//   - [DB.Checkpoint] copies the log back now; with CheckpointTruncate it also cuts the file to nothing
//   - [DB.Vacuum] rebuilds the file without the holes that deletions left, and holds the writer meanwhile
//   - [DB.Optimize] refreshes the statistics of the query planner, after a large import for instance
//   - [DB.Check] reads everything and verifies structure and foreign keys
//   - [DB.Ping] reads the first page, for a health check
//   - [DB.Stats] are figures for metrics: readers in use, callers in the queue, time they waited
//
// # Closing
//
// [DB.Close] refuses new calls with [ErrClosed], waits for those that run, and closes readers before the writer, so that SQLite
// removes the write-ahead log. It may be called more than once. Called from inside a transaction of the same handle it
// would wait for itself, and is an error that changes nothing. [DB.CloseContext] has a bound: when its context ends, it
// interrupts the statements that still run.
//
//	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
//	defer cancel()
//	err := errors.Join(server.Shutdown(ctx), db.CloseContext(ctx))
package sqlitex
