package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// The second table says how far each file has come. It is written in the same transactions as the rows, so that the two agree
// whatever happens in between.
const schema = `
	CREATE TABLE IF NOT EXISTS readings (
		id      INTEGER PRIMARY KEY,
		station TEXT NOT NULL,
		at      TEXT NOT NULL,
		celsius REAL NOT NULL,
		note    TEXT
	) STRICT;
	CREATE TABLE IF NOT EXISTS loads (
		file  TEXT PRIMARY KEY,
		size  INTEGER NOT NULL,
		bytes INTEGER NOT NULL,
		rows  INTEGER NOT NULL
	) STRICT;`

const (
	insert = `INSERT INTO readings (id, station, at, celsius, note) VALUES (:id, :station, :at, :celsius, :note)`
	note   = `INSERT INTO loads (file, size, bytes, rows) VALUES (:file, :size, :bytes, :rows)
		ON CONFLICT DO UPDATE SET bytes = excluded.bytes, rows = excluded.rows`
)

// position is how far a file has come.
type position struct {
	File  string
	Size  int64 // of the whole file
	Bytes int64 // of it that are in the database
	Rows  int64
}

// load brings the rest of the file into the database.
func load(ctx context.Context, cfg config, log *slog.Logger, show display) (err error) {
	db, err := sqlitex.Open(ctx, cfg.database, &sqlitex.Options{Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Write(ctx, func(w *tx.Writer) error { return w.Script(schema) }); err != nil {
		return err
	}
	in, at, err := openSource(ctx, db, cfg.csv)
	if err != nil {
		return err
	}
	defer in.Close()
	log.Info("loading", "file", at.File, "size", at.Size, "database", db.Path(), "rows_before", at.Rows)

	start, before := time.Now(), at.Rows
	at, err = copyRows(ctx, db, in, at, cfg.batch, func(at position) { show.update(at, at.Rows-before, time.Since(start)) })
	show.end()
	if err != nil {
		return fmt.Errorf("%d rows are in the database, the next run goes on behind them: %w", at.Rows, err)
	}
	log.Info("loaded", "rows", at.Rows, "new", at.Rows-before, "took", time.Since(start).Round(time.Millisecond).String())
	return nil
}

// openSource opens the file at the place up to which it has been loaded.
func openSource(ctx context.Context, db *sqlitex.DB, path string) (*source, position, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, position{}, err
	}
	at, err := sqlitex.One[position](ctx, db, `SELECT file, size, bytes, rows FROM loads WHERE file = ?`, path)
	if err != nil && !errors.Is(err, sqlitex.ErrNoRows) {
		return nil, at, err
	}
	in, size, err := newSource(path, at.Bytes)
	if err != nil {
		return nil, at, err
	}
	if at.File != "" && at.Size != size {
		in.Close()
		return nil, at, fmt.Errorf("%s has changed since %d rows of it were loaded: begin with a new database", path, at.Rows)
	}
	at.File, at.Size = path, size
	return in, at, nil
}

// copyRows copies batch after batch, each in one transaction. It answers how far it came, also with an error.
func copyRows(ctx context.Context, db *sqlitex.DB, in *source, at position, batch int, report func(position)) (position, error) {
	rows := make([]reading, 0, batch)
	for {
		var err error
		// Before the transaction: it stays short, and others may write in between.
		if rows, err = in.read(rows[:0]); err != nil {
			return at, fmt.Errorf("row %d of %s: %w", at.Rows+int64(len(rows))+1, at.File, err)
		}
		if len(rows) == 0 {
			return at, nil
		}
		next := at
		next.Rows, next.Bytes = at.Rows+int64(len(rows)), in.offset()
		err = db.Write(ctx, func(w *tx.Writer) error {
			if _, err := tx.ExecAll(w, insert, rows); err != nil {
				return fmt.Errorf("rows from %d: %w", at.Rows+1, err)
			}
			_, err := w.Exec(note, tx.Args(next))
			return err
		})
		if err != nil {
			return at, err // nothing of this batch is left
		}
		at = next
		report(at)
	}
}
