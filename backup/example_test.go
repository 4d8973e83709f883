package backup_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/sanelite/sanelite/backup"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// library opens a database with one table of three books, in a folder of its own.
func library() (ctx context.Context, db *sqlitex.DB, folder string, remove func()) {
	ctx = context.Background()
	folder, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	if db, err = sqlitex.Open(ctx, filepath.Join(folder, "app.db"), nil); err != nil {
		log.Fatal(err)
	}
	err = db.Write(ctx, func(w *tx.Writer) error {
		return w.Script(`CREATE TABLE book (title TEXT); INSERT INTO book VALUES ('Emma'), ('Ulysses'), ('Walden')`)
	})
	if err != nil {
		log.Fatal(err)
	}
	return ctx, db, folder, func() {
		_ = db.Close()
		_ = os.RemoveAll(folder)
	}
}

func books(ctx context.Context, db *sqlitex.DB) int {
	n, err := sqlitex.One[int](ctx, db, `SELECT count(*) FROM book`)
	if err != nil {
		log.Fatal(err)
	}
	return n
}

func ExampleTo() {
	ctx, db, folder, remove := library()
	defer remove()

	path := filepath.Join(folder, "app.bak")
	result, err := backup.To(ctx, db, path, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Bytes, "bytes, verified:", result.Verified)

	_, err = backup.To(ctx, db, path, nil)
	fmt.Println(errors.Is(err, backup.ErrExists))
	_, err = backup.To(ctx, db, path, &backup.Options{Overwrite: true})
	fmt.Println(err)
	// Output:
	// 8192 bytes, verified: full
	// true
	// <nil>
}

// A copy beside a busy service, slowed down so that it takes little from it, that may take a minute at most.
func ExampleTo_slowly() {
	ctx, db, folder, remove := library()
	defer remove()

	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_, err := backup.To(ctx, db, filepath.Join(folder, "app.bak"), &backup.Options{
		BytesPerSecond: 50 << 20,
		Progress: func(p backup.Progress) error {
			fmt.Printf("%d of %d pages\n", p.PagesTotal-p.PagesLeft, p.PagesTotal)
			return nil // an error would end it
		},
	})
	fmt.Println(err)
	// Output:
	// 0 of 2 pages
	// 2 of 2 pages
	// <nil>
}

func ExampleVacuumInto() {
	ctx, db, folder, remove := library()
	defer remove()
	err := db.Write(ctx, func(w *tx.Writer) error {
		return w.Script(`CREATE TABLE page (body BLOB); INSERT INTO page VALUES (zeroblob(1000000)); DELETE FROM page`)
	})
	if err != nil {
		log.Fatal(err)
	}

	whole, err := backup.To(ctx, db, filepath.Join(folder, "whole.bak"), nil)
	if err != nil {
		log.Fatal(err)
	}
	compact, err := backup.VacuumInto(ctx, db, filepath.Join(folder, "compact.bak"), nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(whole.Bytes > 1000000, compact.Bytes)
	// Output:
	// true 12288
}

func ExampleWrite() {
	_, db, _, remove := library()
	defer remove()

	download := func(w http.ResponseWriter, r *http.Request) {
		// Nothing is sent before the copy is complete and checked, so an error can still become a status.
		w.Header().Set("Content-Type", "application/vnd.sqlite3")
		if _, err := backup.Write(r.Context(), db, w, nil); err != nil {
			http.Error(w, "no backup", http.StatusInternalServerError)
		}
	}

	answer := httptest.NewRecorder()
	download(answer, httptest.NewRequest(http.MethodGet, "/backup", nil))
	fmt.Println(answer.Code, answer.Body.Len(), answer.Body.String()[:15])
	// Output:
	// 200 8192 SQLite format 3
}

func ExampleVerify() {
	ctx, db, folder, remove := library()
	defer remove()
	path := filepath.Join(folder, "app.bak")
	if _, err := backup.To(ctx, db, path, nil); err != nil {
		log.Fatal(err)
	}
	fmt.Println(backup.Verify(ctx, path))

	if err := os.Truncate(path, 5000); err != nil { // as an upload that broke off
		log.Fatal(err)
	}
	err := backup.Verify(ctx, path)
	found := new(backup.CheckError)
	fmt.Println(errors.As(err, &found), errors.Is(err, tx.ErrCheckFailed))
	// Output:
	// <nil>
	// true true
}

func ExampleRestore() {
	ctx, db, folder, remove := library()
	defer remove()
	path := filepath.Join(folder, "app.bak")
	if _, err := backup.To(ctx, db, path, nil); err != nil {
		log.Fatal(err)
	}
	if _, err := db.Exec(ctx, `DELETE FROM book`); err != nil { // without WHERE
		log.Fatal(err)
	}
	fmt.Println(books(ctx, db))

	if _, err := backup.Restore(ctx, db, path, nil); err != nil {
		log.Fatal(err)
	}
	fmt.Println(books(ctx, db))
	// Output:
	// 0
	// 3
}

func ExampleRestoreFile() {
	ctx, db, folder, remove := library()
	defer remove()
	path := filepath.Join(folder, "app.bak")
	if _, err := backup.To(ctx, db, path, nil); err != nil {
		log.Fatal(err)
	}
	_, err := backup.RestoreFile(ctx, path, db.Path(), nil)
	fmt.Println(errors.Is(err, backup.ErrInUse)) // it must not be open

	dst := filepath.Join(folder, "restored.db")
	if _, err := backup.RestoreFile(ctx, path, dst, nil); err != nil {
		log.Fatal(err)
	}
	restored, err := sqlitex.Open(ctx, dst, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer restored.Close()
	fmt.Println(books(ctx, restored))
	// Output:
	// true
	// 3
}

// Temporary files that a killed process has left: none is so young that it could be of a backup that runs.
func Example_leftovers() {
	_, _, folder, remove := library()
	defer remove()
	left, err := filepath.Glob(filepath.Join(folder, backup.LeftoverPattern))
	if err != nil {
		log.Fatal(err)
	}
	for _, path := range left {
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			_ = os.Remove(path)
		}
	}
	fmt.Println(len(left))
	// Output: 0
}
