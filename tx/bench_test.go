package tx_test

import (
	"context"
	"iter"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
	zsqlitex "zombiezen.com/go/sqlite/sqlitex"

	"github.com/sanelite/sanelite/pragma"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

const (
	bulkSchema     = `CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL, created INTEGER NOT NULL) STRICT;`
	bulkNamed      = `INSERT INTO users (name, email, created) VALUES (:name, :email, :created)`
	bulkPositional = `INSERT INTO users (name, email, created) VALUES (?, ?, ?)`
	bulkRows       = 50_000 // of a transaction
)

type bulkUser struct {
	Name, Email string
	Created     int64
}

func bulkUsers(n int) iter.Seq[bulkUser] {
	return func(yield func(bulkUser) bool) {
		for i := range n {
			if !yield(bulkUser{"user", "user@example.com", int64(i)}) {
				return
			}
		}
	}
}

// BenchmarkInsertMany measures one row of a transaction of many: by ExecEach, by Exec in a loop, and by zombiezen's package
// alone, with a statement prepared by hand and the same pragmas (raw).
func BenchmarkInsertMany(b *testing.B) {
	each := func(fn func(w *tx.Writer, n int) error) func(b *testing.B) {
		return func(b *testing.B) {
			ctx := context.Background()
			db, err := sqlitex.Open(ctx, filepath.Join(b.TempDir(), "bench.db"), nil)
			require.NoError(b, err)
			b.Cleanup(func() { require.NoError(b, db.Close()) })
			require.NoError(b, db.Write(ctx, func(w *tx.Writer) error { return w.Script(bulkSchema) }))
			b.ReportAllocs()
			b.ResetTimer()
			for done := 0; done < b.N; done += bulkRows {
				if err := db.Write(ctx, func(w *tx.Writer) error { return fn(w, min(bulkRows, b.N-done)) }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
		}
	}
	b.Run("ExecEach/struct", each(func(w *tx.Writer, n int) error {
		_, err := tx.ExecEach(w, bulkNamed, bulkUsers(n))
		return err
	}))
	b.Run("ExecEach/array", each(func(w *tx.Writer, n int) error {
		_, err := tx.ExecEach(w, bulkPositional, func(yield func([3]any) bool) {
			for u := range bulkUsers(n) {
				if !yield([3]any{u.Name, u.Email, u.Created}) {
					return
				}
			}
		})
		return err
	}))
	b.Run("Exec/struct", each(func(w *tx.Writer, n int) error {
		for u := range bulkUsers(n) {
			if _, err := w.Exec(bulkNamed, tx.Args(u)); err != nil {
				return err
			}
		}
		return nil
	}))
	b.Run("Exec/positional", each(func(w *tx.Writer, n int) error {
		for u := range bulkUsers(n) {
			if _, err := w.Exec(bulkPositional, u.Name, u.Email, u.Created); err != nil {
				return err
			}
		}
		return nil
	}))
	b.Run("raw", func(b *testing.B) {
		c, err := sqlite.OpenConn(filepath.Join(b.TempDir(), "bench.db"), sqlite.OpenReadWrite|sqlite.OpenCreate)
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, c.Close()) })
		require.NoError(b, pragma.Apply(c, pragma.Config{}))
		require.NoError(b, zsqlitex.ExecuteScript(c, bulkSchema, nil))
		begin, insert, commit := c.Prep("BEGIN IMMEDIATE"), c.Prep(bulkPositional), c.Prep("COMMIT")
		step := func(s *sqlite.Stmt) {
			if _, err := s.Step(); err != nil {
				b.Fatal(err)
			}
			if err := s.Reset(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportAllocs()
		b.ResetTimer()
		for done := 0; done < b.N; done += bulkRows {
			step(begin)
			for u := range bulkUsers(min(bulkRows, b.N-done)) {
				insert.BindText(1, u.Name)
				insert.BindText(2, u.Email)
				insert.BindInt64(3, u.Created)
				step(insert)
			}
			step(commit)
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
	})
}
