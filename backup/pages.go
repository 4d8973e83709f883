package backup

import (
	"context"
	"time"

	"zombiezen.com/go/sqlite"
)

// A pageCopy is one use of SQLite's online backup. https://www.sqlite.org/backup.html
type pageCopy struct {
	to, from *sqlite.Conn
	options  *Options

	step    func(try func() error) error // runs a step; it may wait for locks
	failure func(err error) error        // explains the error of a step, after the backup has ended
	between func(done int64) error       // is called between two steps, with the bytes copied so far
	last    func() error                 // is called before the step that commits
	final   bool                         // nothing can be undone after the last step
}

// run copies all pages and returns their number.
func (k *pageCopy) run(ctx context.Context) (pages int, err error) {
	size, err := ask[int64](k.from, "PRAGMA page_size")
	if err != nil {
		return 0, err
	}
	total, err := ask[int64](k.from, "PRAGMA page_count")
	if err != nil {
		return 0, err
	}
	p := pace{start: time.Now(), options: k.options, pageSize: int(size)}
	if err := p.report(int(total), int(total)); err != nil {
		return 0, err
	}
	b, err := sqlite.NewBackup(k.to, "main", k.from, "main")
	if err != nil {
		return 0, explain(err, "backup")
	}
	open := true
	end := func() {
		if open {
			open = false
			_ = b.Close() // undoes what is not complete
		}
	}
	defer end()
	n := p.stepPages()
	for left := int(total); ; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if k.last != nil && (n < 0 || left <= n) {
			if err := k.last(); err != nil {
				return 0, err
			}
		}
		more, failed := k.oneStep(b, n)
		if failed != nil {
			end()
			return 0, k.failure(failed)
		}
		left = b.Remaining()
		err := p.report(left, b.PageCount())
		if !more {
			pages = b.PageCount()
			if k.final {
				err = nil
			}
			return max(pages, 1), err // an empty database becomes one page
		}
		if err == nil {
			err = p.rest(ctx, b.PageCount()-left)
		}
		if err == nil && k.between != nil {
			err = k.between(int64(b.PageCount()-left) * size)
		}
		if err != nil {
			return 0, err
		}
	}
}

// oneStep copies n pages. Where the destination may be locked by others, trying again is what SQLite asks for.
func (k *pageCopy) oneStep(b *sqlite.Backup, n int) (more bool, err error) {
	try := func() (err error) {
		more, err = b.Step(n)
		return err
	}
	if k.step == nil {
		err = try()
		return more, err
	}
	err = k.step(try)
	return more, err
}

// pace is how fast a copy goes, and who hears of it.
type pace struct {
	start    time.Time
	options  *Options
	pageSize int
}

// stepPages returns how many pages a step has: fewer than asked for where they would take too long at the speed asked for.
func (p *pace) stepPages() int {
	n := p.options.StepPages
	if rate := p.options.BytesPerSecond; rate > 0 {
		const longest = 10 // steps in a second, at least
		most := int(max(1, rate/longest/int64(p.pageSize)))
		if n < 0 || n > most {
			n = most
		}
	}
	return n
}

func (p *pace) report(left, total int) error {
	return p.options.report(Progress{
		PagesLeft:  left,
		PagesTotal: total,
		BytesDone:  int64(total-left) * int64(p.pageSize),
		Elapsed:    time.Since(p.start),
	})
}

// rest waits until the next step is due, or ctx ends.
func (p *pace) rest(ctx context.Context, done int) error {
	d := p.options.Pause
	if rate := p.options.BytesPerSecond; rate > 0 {
		due := time.Duration(float64(done) * float64(p.pageSize) / float64(rate) * float64(time.Second))
		d = max(d, due-time.Since(p.start))
	}
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
