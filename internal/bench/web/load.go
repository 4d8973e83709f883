package web

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/sanelite/sanelite/internal/bench/harness"
)

// answerTimeout is how long an answer may take. It is no part of what is measured: a service that hangs is to end the run.
const answerTimeout = 30 * time.Second

// A client is one of those who send requests, each when the answer to the one before has come.
type client interface {
	// next appends a request to b. It returns nil when there is nothing left to do.
	next(b []byte) []byte
	// check tells whether an answer with a status of success is the right one.
	check(a answer) error
}

// run lets clients send requests for d.
func run(address string, clients []client, d time.Duration) (harness.Sample, error) {
	connections := make([]*connection, len(clients))
	defer func() {
		for _, c := range connections {
			if c != nil {
				_ = c.Close() // all answers have been read
			}
		}
	}()
	for i := range clients {
		var err error
		if connections[i], err = dial(address, time.Now().Add(d+answerTimeout)); err != nil {
			return harness.Sample{}, err
		}
	}
	counts := make([]count, len(clients))
	var all sync.WaitGroup
	begin, cpu := time.Now(), ownCPU()
	for i := range clients {
		all.Go(func() { counts[i].requests(connections[i], clients[i], begin.Add(d)) })
	}
	all.Wait()
	took := time.Since(begin)
	cpu = ownCPU() - cpu

	var sum count
	for i := range counts {
		sum.add(&counts[i])
	}
	return harness.Sample{
		Ops: sum.ops, Nanos: int64(took), Latency: sum.latency,
		Figures: map[string]float64{
			FigureErrors: float64(sum.errors), FigureBusy: float64(sum.busy),
			FigureClients: 100 * float64(cpu) / float64(took),
		},
	}, sum.failed
}

// count is what a client came to.
type count struct {
	ops     int64 // answers with a status of success
	errors  int64 // others, but for
	busy    int64 // those with which a service says that it could not get the lock on its database
	latency harness.Histogram
	failed  error
}

func (n *count) add(other *count) {
	n.ops += other.ops
	n.errors += other.errors
	n.busy += other.busy
	n.latency.Merge(other.latency)
	n.failed = errors.Join(n.failed, other.failed)
}

func (n *count) requests(conn *connection, c client, end time.Time) {
	var b []byte
	sent := time.Now()
	for sent.Before(end) {
		b = c.next(b[:0])
		if b == nil {
			return
		}
		a, err := conn.roundTrip(b)
		if err != nil {
			n.failed = fmt.Errorf("%.60q: %w", b, err)
			return
		}
		now := time.Now()
		n.latency.Add(now.Sub(sent))
		sent = now
		switch {
		case a.status == 503:
			n.busy++
		case a.status < 200 || a.status > 299:
			n.errors++
		default:
			if err := c.check(a); err != nil {
				n.failed = fmt.Errorf("%.60q: %w: %.200q", b, err, a.body)
				return
			}
			n.ops++
		}
	}
}

// ownCPU is the processor time of this process.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
