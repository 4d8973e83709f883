package sqlitex_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
	zsqlitex "zombiezen.com/go/sqlite/sqlitex"

	"github.com/sanelite/sanelite/pragma"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// Every benchmark has a sub-benchmark raw, which does the same with zombiezen's package alone: one connection, statements
// prepared by hand, the same pragmas. The ratio of the two within one run is what the library costs, or saves.

const (
	benchRows   = 50_000
	benchSchema = `CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL, created INTEGER NOT NULL) STRICT;`
	benchFill   = `WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 50000)
		INSERT INTO users SELECT i, 'user' || i, 'user' || i || '@example.com', i FROM c`
	benchInsert = `INSERT INTO users (name, email, created) VALUES (?, ?, ?)`
	benchSelect = `SELECT id, name, email, created FROM users WHERE id = ?`
	benchAll    = `SELECT id, name, email, created FROM users`
)

type benchUser struct {
	ID      int64
	Name    string
	Email   string
	Created int64
}

var benchConfigs = []struct {
	name   string
	config pragma.Config
}{
	{"rollback-full", pragma.RollbackFull()},
	{"wal-normal", pragma.Default()},
	{"wal-full", pragma.Durable()},
	{"wal-off", pragma.NoSync()},
}

func BenchmarkPragmaMatrix(b *testing.B) {
	for _, c := range benchConfigs {
		b.Run(c.name+"/insert", func(b *testing.B) { benchAutocommit(b, c.config) })
		b.Run(c.name+"/point-read", func(b *testing.B) { benchPointRead(b, c.config) })
	}
}

func BenchmarkInsert(b *testing.B) {
	b.Run("autocommit", func(b *testing.B) { benchAutocommit(b, pragma.Config{}) })
	b.Run("transaction", benchTransaction)
}

func BenchmarkPointRead(b *testing.B) { benchPointRead(b, pragma.Config{}) }

func BenchmarkSelectAll(b *testing.B) {
	ctx := context.Background()
	b.Run("sanelite", func(b *testing.B) {
		db := benchDB(b, pragma.Config{}, benchFill)
		for b.Loop() {
			users, err := sqlitex.All[benchUser](ctx, db, benchAll)
			if err != nil || len(users) != benchRows {
				b.Fatal(len(users), err)
			}
		}
		b.ReportMetric(float64(b.N)*benchRows/b.Elapsed().Seconds(), "reads/s")
	})
	b.Run("raw", func(b *testing.B) {
		stmt := benchConn(b, pragma.Config{}, benchFill).Prep(benchAll)
		for b.Loop() {
			var users []benchUser
			for {
				row, err := stmt.Step()
				if err != nil {
					b.Fatal(err)
				}
				if !row {
					break
				}
				users = append(users, benchUser{stmt.ColumnInt64(0), stmt.ColumnText(1), stmt.ColumnText(2), stmt.ColumnInt64(3)})
			}
			if len(users) != benchRows {
				b.Fatal(len(users))
			}
		}
		b.ReportMetric(float64(b.N)*benchRows/b.Elapsed().Seconds(), "reads/s")
	})
}

func benchAutocommit(b *testing.B, config pragma.Config) {
	ctx := context.Background()
	b.Run("sanelite", func(b *testing.B) {
		db := benchDB(b, config, "")
		b.ReportAllocs()
		for i := int64(0); b.Loop(); i++ {
			if _, err := db.Exec(ctx, benchInsert, "ann", "ann@example.com", i); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
	})
	b.Run("raw", func(b *testing.B) {
		stmt := benchConn(b, config, "").Prep(benchInsert)
		b.ReportAllocs()
		for i := int64(0); b.Loop(); i++ {
			rawInsert(b, stmt, i)
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
	})
}

// benchTransaction measures one row of a transaction of benchRows rows.
func benchTransaction(b *testing.B) {
	ctx := context.Background()
	b.Run("sanelite", func(b *testing.B) {
		db := benchDB(b, pragma.Config{}, "")
		b.ReportAllocs()
		b.ResetTimer()
		for done := 0; done < b.N; done += benchRows {
			err := db.Write(ctx, func(w *tx.Writer) error {
				for i := range min(benchRows, b.N-done) {
					if _, err := w.Exec(benchInsert, "ann", "ann@example.com", int64(i)); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
	})
	b.Run("raw", func(b *testing.B) {
		c := benchConn(b, pragma.Config{}, "")
		begin, stmt, commit := c.Prep("BEGIN IMMEDIATE"), c.Prep(benchInsert), c.Prep("COMMIT")
		b.ReportAllocs()
		b.ResetTimer()
		for done := 0; done < b.N; done += benchRows {
			rawStep(b, begin)
			for i := range min(benchRows, b.N-done) {
				rawInsert(b, stmt, int64(i))
			}
			rawStep(b, commit)
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
	})
}

func benchPointRead(b *testing.B, config pragma.Config) {
	ctx := context.Background()
	b.Run("sanelite", func(b *testing.B) {
		db := benchDB(b, config, benchFill)
		b.ReportAllocs()
		for i := int64(0); b.Loop(); i++ {
			id := i*31337%benchRows + 1
			u, err := sqlitex.One[benchUser](ctx, db, benchSelect, id)
			if err != nil || u.ID != id {
				b.Fatal(u, err)
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reads/s")
	})
	b.Run("raw", func(b *testing.B) {
		stmt := benchConn(b, config, benchFill).Prep(benchSelect)
		b.ReportAllocs()
		for i := int64(0); b.Loop(); i++ {
			id := i*31337%benchRows + 1
			stmt.BindInt64(1, id)
			if row, err := stmt.Step(); err != nil || !row {
				b.Fatal(row, err)
			}
			u := benchUser{stmt.ColumnInt64(0), stmt.ColumnText(1), stmt.ColumnText(2), stmt.ColumnInt64(3)}
			if err := stmt.Reset(); err != nil || u.ID != id {
				b.Fatal(u, err)
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reads/s")
	})
}

func benchDB(b *testing.B, config pragma.Config, fill string) *sqlitex.DB {
	b.Helper()
	ctx := context.Background()
	db, err := sqlitex.Open(ctx, filepath.Join(b.TempDir(), "bench.db"), &sqlitex.Options{Pragmas: config})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	require.NoError(b, db.Write(ctx, func(w *tx.Writer) error { return w.Script(benchSchema + fill) }))
	return db
}

func benchConn(b *testing.B, config pragma.Config, fill string) *sqlite.Conn {
	b.Helper()
	path := filepath.Join(b.TempDir(), "bench.db")
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, c.Close()) })
	require.NoError(b, pragma.Apply(c, config))
	require.NoError(b, zsqlitex.ExecuteScript(c, benchSchema+fill, nil), fmt.Sprint(config))
	return c
}

func rawInsert(b *testing.B, stmt *sqlite.Stmt, i int64) {
	stmt.BindText(1, "ann")
	stmt.BindText(2, "ann@example.com")
	stmt.BindInt64(3, i)
	rawStep(b, stmt)
}

func rawStep(b *testing.B, stmt *sqlite.Stmt) {
	if _, err := stmt.Step(); err != nil {
		b.Fatal(err)
	}
	if err := stmt.Reset(); err != nil {
		b.Fatal(err)
	}
}
