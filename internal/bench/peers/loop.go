package peers

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sanelite/sanelite/internal/bench/harness"
)

// loop is a harness.Runner that calls functions over and over.
type loop struct {
	work     Work
	calls    []func(i int64) error // one for each goroutine; i counts up
	prepare  func() error          // before every run, off the clock; may be nil
	writer   *writer               // runs beside; may be nil
	closings []func() error        // in this order
	latency  bool
	rate     int
	next     int64 // i of the next run
}

// Run does the work. With latency and without a rate it splits the time: the speed is measured without a look at the clock for
// each operation, then the duration of each.
func (l *loop) Run(d time.Duration) (s harness.Sample, err error) {
	if l.prepare != nil {
		if err := l.prepare(); err != nil {
			return s, err
		}
	}
	if l.writer != nil {
		stop := l.writer.start()
		defer func() {
			var stopErr error
			s.Beside, stopErr = stop()
			err = errors.Join(err, stopErr)
		}()
	}
	if l.rate > 0 {
		return l.timed(d)
	}
	if !l.latency {
		return l.untimed(d)
	}
	s, err = l.untimed(d * 2 / 3)
	if err != nil {
		return s, err
	}
	single, err := l.timed(d / 3)
	s.Latency = single.Latency
	return s, err
}

func (l *loop) Close() error {
	var errs []error
	for _, f := range l.closings {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

func (l *loop) untimed(d time.Duration) (harness.Sample, error) {
	perCall, batch := l.work.unit()
	return l.parallel(d, func(call func(int64) error, i int64, end time.Time) (calls int64, _ harness.Histogram, _ error) {
		for {
			for range batch {
				if err := call(i + calls); err != nil {
					return calls, harness.Histogram{}, err
				}
				calls++
			}
			if !time.Now().Before(end) {
				return calls * perCall, harness.Histogram{}, nil
			}
		}
	})
}

func (l *loop) timed(d time.Duration) (harness.Sample, error) {
	perCall, _ := l.work.unit()
	var pause time.Duration
	if l.rate > 0 {
		pause = time.Second * time.Duration(len(l.calls)) / time.Duration(l.rate)
	}
	return l.parallel(d, func(call func(int64) error, i int64, end time.Time) (calls int64, h harness.Histogram, _ error) {
		due := time.Now()
		for {
			before := time.Now()
			if err := call(i + calls); err != nil {
				return calls, h, err
			}
			calls++
			after := time.Now()
			h.Add(after.Sub(before))
			if !after.Before(end) {
				return calls * perCall, h, nil
			}
			if pause > 0 {
				due = due.Add(pause)
				time.Sleep(time.Until(due))
			}
		}
	})
}

// parallel lets every goroutine run f until end, and adds up.
func (l *loop) parallel(d time.Duration, f func(call func(int64) error, i int64, end time.Time) (int64, harness.Histogram, error)) (harness.Sample, error) {
	var (
		mu    sync.Mutex
		s     harness.Sample
		errs  []error
		calls int64
		wg    sync.WaitGroup
	)
	step := int64(Rows / len(l.calls)) // the goroutines are at different places of the table
	begin := time.Now()
	for n, call := range l.calls {
		wg.Go(func() {
			ops, h, err := f(call, l.next+int64(n)*step, begin.Add(d))
			took := time.Since(begin)
			mu.Lock()
			defer mu.Unlock()
			s.Ops += ops
			s.Nanos = max(s.Nanos, took.Nanoseconds())
			s.Latency.Merge(h)
			calls = max(calls, ops)
			errs = append(errs, err)
		})
	}
	wg.Wait()
	l.next += calls
	return s, errors.Join(errs...)
}

// writer commits at a steady rate. Where the clock of the system is too coarse for single commits it catches up, so that the
// rate is right over some milliseconds.
type writer struct {
	rate int
	exec func(ctx context.Context, i int64) error
	next int64
}

// start begins to write and waits until it is under way. The function ends it and tells the rate that was achieved.
func (w *writer) start() (stop func() (float64, error)) {
	var stopping atomic.Bool
	running := make(chan struct{})
	var commits int64
	var took time.Duration
	var failed error
	var wg sync.WaitGroup
	wg.Go(func() {
		pause := time.Second / time.Duration(w.rate)
		begin := time.Now()
		for due := begin; !stopping.Load(); {
			if failed = w.exec(context.Background(), w.next); failed != nil {
				break
			}
			w.next++
			if commits++; commits == 2 {
				close(running)
			}
			due = due.Add(pause)
			time.Sleep(time.Until(due))
		}
		if commits < 2 {
			close(running)
		}
		took = time.Since(begin)
	})
	<-running
	return func() (float64, error) {
		stopping.Store(true)
		wg.Wait()
		return float64(commits) / took.Seconds(), failed
	}
}
