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
	if src.Path() == memoryPath {
		return vacuumMemory(ctx, src, temp, o)
	}
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

// vacuumMemory copies first: a connection that was opened with SQLITE_OPEN_MEMORY attaches every file as a memory database, also
// the one that VACUUM INTO names.
func vacuumMemory(ctx context.Context, src Source, temp string, o *Options) (int, error) {
	if _, err := copySnapshot(ctx, src, temp, o); err != nil {
		return 0, err
	}
	c, err := openCopy(temp)
	if err != nil {
		return 0, err
	}
	c.SetContext(ctx)
	if err := errors.Join(run(c.Zombie(), "VACUUM"), c.Close()); err != nil {
		return 0, errors.Join(err, ctx.Err())
	}
	return countPages(temp)
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
	// Sorting for the indexes would otherwise take as much memory as the largest of them. https://www.sqlite.org/pragma.html#pragma_temp_store
	was, err := ask[int64](c, "PRAGMA temp_store")
	if err != nil {
		return false, 0, err
	}
	if err := run(c, "PRAGMA temp_store = FILE"); err != nil {
		return false, 0, err
	}
	defer func() { _ = run(c, fmt.Sprintf("PRAGMA temp_store = %d", was)) }()
	if err := run(c, "VACUUM INTO ?", temp); err != nil {
		return false, 0, err
	}
	if pages, err = countPages(temp); err != nil {
		return false, 0, err
	}
	return mode == "wal", pages, p.report(0, pages)
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
