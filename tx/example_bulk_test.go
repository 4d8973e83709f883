package tx_test

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

func ExampleExecAll() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	accounts := []Account{{Name: "safe", Balance: 25}, {Name: "purse", Balance: 5}}
	res, err := tx.Write(ctx, db, func(w *tx.Writer) (tx.Result, error) {
		return tx.ExecAll(w, `INSERT INTO accounts (name, balance) VALUES (:name, :balance)`, accounts)
	})
	fmt.Println(res.RowsAffected, res.LastInsertID, err)
	// Output: 2 5 <nil>
}

// Rows from a source that can fail: it keeps the error, which undoes the transaction afterwards.
func ExampleExecEach() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	load := func(file io.Reader) error {
		return db.Write(ctx, func(w *tx.Writer) error {
			var failed error
			records := func(yield func([]any) bool) {
				in := csv.NewReader(file)
				for {
					record, err := in.Read()
					if errors.Is(err, io.EOF) {
						return
					}
					var amount int64
					if err == nil {
						amount, err = strconv.ParseInt(record[1], 10, 64)
					}
					if err != nil {
						failed = err
						return
					}
					if !yield([]any{record[0], amount}) {
						return
					}
				}
			}
			_, err := tx.ExecEach(w, `INSERT INTO bookings (account, amount) SELECT id, ?2 FROM accounts WHERE name = ?1`, records)
			return errors.Join(err, failed)
		})
	}
	count := func() {
		n, err := sqlitex.One[int](ctx, db, `SELECT count(*) FROM bookings`)
		fmt.Println(n, err)
	}

	fmt.Println(load(strings.NewReader("cash,10\nbank,-10\n")))
	count()
	fmt.Println(load(strings.NewReader("cash,10\nbank,ten\n")))
	count()
	// Output:
	// <nil>
	// 2 <nil>
	// strconv.ParseInt: parsing "ten": invalid syntax
	// 2 <nil>
}
