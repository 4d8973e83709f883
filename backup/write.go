package backup

import (
	"context"
	"errors"
	"io"
	"os"
)

// Write copies the database of src, as To does, and writes the copy to w: an HTTP response, an upload, a compressor. It is
// complete and checked before the first byte goes out, in a file in Options.TempDir, which is deleted afterwards; the snapshot is let go before, so that a
// slow w costs no log. An error of w is returned.
//
// ctx is looked at between two calls of w.Write, which blocks for as long as w does. Result.Bytes is what was written when
// the error is nil. Write does not close w.
func Write(ctx context.Context, src Source, w io.Writer, options *Options) (Result, error) {
	return perform(ctx, options, "write", "", func(o *Options) (Result, error) {
		if o.TempDir == "" {
			o.TempDir = os.TempDir()
		}
		return stream(ctx, src, w, o)
	})
}

func stream(ctx context.Context, src Source, w io.Writer, o *Options) (result Result, err error) {
	temp, err := makeTemporary(o.TempDir)
	if err != nil {
		return Result{}, err
	}
	defer removeTemporary(temp)
	resume := src.HoldCheckpoints()
	defer resume()
	pages, err := copySnapshot(ctx, src, temp, o)
	resume()
	if err != nil {
		return Result{}, err
	}
	if result, err = verifyCopy(ctx, temp, pages, o); err != nil {
		return Result{}, err
	}
	f, err := os.Open(temp) // no connection is open on it
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	n, err := io.Copy(w, &contextReader{ctx, f})
	if err == nil && n != result.Bytes {
		err = io.ErrShortWrite
	}
	return result, err
}

// contextReader ends a copy when its context ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

// Read reads nothing more once the context is done.
func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
