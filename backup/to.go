package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/capi"
)

// To copies the database of src to a new file at path, page by page from one snapshot, however much is written meanwhile. It uses
// one of the connections that read, until the copy is complete; the check comes after that.
//
// Errors match ErrExists, ErrSame, ErrInUse, the context's error, what Progress returned, tx.ErrCheckFailed (a *CheckError),
// tx.ErrFull, fs.ErrNotExist and their like; there is then no new file at path. To blocks until all is done.
func To(ctx context.Context, src Source, path string, options *Options) (Result, error) {
	return create(ctx, src, path, options, copySnapshot)
}

// VacuumInto writes a compact copy of the database of src to a new file at path: without the space that deletions have left,
// with tables and indexes in order. Writers go on meanwhile. Of Options, StepPages, Pause and BytesPerSecond do not apply; the
// context is looked at all the time. Otherwise it is as To. https://www.sqlite.org/lang_vacuum.html#vacuuminto
func VacuumInto(ctx context.Context, src Source, path string, options *Options) (Result, error) {
	return create(ctx, src, path, options, vacuumInto)
}

// A filler makes a copy of src in the empty file temp and returns its pages.
type filler func(ctx context.Context, src Source, temp string, o *Options) (pages int, err error)

// create has fill make a copy beside path, checks it, and gives it its name.
//
// No checkpoint begins while a copy is made: the snapshot pins the log, so that one would be of no use. Nor while it is flushed and an
// old one freed: a checkpoint would flush all that was written meanwhile, each would hold the other up, and with it the commits that
// wait for the log to start over.
func create(ctx context.Context, src Source, path string, options *Options, fill filler) (Result, error) {
	return perform(ctx, options, "copy to", path, func(o *Options) (Result, error) {
		d, err := newDestination(path, src.Path())
		if err != nil {
			return Result{}, err
		}
		if err := d.free(o.Overwrite); err != nil {
			return Result{}, err
		}
		if err := d.makeTemporary(); err != nil {
			return Result{}, err
		}
		defer d.discard() // also when Progress panics
		resume := src.HoldCheckpoints()
		defer resume()
		pages, err := fill(ctx, src, d.temporary, o)
		if err == nil {
			err = d.flush(src.Path())
		}
		if err != nil {
			return Result{}, err
		}
		if o.Verify != VerifyOff {
			resume() // that takes long
		}
		result, err := verifyCopy(ctx, d.temporary, pages, o)
		if err == nil {
			err = d.place(o.Overwrite)
		}
		return result, err
	})
}

// perform does what all entry points do around their work: nothing when ctx is done, the defaults, the time, and an error that
// says what failed.
func perform(ctx context.Context, options *Options, op, path string, work func(o *Options) (Result, error)) (Result, error) {
	start := time.Now()
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	o, err := options.resolved()
	if err != nil {
		return Result{}, err
	}
	result, err := work(&o)
	if err != nil {
		return Result{}, failed(op, path, err)
	}
	result.Duration = time.Since(start)
	return result, nil
}

// failed says in an error what was being done, and with which file.
func failed(op, path string, err error) error {
	if found := new(CheckError); errors.As(err, &found) {
		found.Path = path // not the temporary one
		return err
	}
	if path != "" {
		op += " " + strconv.Quote(path)
	}
	return fmt.Errorf("backup: %s: %w", op, err)
}

// copySnapshot is the filler of To.
func copySnapshot(ctx context.Context, src Source, temp string, o *Options) (pages int, err error) {
	err = src.ReadConn(ctx, func(c *sqlite.Conn) (err error) {
		end, err := beginSnapshot(ctx, c)
		if err != nil {
			return err
		}
		defer end()
		look, err := newLook(c)
		if err != nil {
			return err
		}
		defer look.close()
		pages, err = copyInto(ctx, temp, c, o, look.look)
		return err
	})
	return pages, err
}

// copyInto copies what from reads into the empty file temp.
func copyInto(ctx context.Context, temp string, from *sqlite.Conn, o *Options, between func() error) (pages int, err error) {
	f, err := os.Open(temp)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }() // after the connection: its lock counts for nobody, but anyway
	to, err := openCopy(temp)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	var begun int64
	k := pageCopy{
		to: to.Zombie(), from: from, options: o,
		failure: func(err error) error { return to.Failure(err, "backup") },
		between: func(done int64) error {
			if done-begun >= writeSoonSize {
				writeSoon(f, begun, done-begun)
				begun = done
			}
			if between == nil {
				return nil
			}
			return between()
		},
	}
	return k.run(ctx)
}

// writeSoonSize is how much is handed to the disk at a time: enough for it to write in a row.
const writeSoonSize = 8 << 20

// openCopy opens an empty file to be filled. A journal would be of no use: a copy that is not complete is deleted, and a complete one
// flushed as a whole.
func openCopy(path string) (*capi.Conn, error) {
	c, err := capi.Open(path, sqlite.OpenReadWrite)
	if err != nil {
		return nil, err
	}
	for _, sql := range []string{"PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF", "PRAGMA locking_mode = EXCLUSIVE", "PRAGMA cache_size = -1024"} {
		if err := run(c.Zombie(), sql); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// A look is a statement that runs long enough for the progress handler of its connection to be called, some fifty
// microseconds: steps of a backup are none, and closing the handle would not end them.
type look struct {
	stmt *sqlite.Stmt
	last time.Time
}

func newLook(c *sqlite.Conn) (*look, error) {
	s, _, err := c.PrepareTransient("WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 150) SELECT max(i) FROM n")
	return &look{stmt: s}, explain(err, "backup")
}

func (l *look) look() error {
	const often = 20 * time.Millisecond // steps take a few
	if time.Since(l.last) < often {
		return nil
	}
	_, err := l.stmt.Step()
	_ = l.stmt.Reset() // repeats what Step has said
	l.last = time.Now()
	return explain(err, "backup")
}

func (l *look) close() { _ = l.stmt.Finalize() }
