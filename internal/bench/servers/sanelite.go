package servers

import (
	"context"
	"errors"
	"fmt"

	"github.com/sanelite/sanelite/pragma"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"

	"github.com/sanelite/sanelite/internal/bench/harness"
)

// library is a database of this library. It is its own client: a handle is shared by all goroutines.
type library struct{ db *sqlitex.DB }

const (
	schema    = `CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT, created INTEGER)`
	insertSQL = `INSERT INTO users (name, email, created) VALUES (?, ?, ?)`
	rowSQL    = `SELECT id, name, email, created FROM users WHERE id = ?`
	allSQL    = `SELECT id, name, email, created FROM users`
	countSQL  = `SELECT count(*) FROM users`
)

func openSanelite(ctx context.Context, s Spec) (connector, harness.Info, error) {
	o := &sqlitex.Options{}
	if s.Full {
		o.Pragmas.Synchronous = pragma.SyncFull
	}
	var info harness.Info
	db, err := sqlitex.Open(ctx, s.At, o)
	if err != nil {
		return nil, info, err
	}
	synchronous, err := sqlitex.ExecOne[int](ctx, db, `PRAGMA synchronous`)
	if err == nil {
		info.SQLite, err = sqlitex.One[string](ctx, db, `SELECT sqlite_version()`)
	}
	if err == nil {
		_, err = db.Exec(ctx, schema)
	}
	if err != nil {
		return nil, info, errors.Join(err, db.Close())
	}
	info.Settings = map[string]string{"synchronous": fmt.Sprint(synchronous)}
	return library{db}, info, nil
}

func (l library) Close() error                            { return l.db.Close() }
func (l library) connect(context.Context) (client, error) { return borrowed{l}, nil }

func (l library) empty(ctx context.Context) error {
	if _, err := l.db.Exec(ctx, `DELETE FROM users`); err != nil {
		return err
	}
	// With TRUNCATE the log has to grow anew in each run, which costs FULL some of its speed. RESTART would keep the file, and
	// favour this side: a new PostgreSQL makes files for its log during the runs, too.
	_, err := l.db.Checkpoint(ctx, sqlitex.CheckpointTruncate)
	return err
}

func (l library) fill(ctx context.Context) error {
	_, err := l.db.Exec(ctx, `WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ?)
		INSERT INTO users SELECT i, 'user' || i, 'user' || i || '@example.com', i FROM c`, Rows)
	return err
}

func (l library) count(ctx context.Context) (int64, error) {
	return sqlitex.One[int64](ctx, l.db, countSQL)
}

// borrowed is a client that does not close the handle.
type borrowed struct{ library }

func (borrowed) Close() error { return nil }

func (b borrowed) insert(ctx context.Context, created int64) error {
	_, err := b.db.Exec(ctx, insertSQL, name, email, created)
	return err
}

func (b borrowed) insertAll(ctx context.Context, rows int64) error {
	return b.db.Write(ctx, func(w *tx.Writer) error {
		for i := range rows {
			if _, err := w.Exec(insertSQL, name, email, i); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b borrowed) row(ctx context.Context, id int64) (record, error) {
	return sqlitex.One[record](ctx, b.db, rowSQL, id)
}

func (b borrowed) all(ctx context.Context) ([]record, error) {
	return sqlitex.All[record](ctx, b.db, allSQL)
}
