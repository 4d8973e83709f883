package backup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/capi"
)

// vacuumInto is the filler of VacuumInto.
func vacuumInto(ctx context.Context, src Source, temp string, o *Options) (pages int, err error) {
	defer src.HoldCheckpoints()()
	var wal bool
	err = src.ReadConn(ctx, func(c *sqlite.Conn) error {
		wal, pages, err = vacuumConn(c, temp, o)
		return err
	})
	if err == nil && wal {
		err = switchToWAL(temp)
	}
	return pages, err
}

func vacuumConn(c *sqlite.Conn, temp string, o *Options) (wal bool, pages int, err error) {
	mode, err := ask[string](c, "PRAGMA journal_mode")
	if err != nil {
		return false, 0, err
	}
	size, err := ask[int64](c, "PRAGMA page_size")
	if err != nil {
		return false, 0, err
	}
	total, err := ask[int64](c, "PRAGMA page_count")
	if err != nil {
		return false, 0, err
	}
	p := pace{start: time.Now(), options: o, pageSize: int(size)}
	if err := p.report(int(total), int(total)); err != nil {
		return false, 0, err
	}
	// Sorting for the indexes would otherwise take as much memory as the largest of them. A memory database is lent query_only,
	// which VACUUM INTO refuses. https://www.sqlite.org/pragma.html#pragma_temp_store
	restore, err := change(c, map[string]int64{"temp_store": tempStoreFile, "query_only": 0})
	if err != nil {
		return false, 0, err
	}
	defer restore()
	if err := run(c, "VACUUM INTO ?", temp); err != nil {
		return false, 0, err
	}
	if pages, err = countPages(temp); err != nil {
		return false, 0, err
	}
	return mode == "wal", pages, p.report(0, pages)
}

const tempStoreFile = 1

// change sets pragmas and returns how to set them back.
func change(c *sqlite.Conn, values map[string]int64) (restore func(), err error) {
	before := make(map[string]int64, len(values))
	restore = func() {
		for name, value := range before {
			_ = run(c, fmt.Sprintf("PRAGMA %s = %d", name, value))
		}
	}
	for name, value := range values {
		was, err := ask[int64](c, "PRAGMA "+name)
		if err == nil && was != value {
			before[name] = was
			err = run(c, fmt.Sprintf("PRAGMA %s = %d", name, value))
		}
		if err != nil {
			restore()
			return nil, err
		}
	}
	return restore, nil
}

// countPages reads the size that the header tells, and with it whether the file is a database at all.
func countPages(path string) (int, error) {
	c, err := capi.OpenImmutable(path)
	if err != nil {
		return 0, err
	}
	n, err := ask[int64](c.Zombie(), "PRAGMA page_count")
	return int(n), errors.Join(err, c.Close())
}

// switchToWAL gives a copy the journal mode of its source: VACUUM INTO does not. The log is gone again when it returns.
func switchToWAL(path string) error {
	c, err := capi.Open(path, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	err = run(c.Zombie(), "PRAGMA synchronous = OFF")
	if err == nil {
		err = run(c.Zombie(), "PRAGMA journal_mode = WAL")
	}
	return errors.Join(err, c.Close())
}
