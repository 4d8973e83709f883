// Quickstart writes, rolls back, reads, lets many goroutines at the database at once, and says what it did.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

const (
	insert = `INSERT INTO notes (body) VALUES (?) RETURNING id`
	byID   = `SELECT id, body FROM notes WHERE id = ?`
)

type note struct {
	ID   int64
	Body string
}

func main() {
	path := flag.String("db", "", "database `file`; without it one in a temporary folder, removed at the end")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *path); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, path string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	dir, err := os.MkdirTemp("", "quickstart")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	db, err := sqlitex.Open(ctx, cmp.Or(path, filepath.Join(dir, "app.db")), nil) // nil: the defaults, made for production
	if err != nil {
		return err
	}
	defer db.Close()

	// A write transaction with a typed result: committed when the function returns nil, and only then.
	id, err := tx.Write(ctx, db, func(w *tx.Writer) (int64, error) {
		if err := w.Script(`CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT`); err != nil {
			return 0, err
		}
		return tx.One[int64](w, insert, "hello")
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "wrote        note %d into %s\n", id, db.Path())

	// Any error undoes everything, and comes back to the caller.
	err = db.Write(ctx, func(w *tx.Writer) error {
		res, err := w.Exec(`DELETE FROM notes`)
		return cmp.Or(err, fmt.Errorf("deleted %d notes, then changed my mind", res.RowsAffected))
	})
	fmt.Fprintln(out, "rolled back ", err)
	n, err := sqlitex.One[note](ctx, db, byID, id)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "read         note %d, still there: %q\n", n.ID, n.Body)

	// Many at once: they wait for each other, never see SQLITE_BUSY, and each finds at once what it wrote.
	const goroutines, writes, readsPerWrite = 8, 250, 20
	errs, start := make(chan error, goroutines), time.Now()
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for range writes {
				id, err := sqlitex.ExecOne[int64](ctx, db, insert, "burst")
				for i := 0; i < readsPerWrite && err == nil; i++ {
					_, err = sqlitex.One[note](ctx, db, byID, id)
				}
				if err != nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(errs)
	rate := goroutines * writes / time.Since(start).Seconds()
	fmt.Fprintf(out, "burst        %.0f writes/s and %.0f reads/s together, %d errors\n", rate, rate*readsPerWrite, len(errs))
	return <-errs // nil when there was none
}
