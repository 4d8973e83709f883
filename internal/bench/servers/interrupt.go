package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sanelite/sanelite/internal/bench/harness"
)

// watch begins to wait for an interrupt. Without it this process would be gone at once, and its folders would stay.
func (s *Servers) watch() {
	s.interrupted, s.unwatch = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}

// endWhenInterrupted ends this process by an interrupt if there was one while it was watched for: only after the servers have
// stopped, and without a trace of them.
func (s *Servers) endWhenInterrupted() {
	interrupted := s.interrupted.Err() != nil // which unwatch would set too
	s.unwatch()
	if !interrupted {
		return
	}
	if err := os.RemoveAll(s.dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
	time.Sleep(time.Second) // the signal may be a moment late
	os.Exit(1)              // or be ignored, as in the background of a script
}

var errInterrupted = errors.New("interrupted")

// untilInterrupted lets a side do nothing more once there was an interrupt.
func (s *Servers) untilInterrupted(side harness.Side) harness.Side {
	start := side.Start
	side.Start = func() (harness.Runner, harness.Info, error) {
		if s.interrupted.Err() != nil {
			return nil, harness.Info{}, errInterrupted
		}
		r, info, err := start()
		if err != nil {
			return nil, info, err
		}
		return interruptible{r, s.interrupted}, info, nil
	}
	return side
}

// interruptible runs until there was an interrupt.
type interruptible struct {
	harness.Runner
	interrupted context.Context
}

func (i interruptible) Run(d time.Duration) (harness.Sample, error) {
	if i.interrupted.Err() != nil {
		return harness.Sample{}, errInterrupted
	}
	return i.Runner.Run(d)
}
