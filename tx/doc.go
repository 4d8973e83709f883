// Package tx is what runs inside a transaction: statements, rows into Go values, Go values into parameters, savepoints and
// errors. Transactions are begun by a handle, usually a *sqlitex.DB of package [github.com/sanelite/sanelite/sqlitex], whose
// documentation comes first.
//
// # Readers and Writers
//
// There are two kinds of transaction, and two types. A [*Reader] sees one snapshot of the database and cannot write: it has no
// method for it, and its connection is open for reading only. A [*Writer] reads and writes; it holds the write lock from
// its first moment (BEGIN IMMEDIATE), so that no statement in it fails for want of the lock.
//
//	err := db.Read(ctx, func(r *tx.Reader) error { return report(r) })
//	err = db.Write(ctx, func(w *tx.Writer) error { return transfer(w) })
//
// [Read] and [Write] do the same with a typed result:
//
//	total, err := tx.Read(ctx, db, func(r *tx.Reader) (int64, error) {
//		return tx.One[int64](r, `SELECT count(*) FROM users`)
//	})
//
// Name the parameters r and w: one named tx would hide this package. A function that serves both kinds takes a [Queryer]; one
// that relies on reading alone takes a *Reader.
//
// Both are valid until the function they were given to returns. After that, whoever has kept one gets [ErrTxDone], and cannot
// reach the next user of the connection. Several goroutines may use one: their statements run one at a time.
//
// # Reading
//
//	user, err := tx.One[User](r, `SELECT id, name, email FROM users WHERE id = ?`, id)
//	users, err := tx.All[User](r, `SELECT id, name, email FROM users ORDER BY id LIMIT ?`, 20)
//	for user, err := range tx.Each[User](r, `SELECT id, name, email FROM users`) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(user.Name)
//	}
//
// [One] wants exactly one row: none is [ErrNoRows], which sql.ErrNoRows matches too, several are [ErrTooManyRows]. [All] of
// nothing is an empty slice, not nil. [Each] runs the query at every range, and reads as the loop goes on; the loop may break,
// and may run other statements, the same one included. An error comes as the last pair: an error in the middle never
// looks like the end.
//
// # Writing
//
//	res, err := w.Exec(`UPDATE users SET name = ? WHERE id = ?`, name, id)
//	if err == nil && res.RowsAffected == 0 {
//		err = tx.ErrNoRows
//	}
//	id, err := tx.One[int64](w, `INSERT INTO users (name) VALUES (?) RETURNING id`, name)
//
// [Writer.Exec] runs one statement for its effect. Statements with RETURNING are read like queries; they have run to their end
// before the call, or the loop, is over. [Writer.Script] runs many without arguments, such as a schema, and
// [ExecEach] one for each row of a sequence.
//
// An error of one statement does not end the transaction: return it to undo everything, or handle it and go on. Some make
// SQLite roll back by itself: a full disk, OR ROLLBACK, RAISE(ROLLBACK). Then every further statement answers that error, and
// so does Write, even if the function swallowed it (https://www.sqlite.org/lang_transaction.html).
//
// # Savepoints
//
// [Writer.Savepoint] is a transaction in a transaction. An error or a panic undoes it alone:
//
//	err := w.Savepoint(func(w *tx.Writer) error {
//		_, err := w.Exec(`INSERT INTO tags (name) VALUES (?)`, name)
//		return err
//	})
//	if errors.Is(err, tx.ErrUnique) {
//		err = nil // there is such a tag already
//	}
//
// # After the commit
//
// What must not happen unless the transaction is committed waits in [Writer.OnCommit]. The functions run before Write
// returns, when the writer is free for others again; after a rollback they are dropped.
//
//	w.OnCommit(func() { cache.Forget(id) })
//
// # Statements
//
// A call takes exactly one statement. Blanks and comments may follow, and one semicolon; a second statement is an error,
// and so is none. What begins or ends a transaction, and what changes the connection for its next user, is
// [ErrNotAllowed]: the error names the method to use instead. Prepared statements are kept by their text, so let the text
// stay the same and pass what changes as arguments.
//
// # Arguments
//
// Each parameter gets an argument, by position; too few and too many are [ErrArguments].
//
//	_, err := w.Exec(`INSERT INTO users (name, email) VALUES (?, ?)`, name, nil)
//
// Parameters with names (:name, @name or $name) take their values from sql.Named, or from the fields of a struct by [Args]; a
// name that is missing or unknown is an error. [List] binds a slice of any length to one parameter:
//
//	_, err := w.Exec(`INSERT INTO users (name, email) VALUES (:name, :email)`, tx.Args(user))
//	_, err = w.Exec(`UPDATE users SET name = :name WHERE id = :id`, sql.Named("name", name), sql.Named("id", id))
//	users, err := tx.All[User](w, `SELECT id, name, email FROM users WHERE id IN (SELECT value FROM json_each(?))`, tx.List(ids))
//
// These Go values have a place in SQLite (https://www.sqlite.org/datatype3.html); anything else is an error, never a guess:
//
//   - nil, and any nil pointer: NULL; another pointer: what it points to
//   - bool: 0 or 1; integers: INTEGER, above the largest int64 an error; floats: REAL, NaN an error
//   - string: TEXT, byte for byte, whatever the bytes are
//   - []byte: BLOB; a nil slice is NULL, an empty one an empty BLOB
//   - time.Time: TEXT in UTC, "2006-01-02 15:04:05.000000000". It sorts by time, compares with CURRENT_TIMESTAMP, and SQLite's
//     date functions read it. Years outside 0 to 9999 are an error
//   - driver.Valuer: what its Value returns; other named types: by their kind
//
// # Rows into structs
//
// T is a struct, with a place for every column, or a scalar, for exactly one:
//
//	type User struct {
//		ID        int64             // column id
//		Name      string            // column name
//		Email     *string           // column email, NULL is nil
//		CreatedAt time.Time         // column created_at
//		SeenAt    time.Time         `db:"last_seen,unixmilli"`
//		Settings  map[string]string `db:",json"`
//		Password  string            `db:"-"`
//	}
//
// A column goes to the field whose tag db names it, else to the field whose name in snake_case it is: UserID is user_id. Letter
// case does not count. The fields of embedded structs belong to the outer one. A column without a field is an error, and
// so are two for one field; a field without a column stays zero. Prefer to list the columns: SELECT * changes with the schema.
//
// The option json stores the field as JSON text; unix and unixmilli store a time as a number of seconds or milliseconds since
// 1970. They work the same way in [Args].
//
// # Values
//
// A value must fit its Go type. What does not is [ErrScan]; the message names column, field and kind of value, not the value.
//
//   - integers take INTEGER, and REAL without a fraction, if they are large enough; floats take both
//   - bool takes 0 and 1
//   - string and []byte take TEXT and BLOB; the bytes are the caller's own
//   - time.Time takes TEXT in the formats of SQLite's date functions; it is UTC unless it says otherwise, and becomes UTC
//   - NULL fits *T, sql.Null[T], []byte, any, and with the option json a map, slice or pointer; nothing else
//   - any takes everything, as int64, float64, string, []byte or nil
//   - sql.Scanner decides for itself; other named types go by their kind
//
// # Waiting and contexts
//
// The context given to Read or Write holds for everything in the transaction. When it ends, the statement that runs is
// interrupted, the next ones fail, and a write transaction is rolled back; the rollback itself does not look at it.
// [Reader.Context] and [Writer.Context] return it for callees. Waits for locks are described in package sqlitex.
//
// # Errors
//
// The sentinels below are for errors.Is, through all that has been wrapped around them. What SQLite reports is an [*Error]:
//
//	var e *tx.Error
//	if errors.As(err, &e) {
//		fmt.Println(e.Code, e.Message, e.SQL, e.Offset)
//	}
//
// Code is the extended result code (https://www.sqlite.org/rescode.html); a sentinel matches it and all that extend it, so
// that ErrUnique is an ErrConstraint, too. A statement that failed because its context ended matches the context's error
// and [ErrInterrupted]. No error holds the value of an argument.
package tx
