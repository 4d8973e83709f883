package sqlitex_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"time"

	"zombiezen.com/go/sqlite"
	zsqlitex "zombiezen.com/go/sqlite/sqlitex"

	"github.com/sanelite/sanelite/pragma"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// exampleDB opens a database in a folder of its own, with a table of three users. The function closes and removes it.
func exampleDB() (db *sqlitex.DB, done func()) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	db, err = sqlitex.Open(ctx, filepath.Join(dir, "app.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	err = db.Write(ctx, func(w *tx.Writer) error {
		return w.Script(`
			CREATE TABLE users (
				id    INTEGER PRIMARY KEY,
				name  TEXT NOT NULL,
				email TEXT UNIQUE
			) STRICT;
			INSERT INTO users (name, email) VALUES
				('Ann', 'ann@example.com'), ('Bob', 'bob@example.com'), ('Cid', NULL);`)
	})
	if err != nil {
		log.Fatal(err)
	}
	return db, func() {
		if err := errors.Join(db.Close(), os.RemoveAll(dir)); err != nil {
			log.Fatal(err)
		}
	}
}

func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	db, err := sqlitex.Open(ctx, filepath.Join(dir, "app.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	on, err := sqlitex.One[bool](ctx, db, `PRAGMA foreign_keys`)
	fmt.Println(filepath.Base(db.Path()), "enforces foreign keys:", on, err)
	// Output: app.db enforces foreign keys: true <nil>
}

// Every field that is zero keeps its default.
func ExampleOpen_options() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	db, err := sqlitex.Open(ctx, filepath.Join(dir, "ledger.db"), &sqlitex.Options{
		Pragmas:     pragma.Durable(), // a commit survives power loss
		BusyTimeout: time.Second,
		CacheSize:   256 * pragma.MiB,
		FileMode:    0o600,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	full, err := sqlitex.One[int](ctx, db, `PRAGMA synchronous`)
	fmt.Println(full, err)
	// Output: 2 <nil>
}

// What went wrong can be told apart, and nothing new is left on disk.
func ExampleOpen_errors() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	letter := filepath.Join(dir, "letter.txt")
	if err := os.WriteFile(letter, []byte("Dear database, this is a letter and no database at all."), 0o600); err != nil {
		log.Fatal(err)
	}

	_, err = sqlitex.Open(ctx, letter, nil)
	fmt.Println(errors.Is(err, sqlitex.ErrNotADatabase))

	_, err = sqlitex.Open(ctx, filepath.Join(dir, "app.db"), &sqlitex.Options{Mode: sqlitex.ReadOnly})
	fmt.Println(errors.Is(err, fs.ErrNotExist))
	// Output:
	// true
	// true
}

func ExampleOpen_memory() {
	ctx := context.Background()
	db, err := sqlitex.Open(ctx, ":memory:", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	n, err := sqlitex.One[int](ctx, db, `SELECT 6 * 7`)
	fmt.Println(n, err)
	// Output: 42 <nil>
}

// Functions and collations belong to a connection. Setup gives them to each one that is opened.
func ExampleOptions_setup() {
	ctx := context.Background()
	db, err := sqlitex.Open(ctx, ":memory:", &sqlitex.Options{
		Setup: func(_ context.Context, c *sqlite.Conn) error {
			return c.CreateFunction("double", &sqlite.FunctionImpl{
				NArgs:         1,
				Deterministic: true,
				Scalar: func(_ sqlite.Context, args []sqlite.Value) (sqlite.Value, error) {
					return sqlite.IntegerValue(2 * args[0].Int64()), nil
				},
			})
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	n, err := sqlitex.One[int](ctx, db, `SELECT double(21)`)
	fmt.Println(n, err)
	// Output: 42 <nil>
}

// All statements of a Read see one and the same state of the database.
func ExampleDB_Read() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	err := db.Read(ctx, func(r *tx.Reader) error {
		before, err := tx.One[int](r, `SELECT count(*) FROM users`)
		if err != nil {
			return err
		}
		if _, err := db.Exec(ctx, `DELETE FROM users`); err != nil { // beside the reader, on the connection that writes
			return err
		}
		after, err := tx.One[int](r, `SELECT count(*) FROM users`)
		fmt.Println("in the snapshot:", before, after)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	now, err := sqlitex.One[int](ctx, db, `SELECT count(*) FROM users`)
	fmt.Println("afterwards:", now, err)
	// Output:
	// in the snapshot: 3 3
	// afterwards: 0 <nil>
}

// A Write that returns nil is committed. After any other outcome nothing is left of it.
func ExampleDB_Write() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	err := db.Write(ctx, func(w *tx.Writer) error {
		if _, err := w.Exec(`UPDATE users SET email = NULL WHERE name = ?`, "Ann"); err != nil {
			return err
		}
		_, err := w.Exec(`UPDATE users SET email = ? WHERE name = ?`, "ann@example.com", "Cid")
		return err
	})
	fmt.Println("moved the address:", err)

	err = db.Write(ctx, func(w *tx.Writer) error {
		if _, err := w.Exec(`DELETE FROM users`); err != nil {
			return err
		}
		return errors.New("on second thoughts")
	})
	fmt.Println("deleted nobody:", err)

	name, err := sqlitex.One[string](ctx, db, `SELECT name FROM users WHERE email = 'ann@example.com'`)
	fmt.Println(name, err)
	// Output:
	// moved the address: <nil>
	// deleted nobody: on second thoughts
	// Cid <nil>
}

func ExampleDB_Exec() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	res, err := db.Exec(ctx, `INSERT INTO users (name) VALUES (?), (?)`, "Dan", "Eve")
	fmt.Println(res.RowsAffected, res.LastInsertID, err)

	res, err = db.Exec(ctx, `DELETE FROM users WHERE name = ?`, "nobody")
	fmt.Println(res.RowsAffected, err)
	// Output:
	// 2 5 <nil>
	// 0 <nil>
}

// The way out to zombiezen's own API, here for a blob that is read piece by piece.
func ExampleDB_ReadConn() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	err := db.ReadConn(ctx, func(c *sqlite.Conn) error {
		blob, err := c.OpenBlob("main", "users", "name", 1, false)
		if err != nil {
			return err
		}
		defer blob.Close()
		first := make([]byte, 2)
		_, err = blob.Read(first)
		fmt.Printf("%s of %d bytes\n", first, blob.Size())
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: An of 3 bytes
}

// Here SQLite's own API records what changes, as a changeset that another database can apply.
func ExampleDB_WriteConn() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	var changes bytes.Buffer
	err := db.WriteConn(ctx, func(c *sqlite.Conn) error {
		session, err := c.CreateSession("main")
		if err != nil {
			return err
		}
		defer session.Delete()
		if err := session.Attach("users"); err != nil {
			return err
		}
		if err := zsqlitex.ExecuteTransient(c, `DELETE FROM users WHERE name = 'Bob'`, nil); err != nil {
			return err
		}
		return session.WriteChangeset(&changes)
	})
	fmt.Println(changes.Len() > 0, err)
	// Output: true <nil>
}

// A transaction that is left open is rolled back, and reported.
func ExampleDB_WriteConn_transaction() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	err := db.WriteConn(ctx, func(c *sqlite.Conn) error {
		return zsqlitex.ExecuteTransient(c, `BEGIN`, nil)
	})
	fmt.Println(errors.Is(err, sqlitex.ErrStateChanged))
	// Output: true
}

// CloseContext waits for what runs, and interrupts it when its own context ends.
func ExampleDB_CloseContext() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	started, result := make(chan struct{}), make(chan error, 1)
	go func() {
		result <- db.Read(ctx, func(r *tx.Reader) error {
			close(started)
			_, err := tx.One[int](r, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n`) // for ever
			return err
		})
	}()
	<-started

	soon, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	fmt.Println("close:", db.CloseContext(soon))
	fmt.Println("interrupted:", errors.Is(<-result, sqlitex.ErrClosed))
	// Output:
	// close: <nil>
	// interrupted: true
}

func ExampleDB_Close() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done() // closes again, which is fine

	fmt.Println(db.Close())
	_, err := db.Exec(ctx, `DELETE FROM users`)
	fmt.Println(err, errors.Is(err, sqlitex.ErrClosed))
	// Output:
	// <nil>
	// database handle is closed true
}
