package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

var errInterrupted = errors.New("interrupted")

// Interrupts lets an interrupt, SIGINT or SIGTERM, end a workload in order, where that has processes or folders that would
// otherwise stay: its sides do nothing more, it undoes what it has made, and only then does this process end.
type Interrupts struct {
	// Context is done once there was an interrupt.
	Context context.Context
	unwatch context.CancelFunc
}

// WatchInterrupts begins to wait for one. Until End, interrupts do nothing else.
func WatchInterrupts() *Interrupts {
	ctx, unwatch := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	return &Interrupts{ctx, unwatch}
}

// Side makes a side do nothing more once there was an interrupt.
func (i *Interrupts) Side(side Side) Side {
	start := side.Start
	side.Start = func() (Runner, Info, error) {
		if i.Context.Err() != nil {
			return nil, Info{}, errInterrupted
		}
		r, info, err := start()
		if err != nil {
			return nil, info, err
		}
		return interruptible{r, i.Context}, info, nil
	}
	return side
}

// interruptible runs until there was an interrupt.
type interruptible struct {
	Runner
	interrupted context.Context
}

func (r interruptible) Run(d time.Duration) (Sample, error) {
	if r.interrupted.Err() != nil {
		return Sample{}, errInterrupted
	}
	return r.Runner.Run(d)
}

// End ends this process by an interrupt if there was one, and removes dir before. It is called when all else is undone.
func (i *Interrupts) End(dir string) {
	interrupted := i.Context.Err() != nil // which unwatch sets too
	i.unwatch()
	if !interrupted {
		return
	}
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Signal(os.Interrupt)
	}
	time.Sleep(time.Second) // the signal may be a moment late
	os.Exit(1)              // or be ignored, as in the background of a script
}
