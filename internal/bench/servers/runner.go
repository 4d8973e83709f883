package servers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sanelite/sanelite/internal/bench/harness"
)

type record struct {
	ID      int64
	Name    string
	Email   string
	Created int64
}

// connector is a database with its table.
type connector interface {
	connect(ctx context.Context) (client, error)
	empty(ctx context.Context) error // removes all rows
	fill(ctx context.Context) error  // makes Rows rows
	count(ctx context.Context) (int64, error)
	Close() error
}

// client is a connection, for one goroutine.
type client interface {
	insert(ctx context.Context, created int64) error
	insertAll(ctx context.Context, rows int64) error // in one transaction
	row(ctx context.Context, id int64) (record, error)
	all(ctx context.Context) ([]record, error)
	Close() error
}

// name and email are what is inserted.
const name, email = "ann", "ann@example.com"

// runner is a harness.Runner.
type runner struct {
	Spec
	connector connector
	clients   []client
	next      int64
}

func newRunner(ctx context.Context, s Spec, c connector) (_ *runner, err error) {
	r := &runner{Spec: s, connector: c}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	if err := c.empty(ctx); err != nil {
		return r, err
	}
	if s.Work == Row || s.Work == All {
		if err := c.fill(ctx); err != nil {
			return r, err
		}
	}
	for range s.Clients {
		client, err := c.connect(ctx)
		if err != nil {
			return r, err
		}
		r.clients = append(r.clients, client)
	}
	return r, nil
}

func (r *runner) Close() error {
	var errs []error
	for _, c := range r.clients {
		errs = append(errs, c.Close())
	}
	return errors.Join(append(errs, r.connector.Close())...)
}

// Run lets all clients work for d. What was inserted is counted afterwards: nothing may be missing.
func (r *runner) Run(d time.Duration) (harness.Sample, error) {
	ctx := context.Background()
	writes := r.Work == Insert || r.Work == Transaction
	if writes {
		if err := r.connector.empty(ctx); err != nil {
			return harness.Sample{}, err
		}
	}
	var (
		mu     sync.Mutex
		sample harness.Sample
		errs   []error
		all    sync.WaitGroup
	)
	begin := time.Now()
	for n, c := range r.clients {
		all.Go(func() {
			var h harness.Histogram
			var ops int64
			var failed error
			for i := r.next + int64(n*Rows/len(r.clients)); time.Since(begin) < d; i++ {
				before := time.Now()
				done, err := r.call(ctx, c, i)
				if err != nil {
					failed = err
					break
				}
				h.Add(time.Since(before))
				ops += done
			}
			mu.Lock()
			defer mu.Unlock()
			sample.Ops += ops
			sample.Latency.Merge(h)
			errs = append(errs, failed)
		})
	}
	all.Wait()
	sample.Nanos = time.Since(begin).Nanoseconds()
	r.next += sample.Ops
	if writes && errors.Join(errs...) == nil {
		rows, err := r.connector.count(ctx)
		if err == nil && rows != sample.Ops {
			err = fmt.Errorf("%d rows after %d inserts", rows, sample.Ops)
		}
		errs = append(errs, err)
	}
	return sample, errors.Join(errs...)
}

// call does one piece of work, and tells how many operations that was.
func (r *runner) call(ctx context.Context, c client, i int64) (ops int64, err error) {
	switch r.Work {
	case Insert:
		return 1, c.insert(ctx, i)
	case Transaction:
		return Rows, c.insertAll(ctx, Rows)
	case Row:
		id := i*31337%Rows + 1
		u, err := c.row(ctx, id)
		if err == nil && u.ID != id {
			err = fmt.Errorf("row %d instead of %d", u.ID, id)
		}
		return 1, err
	default:
		users, err := c.all(ctx)
		if err == nil && len(users) != Rows {
			err = fmt.Errorf("%d rows", len(users))
		}
		return 1, err
	}
}
