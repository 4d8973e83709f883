package tx_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// A call that waited in vain says for what, and who has it.
func ExampleBusyError() {
	ctx := context.Background()
	db, done := exampleDB() // with a busy timeout of 50 ms
	defer done()

	started, finish, finished := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		finished <- db.Write(ctx, func(*tx.Writer) error {
			close(started)
			<-finish // much too long
			return nil
		})
	}()
	<-started

	_, err := db.Exec(ctx, `DELETE FROM bookings`)
	fmt.Println(errors.Is(err, tx.ErrBusy))
	var busy *tx.BusyError
	if errors.As(err, &busy) {
		fmt.Println("waited for", busy.For)
		fmt.Println("longer than the timeout:", busy.Waited >= 50*time.Millisecond)
		fmt.Println("in the hands of a function in", strings.Split(busy.Holder, ":")[0]) // a line and the function's name follow
	}
	close(finish)
	fmt.Println(<-finished)
	// Output:
	// true
	// waited for the writer
	// longer than the timeout: true
	// in the hands of a function in example_errors_test.go
	// <nil>
}

func ExampleError() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	_, err := db.Exec(ctx, `INSERT INTO bookings (account, amount) VALUES (?, ?)`, 99, 10)
	var e *tx.Error
	if errors.As(err, &e) {
		fmt.Println(e.Code, "is a", e.Code.ToPrimary())
		fmt.Println(e.Message)
	}
	fmt.Println(errors.Is(err, tx.ErrForeignKey), errors.Is(err, tx.ErrConstraint), errors.Is(err, tx.ErrUnique))
	// Output:
	// SQLITE_CONSTRAINT_FOREIGNKEY is a SQLITE_CONSTRAINT
	// FOREIGN KEY constraint failed
	// true true false
}

// Offset is where in the SQL the mistake is, for errors of which SQLite knows that.
func ExampleError_offset() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	_, err := sqlitex.All[string](ctx, db, `SELECT title FROM accounts`)
	var e *tx.Error
	if errors.As(err, &e) && e.Offset >= 0 {
		fmt.Println(e.Message)
		fmt.Println("at:", e.SQL[e.Offset:])
	}
	// Output:
	// no such column: title
	// at: title FROM accounts
}

// Constraints can be told apart by errors.Is.
func ExampleError_constraints() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	for _, statement := range []string{
		`INSERT INTO accounts (name, balance) VALUES ('cash', 0)`,
		`INSERT INTO accounts (name, balance) VALUES (NULL, 0)`,
		`INSERT INTO accounts (name, balance) VALUES ('debt', -1)`,
		`INSERT INTO bookings (account, amount) VALUES (99, 0)`,
	} {
		_, err := db.Exec(ctx, statement)
		switch {
		case errors.Is(err, tx.ErrUnique):
			fmt.Println("that name is taken")
		case errors.Is(err, tx.ErrNotNull):
			fmt.Println("something is missing")
		case errors.Is(err, tx.ErrCheck):
			fmt.Println("that is not allowed")
		case errors.Is(err, tx.ErrForeignKey):
			fmt.Println("there is no such account")
		}
	}
	// Output:
	// that name is taken
	// something is missing
	// that is not allowed
	// there is no such account
}
