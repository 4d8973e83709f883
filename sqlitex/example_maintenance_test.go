package sqlitex_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"zombiezen.com/go/sqlite"
	zsqlitex "zombiezen.com/go/sqlite/sqlitex"

	"github.com/sanelite/sanelite/sqlitex"
)

func ExampleDB_Checkpoint() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	info, err := db.Checkpoint(ctx, sqlitex.CheckpointPassive)
	fmt.Println("all copied:", info.Log > 0 && info.Copied == info.Log, err)

	_, err = db.Checkpoint(ctx, sqlitex.CheckpointTruncate)
	if err != nil {
		log.Fatal(err)
	}
	file, err := os.Stat(db.Path() + "-wal")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("bytes in the log:", file.Size())
	// Output:
	// all copied: true <nil>
	// bytes in the log: 0
}

// What deletions left is given back to the disk.
func ExampleDB_Vacuum() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	if _, err := db.Exec(ctx, `CREATE TABLE large AS SELECT zeroblob(1000000) AS data`); err != nil {
		log.Fatal(err)
	}
	if _, err := db.Exec(ctx, `DROP TABLE large`); err != nil {
		log.Fatal(err)
	}
	before, err := sqlitex.One[int](ctx, db, `PRAGMA freelist_count`)
	fmt.Println("free pages:", before > 200, err)

	fmt.Println(db.Vacuum(ctx))
	after, err := sqlitex.One[int](ctx, db, `PRAGMA freelist_count`)
	fmt.Println("free pages:", after, err)
	// Output:
	// free pages: true <nil>
	// <nil>
	// free pages: 0 <nil>
}

func ExampleDB_Optimize() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	if _, err := db.Exec(ctx, `CREATE INDEX users_by_name ON users (name)`); err != nil {
		log.Fatal(err)
	}
	fmt.Println(db.Optimize(ctx))
	// Output: <nil>
}

// Check reads everything, and names what it finds.
func ExampleDB_Check() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()
	fmt.Println(db.Check(ctx))

	if _, err := db.Exec(ctx, `CREATE TABLE posts (id INTEGER PRIMARY KEY, user_id INTEGER REFERENCES users) STRICT`); err != nil {
		log.Fatal(err)
	}
	// Only a connection that has been told not to look lets such a row in.
	err := db.WriteConn(ctx, func(c *sqlite.Conn) error {
		return errors.Join(
			zsqlitex.ExecuteTransient(c, `PRAGMA foreign_keys = off`, nil),
			zsqlitex.ExecuteTransient(c, `INSERT INTO posts VALUES (1, 99)`, nil),
		)
	})
	if err != nil {
		log.Fatal(err)
	}
	err = db.Check(ctx)
	fmt.Println(errors.Is(err, sqlitex.ErrCheckFailed))
	var found *sqlitex.CheckError
	if errors.As(err, &found) {
		fmt.Println(found.ForeignKeys)
	}
	// Output:
	// <nil>
	// true
	// [row 1 of posts refers to a row of users that is not there]
}

func ExampleDB_Ping() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()
	fmt.Println(db.Ping(ctx))
	// Output: <nil>
}

// The figures of a handle, for a metrics endpoint.
func ExampleDB_Stats() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	before := db.Stats()
	if _, err := db.Exec(ctx, `DELETE FROM users WHERE id = ?`, 1); err != nil {
		log.Fatal(err)
	}
	if _, err := sqlitex.One[int](ctx, db, `SELECT count(*) FROM users`); err != nil {
		log.Fatal(err)
	}
	after := db.Stats()
	fmt.Println("writes:", after.Writer.Acquired-before.Writer.Acquired, "waiting:", after.Writer.Queued)
	fmt.Println("reads:", after.Readers.Acquired-before.Readers.Acquired, "in use:", after.Readers.InUse)
	// Output:
	// writes: 1 waiting: 0
	// reads: 1 in use: 0
}
