// Package timeline measures the social network of examples/chirp: readers of home timelines, alone and beside a writer.
package timeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sanelite/sanelite/examples/chirp/social"
	"github.com/sanelite/sanelite/pragma"
	"github.com/sanelite/sanelite/sqlitex"

	"github.com/sanelite/sanelite/internal/bench/harness"
)

// Spec says what a side does. It reaches the side's process as JSON.
type Spec struct {
	Path     string `json:"path"`
	Rollback bool   `json:"rollback,omitempty"` // rollback journal and synchronous FULL, SQLite's defaults; else WAL and NORMAL
	CacheMiB int    `json:"cache"`              // of all connections together
	MmapMiB  int    `json:"mmap,omitempty"`
	Readers  int    `json:"readers"`
	Writes   int    `json:"writes,omitempty"` // per second; FlatOut: as many as possible
}

// FlatOut is a rate.
const FlatOut = -1

// Busy is the figure that counts what callers saw of SQLITE_BUSY.
const Busy = "SQLITE_BUSY"

// Side makes a side.
func (s Spec) Side(name string, compare ...harness.Compare) harness.Side {
	want := map[string]string{"journal_mode": "wal", "synchronous": "1"}
	if s.Rollback {
		want = map[string]string{"journal_mode": "delete", "synchronous": "2"}
	}
	return harness.Side{
		Name: name, Want: want, Compare: compare,
		Limits: []harness.Limit{{Figure: Busy, Op: harness.AtMost, Than: 0}},
		Start: harness.Command(func() (*exec.Cmd, error) {
			text, err := json.Marshal(s)
			if err != nil {
				return nil, err
			}
			self, err := os.Executable()
			if err != nil {
				return nil, err
			}
			return exec.Command(self, ServeCommand, string(text)), nil
		}),
	}
}

// ServeCommand is the first argument of a process that is a side; the second is the Spec.
const ServeCommand = "serve-timeline"

// Serve is the process of a side.
func Serve(spec string) error {
	return harness.Serve(os.Stdin, os.Stdout, func() (harness.Runner, harness.Info, error) {
		var s Spec
		if err := json.Unmarshal([]byte(spec), &s); err != nil {
			return nil, harness.Info{}, err
		}
		return s.start(context.Background())
	})
}

func (s Spec) start(ctx context.Context) (harness.Runner, harness.Info, error) {
	o := &sqlitex.Options{
		MaxReaders: s.Readers,
		CacheSize:  pragma.Size(s.CacheMiB) * pragma.MiB,
		Pragmas:    pragma.Config{MmapSize: pragma.Size(s.MmapMiB) * pragma.MiB},
	}
	if s.Rollback {
		o.Pragmas.JournalMode, o.Pragmas.Synchronous = pragma.JournalDelete, pragma.SyncFull
	}
	info := harness.Info{Settings: map[string]string{}}
	n, err := social.Open(ctx, s.Path, o)
	if err != nil {
		return nil, info, err
	}
	for _, name := range []string{"journal_mode", "synchronous"} {
		value, err := sqlitex.ExecOne[any](ctx, n.DB(), "PRAGMA "+name)
		if err != nil {
			return nil, info, errors.Join(err, n.Close(ctx))
		}
		info.Settings[name] = fmt.Sprint(value)
	}
	if info.SQLite, err = sqlitex.One[string](ctx, n.DB(), `SELECT sqlite_version()`); err != nil {
		return nil, info, errors.Join(err, n.Close(ctx))
	}
	r := &runner{Spec: s, network: n}
	if r.users, err = sqlitex.One[int64](ctx, n.DB(), `SELECT max(id) FROM users`); err != nil {
		return nil, info, errors.Join(err, n.Close(ctx))
	}
	r.posts, err = sqlitex.One[int64](ctx, n.DB(), `SELECT max(id) FROM posts`)
	return r, info, err
}

// runner is a harness.Runner.
type runner struct {
	Spec
	network      *social.Network
	users, posts int64
}

func (r *runner) Close() error { return r.network.Close(context.Background()) }

// Run lets all readers read timelines of random users for d, beside the writer.
func (r *runner) Run(d time.Duration) (harness.Sample, error) {
	ctx := context.Background()
	var (
		mu     sync.Mutex
		sample = harness.Sample{Figures: map[string]float64{Busy: 0}}
		errs   []error
		busy   atomic.Int64
		all    sync.WaitGroup
	)
	begin := time.Now()
	end := begin.Add(d)
	for range r.Readers {
		all.Go(func() {
			var h harness.Histogram
			ops, failed := int64(0), error(nil)
			for before := time.Now(); before.Before(end); {
				_, err := r.network.Timeline(ctx, 1+rand.Int64N(r.users), 0, 20)
				after := time.Now()
				if err != nil && !counted(err, &busy) {
					failed = err
					break
				}
				h.Add(after.Sub(before))
				ops++
				// As a server's goroutine does when it writes its answer. A reader that never gives its processor up is interrupted in
				// the middle of a timeline, for as long as all others please: that would be measured, and not the database.
				runtime.Gosched()
				before = time.Now()
			}
			mu.Lock()
			defer mu.Unlock()
			sample.Ops += ops
			sample.Latency.Merge(h)
			errs = append(errs, failed)
		})
	}
	if r.Writes != 0 {
		all.Go(func() {
			writes, err := r.write(ctx, end, &busy)
			mu.Lock()
			defer mu.Unlock()
			sample.Beside = float64(writes) / time.Since(begin).Seconds()
			errs = append(errs, err)
		})
	}
	all.Wait()
	sample.Nanos = time.Since(begin).Nanoseconds()
	sample.Figures[Busy] = float64(busy.Load())
	return sample, errors.Join(errs...)
}

// counted counts an error that says SQLITE_BUSY.
func counted(err error, busy *atomic.Int64) bool {
	is := errors.Is(err, sqlitex.ErrBusy)
	if is {
		busy.Add(1)
	}
	return is
}

// write posts, likes and follows in turn, each in a commit of its own.
func (r *runner) write(ctx context.Context, end time.Time, busy *atomic.Int64) (writes int, err error) {
	due := time.Now()
	for ; time.Now().Before(end); writes++ {
		user := 1 + rand.Int64N(r.users)
		switch writes % 3 {
		case 0:
			var p social.Post
			if p, err = r.network.Post(ctx, user, "what is new here and now"); err == nil {
				r.posts = p.ID
			}
		case 1:
			err = r.network.Like(ctx, user, 1+rand.Int64N(r.posts))
		default:
			err = r.network.Follow(ctx, user, 1+user%r.users)
		}
		if err != nil && !counted(err, busy) {
			return writes, err
		}
		if r.Writes > 0 {
			due = due.Add(time.Second / time.Duration(r.Writes))
			time.Sleep(time.Until(due))
		}
	}
	return writes, nil
}
