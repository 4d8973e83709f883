package sqlitex_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/sanelite/sanelite/sqlitex"
)

// A struct takes each column into the field of the same name in snake_case. NULL needs a place to go: a pointer here.
func ExampleOne() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	type User struct {
		ID    int64
		Name  string
		Email *string
	}
	user, err := sqlitex.One[User](ctx, db, `SELECT id, name, email FROM users WHERE id = ?`, 3)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(user.ID, user.Name, user.Email == nil)

	_, err = sqlitex.One[User](ctx, db, `SELECT id, name, email FROM users WHERE id = ?`, 99)
	fmt.Println(errors.Is(err, sqlitex.ErrNoRows), errors.Is(err, sql.ErrNoRows))
	// Output:
	// 3 Cid true
	// true true
}

// For one column T is a scalar.
func ExampleOne_scalar() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	n, err := sqlitex.One[int](ctx, db, `SELECT count(*) FROM users`)
	fmt.Println(n, err)
	email, err := sqlitex.One[sql.Null[string]](ctx, db, `SELECT email FROM users WHERE name = ?`, "Cid")
	fmt.Println(email.Valid, err)
	at, err := sqlitex.One[time.Time](ctx, db, `SELECT datetime('2024-02-29 12:00')`)
	fmt.Println(at, err)
	// Output:
	// 3 <nil>
	// false <nil>
	// 2024-02-29 12:00:00 +0000 UTC <nil>
}

func ExampleAll() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	names, err := sqlitex.All[string](ctx, db, `SELECT name FROM users WHERE id > ? ORDER BY id LIMIT ?`, 1, 20)
	fmt.Println(names, err)

	nobody, err := sqlitex.All[string](ctx, db, `SELECT name FROM users WHERE false`)
	fmt.Println(len(nobody), nobody == nil, err)
	// Output:
	// [Bob Cid] <nil>
	// 0 false <nil>
}

// The loop holds a reader until it ends. It may break.
func ExampleEach() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	for name, err := range sqlitex.Each[string](ctx, db, `SELECT name FROM users ORDER BY name`) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(name)
		if name == "Bob" {
			break
		}
	}
	// Output:
	// Ann
	// Bob
}

func ExampleExecOne() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	id, err := sqlitex.ExecOne[int64](ctx, db, `INSERT INTO users (name, email) VALUES (?, ?) RETURNING id`, "Dan", nil)
	fmt.Println(id, err)

	_, err = sqlitex.ExecOne[string](ctx, db, `UPDATE users SET email = NULL WHERE id = ? RETURNING name`, 99)
	fmt.Println(errors.Is(err, sqlitex.ErrNoRows))

	// Two rows are too many: nobody is deleted.
	_, err = sqlitex.ExecOne[string](ctx, db, `DELETE FROM users WHERE email IS NULL RETURNING name`)
	fmt.Println(errors.Is(err, sqlitex.ErrTooManyRows))
	n, err := sqlitex.One[int](ctx, db, `SELECT count(*) FROM users`)
	fmt.Println(n, err)
	// Output:
	// 4 <nil>
	// true
	// true
	// 4 <nil>
}
