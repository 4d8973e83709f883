package peers

import (
	"context"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/pragma"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"

	"github.com/sanelite/sanelite/internal/bench/harness"
	"github.com/sanelite/sanelite/internal/checkpoint"
)

var errWrongRow = errors.New("a wrong row")

func openSanelite(s Spec) (*sqlitex.DB, error) {
	options := &sqlitex.Options{Pragmas: pragma.Config{
		CacheSize: cacheKiB * pragma.KiB,
		MmapSize:  pragma.Size(s.Mmap),
	}}
	if s.Full {
		options.Pragmas.Synchronous = pragma.SyncFull
	}
	checkpoint.InCommit = s.InCommit
	if s.KeepWAL {
		options.Checkpoints = sqlitex.CheckpointsManual
	}
	return sqlitex.Open(context.Background(), s.Path, options)
}

func startSanelite(s Spec) (*loop, harness.Info, error) {
	ctx := context.Background()
	var info harness.Info
	db, err := openSanelite(s)
	if err != nil {
		return nil, info, err
	}
	if err := db.ReadConn(ctx, func(c *sqlite.Conn) (err error) {
		info, err = zombiezenInfo(c)
		return err
	}); err != nil {
		return nil, info, errors.Join(err, db.Close())
	}
	if s.Work.writes() {
		// The writer is asked, not borrowed: where user code has had it, it has to reckon with functions written in Go.
		for _, name := range settings {
			value, err := sqlitex.ExecOne[any](ctx, db, "PRAGMA "+name)
			if err != nil {
				return nil, info, errors.Join(err, db.Close())
			}
			info.Settings[name] = fmt.Sprint(value)
		}
	}
	info.Settings[pageCache] = db.Stats().PageCache
	l := &loop{work: s.Work, closings: []func() error{db.Close}}
	if s.Beside > 0 {
		l.writer = saneliteWriter(db, s.Beside)
	}
	if s.Work.writes() {
		l.prepare = func() error {
			if s.Work != WorkUpdate {
				if _, err := db.Exec(ctx, empty); err != nil {
					return err
				}
			}
			_, err := db.Checkpoint(ctx, sqlitex.CheckpointTruncate)
			return err
		}
	}
	for range s.Goroutines {
		l.calls = append(l.calls, saneliteCall(ctx, db, s.Work))
	}
	return l, info, nil
}

func saneliteCall(ctx context.Context, db *sqlitex.DB, work Work) func(int64) error {
	if r := readers[work]; r != nil {
		return r.sanelite(ctx, db)
	}
	switch work {
	case WorkRow:
		return func(i int64) error {
			id := key(i)
			u, err := sqlitex.One[user](ctx, db, selectRow, id)
			if err == nil && u.ID != id {
				err = errWrongRow
			}
			return err
		}
	case WorkInsert:
		return func(i int64) error {
			_, err := db.Exec(ctx, insert, "ann", "ann@example.com", i)
			return err
		}
	case WorkUpdate:
		return func(i int64) error {
			_, err := db.Exec(ctx, update, key(i))
			return err
		}
	default:
		return func(int64) error {
			return db.Write(ctx, func(w *tx.Writer) error {
				for i := range int64(BulkRows) {
					if _, err := w.Exec(insert, "ann", "ann@example.com", i); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
}

func saneliteWriter(db *sqlitex.DB, rate int) *writer {
	return &writer{rate: rate, exec: func(ctx context.Context, i int64) error {
		_, err := db.Exec(ctx, update, i*7919%Rows+1)
		return err
	}}
}
