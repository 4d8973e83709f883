package tx_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// exampleDB opens a database in a folder of its own, with accounts and their bookings. The function closes and removes it.
func exampleDB() (db *sqlitex.DB, done func()) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	db, err = sqlitex.Open(ctx, filepath.Join(dir, "app.db"), &sqlitex.Options{BusyTimeout: 50 * time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	err = db.Write(ctx, func(w *tx.Writer) error {
		return w.Script(`
			CREATE TABLE accounts (
				id      INTEGER PRIMARY KEY,
				name    TEXT NOT NULL UNIQUE,
				balance INTEGER NOT NULL CHECK (balance >= 0)
			) STRICT;
			CREATE TABLE bookings (
				account INTEGER NOT NULL REFERENCES accounts,
				amount  INTEGER NOT NULL,
				note    TEXT
			) STRICT;
			INSERT INTO accounts (name, balance) VALUES ('cash', 100), ('bank', 50), ('gold', 0);`)
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

type Account struct {
	ID      int64
	Name    string
	Balance int64
}

func ExampleRead() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	// Both statements see the same snapshot, so the sum fits the rows.
	type Report struct {
		Accounts []Account
		Total    int64
	}
	report, err := tx.Read(ctx, db, func(r *tx.Reader) (report Report, err error) {
		if report.Accounts, err = tx.All[Account](r, `SELECT id, name, balance FROM accounts ORDER BY id`); err != nil {
			return report, err
		}
		report.Total, err = tx.One[int64](r, `SELECT sum(balance) FROM accounts`)
		return report, err
	})
	fmt.Println(len(report.Accounts), report.Total, err)
	// Output: 3 150 <nil>
}

func ExampleWrite() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	id, err := tx.Write(ctx, db, func(w *tx.Writer) (int64, error) {
		id, err := tx.One[int64](w, `INSERT INTO accounts (name, balance) VALUES (?, ?) RETURNING id`, "safe", 25)
		if err != nil {
			return 0, err
		}
		_, err = w.Exec(`INSERT INTO bookings (account, amount, note) VALUES (?, ?, ?)`, id, 25, "opening balance")
		return id, err
	})
	fmt.Println(id, err)
	// Output: 4 <nil>
}

// With an error the result is the zero value, whatever the function returned: none of it is in the database.
func ExampleWrite_error() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	id, err := tx.Write(ctx, db, func(w *tx.Writer) (int64, error) {
		res, err := w.Exec(`INSERT INTO accounts (name, balance) VALUES ('safe', 25)`)
		if err != nil {
			return 0, err
		}
		_, err = w.Exec(`UPDATE accounts SET balance = balance - 1000 WHERE name = 'cash'`)
		return res.LastInsertID, err
	})
	fmt.Println(id, errors.Is(err, tx.ErrCheck))
	n, err := sqlitex.One[int](ctx, db, `SELECT count(*) FROM accounts`)
	fmt.Println(n, err)
	// Output:
	// 0 true
	// 3 <nil>
}

func ExampleOne() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	err := db.Read(ctx, func(r *tx.Reader) error {
		account, err := tx.One[Account](r, `SELECT id, name, balance FROM accounts WHERE name = ?`, "bank")
		fmt.Println(account, err)

		_, err = tx.One[Account](r, `SELECT id, name, balance FROM accounts WHERE name = ?`, "moon")
		fmt.Println(errors.Is(err, tx.ErrNoRows), errors.Is(err, sql.ErrNoRows))

		_, err = tx.One[string](r, `SELECT name FROM accounts`)
		fmt.Println(errors.Is(err, tx.ErrTooManyRows))
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// {2 bank 50} <nil>
	// true true
	// true
}

func ExampleAll() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	err := db.Write(ctx, func(w *tx.Writer) error { // a Writer reads, too
		names, err := tx.All[string](w, `UPDATE accounts SET balance = balance + 1 WHERE balance > ? RETURNING name`, 0)
		fmt.Println(names, err)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: [cash bank] <nil>
}

// Other statements may run while the loop does.
func ExampleEach() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	err := db.Write(ctx, func(w *tx.Writer) error {
		for account, err := range tx.Each[Account](w, `SELECT id, name, balance FROM accounts WHERE balance > 0 ORDER BY id`) {
			if err != nil {
				return err
			}
			_, err = w.Exec(`INSERT INTO bookings (account, amount) VALUES (?, ?)`, account.ID, account.Balance/10)
			if err != nil {
				return err
			}
			fmt.Println(account.Name, account.Balance/10)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// cash 10
	// bank 5
}

// A function that both kinds of transaction can call takes a Queryer.
func ExampleQueryer() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	total := func(q tx.Queryer) (int64, error) { return tx.One[int64](q, `SELECT sum(balance) FROM accounts`) }

	err := db.Write(ctx, func(w *tx.Writer) error {
		if _, err := w.Exec(`UPDATE accounts SET balance = balance + 50 WHERE id = 1`); err != nil {
			return err
		}
		n, err := total(w)
		fmt.Println("in the transaction:", n, err)
		err = db.Read(ctx, func(r *tx.Reader) error {
			n, err := total(r)
			fmt.Println("outside, before it is committed:", n, err)
			return err
		})
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// in the transaction: 200 <nil>
	// outside, before it is committed: 150 <nil>
}

// The fields of a struct, for parameters with names.
func ExampleArgs() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	err := db.Write(ctx, func(w *tx.Writer) error {
		account := Account{Name: "safe", Balance: 25}
		_, err := w.Exec(`INSERT INTO accounts (name, balance) VALUES (:name, :balance)`, tx.Args(account))
		if err != nil {
			return err
		}
		balance, err := tx.One[int64](w, `SELECT balance FROM accounts WHERE name = @name`, sql.Named("name", "safe"))
		fmt.Println(balance, err)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 25 <nil>
}

// One statement and one parameter, however long the list.
func ExampleList() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	err := db.Read(ctx, func(r *tx.Reader) error {
		const query = `SELECT name FROM accounts WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id`
		names, err := tx.All[string](r, query, tx.List([]int64{1, 3, 99}))
		fmt.Println(names, err)
		names, err = tx.All[string](r, query, tx.List([]int64{}))
		fmt.Println(names, err)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// [cash gold] <nil>
	// [] <nil>
}

func ExampleWriter_Exec() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	err := db.Write(ctx, func(w *tx.Writer) error {
		res, err := w.Exec(`UPDATE accounts SET balance = balance - ? WHERE name = ? AND balance >= ?`, 30, "cash", 30)
		if err != nil {
			return err
		}
		if res.RowsAffected == 0 {
			return errors.New("not enough cash")
		}
		_, err = w.Exec(`UPDATE accounts SET balance = balance + ? WHERE name = ?`, 30, "bank")
		return err
	})
	fmt.Println(err)
	balances, err := sqlitex.All[int64](ctx, db, `SELECT balance FROM accounts ORDER BY id`)
	fmt.Println(balances, err)
	// Output:
	// <nil>
	// [70 80 0] <nil>
}

// A schema and its version change together, or not at all.
func ExampleWriter_Script() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	err := db.Write(ctx, func(w *tx.Writer) error {
		version, err := tx.One[int](w, `PRAGMA user_version`)
		if err != nil || version >= 1 {
			return err
		}
		return w.Script(`
			ALTER TABLE accounts ADD COLUMN closed_at TEXT;
			CREATE INDEX bookings_by_account ON bookings (account); -- comments are fine
			PRAGMA user_version = 1;`)
	})
	fmt.Println(err)
	version, err := sqlitex.One[int](ctx, db, `PRAGMA user_version`)
	fmt.Println(version, err)
	// Output:
	// <nil>
	// 1 <nil>
}

// What a savepoint did is undone alone; the transaction goes on.
func ExampleWriter_Savepoint() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	err := db.Write(ctx, func(w *tx.Writer) error {
		for _, name := range []string{"safe", "cash", "shop"} { // there is a cash account already
			err := w.Savepoint(func(w *tx.Writer) error {
				id, err := tx.One[int64](w, `INSERT INTO accounts (name, balance) VALUES (?, 0) RETURNING id`, name)
				if err != nil {
					return err
				}
				_, err = w.Exec(`INSERT INTO bookings (account, amount) VALUES (?, 0)`, id)
				return err
			})
			switch {
			case errors.Is(err, tx.ErrUnique):
				fmt.Println("skipped", name)
			case err != nil:
				return err
			}
		}
		return nil
	})
	fmt.Println(err)
	names, err := sqlitex.All[string](ctx, db, `SELECT name FROM accounts WHERE id > 3`)
	fmt.Println(names, err)
	// Output:
	// skipped cash
	// <nil>
	// [safe shop] <nil>
}

func ExampleWriter_OnCommit() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	rename := func(name string) error {
		return db.Write(ctx, func(w *tx.Writer) error {
			w.OnCommit(func() { fmt.Println("renamed to", name) })
			_, err := w.Exec(`UPDATE accounts SET name = ? WHERE id = 1`, name)
			return err
		})
	}
	fmt.Println(rename("coins"))
	fmt.Println(errors.Is(rename("bank"), tx.ErrUnique)) // nothing is committed, so nothing is printed
	// Output:
	// renamed to coins
	// <nil>
	// true
}
