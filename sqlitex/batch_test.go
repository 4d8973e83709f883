package sqlitex_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// Many goroutines that write little share commits, whatever each of them does.
func ExampleDB_Batch() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			err := db.Batch(ctx, func(w *tx.Writer) error {
				id, err := tx.One[int64](w, `INSERT INTO users (name) VALUES (?) RETURNING id`, fmt.Sprint("user ", i))
				if err != nil {
					return err
				}
				_, err = w.Exec(`UPDATE users SET name = name || ' with id ' || ? WHERE id = ?`, id, id)
				return err // an error undoes this function's work, and nobody else's
			})
			if err != nil {
				fmt.Println(err)
			}
		})
	}
	all.Wait()
	n, err := sqlitex.One[int](ctx, db, `SELECT count(*) FROM users WHERE name GLOB 'user * with id *'`)
	fmt.Println(n, err)
	// Output: 100 <nil>
}
