package backup

import (
	"context"
	"errors"
	"io/fs"
	"os"
)

// RestoreFile puts a checked copy of the database at path in the place of dst, which need not exist, and which nobody may have
// open: ErrInUse otherwise, as far as SQLite's locks tell (see the package documentation). Programs must be kept from opening dst
// until it returns. The file at path is left as it is; a log beside it is taken into account.
//
// dst becomes the new database at once, by a rename. Until then it is the old one: what a crash has left beside it as -wal or
// -journal is first brought into it, and only deleted where SQLite cannot make sense of the old file any more. The new file has the
// permissions of the old one or, if there was none, of the file at path.
//
// Of Options, Verify, Setup, Progress and those about speed apply.
func RestoreFile(ctx context.Context, path, dst string, options *Options) (Result, error) {
	return perform(ctx, options, "restore", path, func(o *Options) (Result, error) { return restoreFile(ctx, path, dst, o) })
}

func restoreFile(ctx context.Context, path, dst string, o *Options) (result Result, err error) {
	d, err := newDestination(dst, path)
	if err != nil {
		return Result{}, err
	}
	old, err := d.old()
	if err != nil {
		return Result{}, err
	}
	f, err := openFile(ctx, path)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	if _, err := f.check(ctx, &Options{Verify: VerifyOff}, 0); err != nil { // its size; the rest is found in the copy
		return Result{}, errors.Join(f.changed(), err)
	}
	if err := d.makeTemporary(); err != nil {
		return Result{}, err
	}
	defer d.discard()
	pages, err := copyInto(ctx, d.temporary, f.conn.Zombie(), o, nil)
	if err != nil {
		return Result{}, noDatabase(err)
	}
	if result, err = verifyCopy(ctx, d.temporary, pages, o); err != nil {
		return Result{}, errors.Join(f.changed(), err)
	}
	if err := f.changed(); err != nil {
		return Result{}, err
	}
	like := f.path
	if old != nil {
		like = d.path
	}
	if err := d.flush(like); err != nil {
		return Result{}, err
	}
	settled := false
	if old != nil {
		if settled, err = settle(d.path); err != nil {
			return Result{}, err
		}
	}
	return result, d.placeOver(old != nil, settled)
}

// old returns what there is to be replaced, nil if nothing, and makes sure that nobody uses it.
func (d *destination) old() (fs.FileInfo, error) {
	info, err := os.Lstat(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err := regular(info, err); err != nil {
		return nil, err
	}
	lock, err := lockUnused(d.path)
	if err != nil {
		return nil, err
	}
	lock.Release()
	return info, nil
}

// placeOver gives the temporary file its name. Side files of a database that is settled, and has content in them again, tell
// of somebody who has begun to use it; only a journal that is kept between transactions has content all the time.
func (d *destination) placeOver(exists, settled bool) error {
	aside := &sideStep{path: d.path, aside: d.temporary + ".old"}
	if exists {
		if settled && contentBeside(d.path) == "-wal" {
			aside = nil
		}
		return d.replace(aside)
	}
	if err := aside.take(); err != nil {
		return err
	}
	defer aside.putBack() // unless it was dropped
	removeEmptySideFiles(d.path)
	if err := d.place(false); err != nil {
		return err
	}
	aside.drop()
	return nil
}
