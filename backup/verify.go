package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/sqlerr"
	"github.com/sanelite/sanelite/internal/wait"
	"github.com/sanelite/sanelite/tx"
)

// Verify reads the whole database at path and checks its structure, its foreign keys and its size. Findings are a *CheckError,
// as is a file that holds no database; other errors say why it could not be read. ctx ends the check.
//
// It never changes the file and leaves no side files. A database that is in use may be verified too: what is checked is one
// snapshot. If its schema needs functions or collations of the program, open it with sqlitex and call DB.Check.
func Verify(ctx context.Context, path string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := verifyFile(ctx, path)
	if err != nil {
		return failed("verify", path, err)
	}
	return nil
}

func verifyFile(ctx context.Context, path string) error {
	f, err := openFile(ctx, path)
	if err != nil {
		return err
	}
	_, err = f.check(ctx, &Options{}, 0)
	changed := f.changed()
	if e := f.close(); err == nil {
		err = e
	}
	if changed == nil {
		return err
	}
	// Somebody began to use it: then only locks help.
	if f, err = openShared(ctx, f.path); err != nil {
		return err
	}
	_, err = f.check(ctx, &Options{}, 0)
	return errors.Join(err, f.close())
}

// verifyCopy checks the copy at path, of which nobody else knows, as o says. pages is how many it must have.
func verifyCopy(ctx context.Context, path string, pages int, o *Options) (Result, error) {
	f, err := openResting(path)
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = f.close() }()
	return f.check(ctx, o, pages)
}

// A file is a database that is read.
type file struct {
	path string
	conn *capi.Conn
	rest fs.FileInfo // how the file was when it was opened as one that nobody uses; nil otherwise
}

// openFile opens the database at path for reading one snapshot. One without side files is read as a file that nobody writes:
// SQLite would otherwise make side files for one in WAL mode, and a connection that only reads cannot remove them.
func openFile(ctx context.Context, path string) (*file, error) {
	path, err := resolve(path)
	if err != nil {
		return nil, err
	}
	for _, suffix := range sideFiles {
		if _, err := os.Lstat(path + suffix); err == nil {
			return openShared(ctx, path)
		}
	}
	return openResting(path)
}

func openResting(path string) (*file, error) {
	info, err := statFile(path)
	if err != nil {
		return nil, err
	}
	c, err := capi.OpenImmutable(path)
	return &file{path: path, conn: c, rest: info}, noDatabase(err)
}

// openShared opens a database that others may use, and begins a read transaction.
func openShared(ctx context.Context, path string) (*file, error) {
	if _, err := statFile(path); err != nil {
		return nil, err
	}
	f := &file{path: path}
	err := wait.Lock(ctx, defaultWait, "another connection's lock, to open the file", func() (err error) {
		f.conn, err = capi.Open(path, sqlite.OpenReadOnly)
		return err
	})
	if err != nil {
		return nil, noDatabase(err)
	}
	if _, err := beginSnapshot(ctx, f.conn.Zombie()); err != nil {
		_ = f.close()
		return nil, noDatabase(err)
	}
	return f, nil
}

// statFile says more about a file that cannot be opened than SQLite does. SQLite takes an empty file for an empty database.
func statFile(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err := regular(info, err); err != nil {
		return nil, err
	}
	if info.Size() == 0 {
		return nil, noDatabase(sqlerr.Wrapf(tx.ErrNotADatabase, "the file is empty"))
	}
	return info, nil
}

// noDatabase makes a finding of an error that speaks of the content of the file.
func noDatabase(err error) error {
	if errors.Is(err, tx.ErrNotADatabase) || errors.Is(err, tx.ErrCorrupt) {
		return &CheckError{Err: err}
	}
	return err
}

// changed answers ErrInUse where a file that was opened as one that nobody uses is not, or no longer.
func (f *file) changed() error {
	if f.rest == nil {
		return nil
	}
	now, err := os.Stat(f.path)
	if err != nil {
		return err
	}
	if !os.SameFile(now, f.rest) || now.Size() != f.rest.Size() || !now.ModTime().Equal(f.rest.ModTime()) {
		return fmt.Errorf("%w: it was written while it was read", ErrInUse)
	}
	return refuseSideFiles(f.path)
}

// check runs the checks that o asks for. pages is how many pages there must be; 0: as many as the header says.
func (f *file) check(ctx context.Context, o *Options, pages int) (Result, error) {
	f.conn.SetContext(ctx)
	defer f.conn.ClearContext()
	result := Result{Verified: o.Verify}
	found := CheckError{Path: f.path}
	if err := f.size(&result, pages, &found); err != nil {
		return Result{}, noDatabase(err)
	}
	if o.Verify != VerifyOff {
		if o.Setup != nil {
			if err := o.Setup(ctx, f.conn.Zombie()); err != nil {
				return Result{}, fmt.Errorf("options.Setup: %w", err)
			}
			f.conn.ArmProgressHandler()
		}
		if err := f.content(o.Verify, &found); err != nil {
			if err := ctx.Err(); err != nil {
				return Result{}, err
			}
			return Result{}, noDatabase(err)
		}
	}
	if len(found.Integrity)+len(found.ForeignKeys) > 0 {
		return Result{}, &found
	}
	return result, nil
}

// size compares what the header says with the file, where nothing else adds to it, and with what must be there.
func (f *file) size(result *Result, pages int, found *CheckError) error {
	z := f.conn.Zombie()
	size, err := ask[int64](z, "PRAGMA page_size")
	if err != nil {
		return err
	}
	n, err := ask[int64](z, "PRAGMA page_count")
	if err != nil {
		return err
	}
	result.Pages, result.Bytes = int(n), n*size
	if pages > 0 && int(n) != pages {
		found.Integrity = append(found.Integrity, fmt.Sprintf("it has %d pages instead of %d", n, pages))
	}
	if f.rest != nil && f.rest.Size() != n*size {
		found.Integrity = append(found.Integrity, fmt.Sprintf("the file has %d bytes, but %d pages of %d bytes", f.rest.Size(), n, size))
	}
	return nil
}

// content runs SQLite's own checks.
func (f *file) content(v Verification, found *CheckError) error {
	// integrity_check looks up every row in every index: with a small cache it reads the same pages again and again.
	if err := run(f.conn.Zombie(), "PRAGMA cache_size = -16384"); err != nil {
		return err
	}
	check := "PRAGMA integrity_check"
	if v == VerifyQuick {
		check = "PRAGMA quick_check"
	}
	err := eachRow(f.conn, check, func(s *capi.Stmt) {
		if line := string(s.ColumnText(0)); line != "ok" {
			found.Integrity = append(found.Integrity, line)
		}
	})
	if err != nil || v == VerifyQuick {
		return err
	}
	return eachRow(f.conn, "PRAGMA foreign_key_check", func(s *capi.Stmt) {
		row := "a row of " + string(s.ColumnText(0))
		if s.ColumnType(1) != sqlite.TypeNull {
			row = fmt.Sprintf("row %d of %s", s.ColumnInt64(1), s.ColumnText(0))
		}
		found.ForeignKeys = append(found.ForeignKeys, fmt.Sprintf("%s refers to a row of %s that is not there", row, s.ColumnText(2)))
	})
}

func eachRow(c *capi.Conn, sql string, fn func(*capi.Stmt)) error {
	s, _, err := c.Prepare(sql, false)
	if err != nil {
		return err
	}
	defer s.Finalize()
	for {
		row, err := s.Step()
		if !row || err != nil {
			return err
		}
		fn(s)
	}
}

// close ends the reading.
func (f *file) close() error { return f.conn.Close() }
