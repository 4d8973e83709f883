package web

import (
	"errors"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sanelite/sanelite/internal/bench/harness"
)

var errInterrupted = errors.New("interrupted")

// interrupted is the signal that asked this process to end while a workload ran.
var interrupted atomic.Pointer[os.Signal]

// watchInterrupts makes an interrupt end the workload in order: its processes are stopped, root is removed, and only then this
// process ends by the signal, as it would have at once.
func watchInterrupts(root string) (done func() error, err error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		if s, open := <-signals; open {
			interrupted.Store(&s)
		}
	}()
	return func() error {
		signal.Stop(signals)
		close(signals)
		s := interrupted.Load()
		if s == nil {
			return nil
		}
		err := os.RemoveAll(root)
		signal.Reset(*s)
		err = errors.Join(err, errInterrupted, syscall.Kill(os.Getpid(), (*s).(syscall.Signal)))
		time.Sleep(time.Second) // the signal may be a moment late; nothing else is to begin until then
		return err
	}, nil
}

// interruptible lets a side do nothing more once there was an interrupt.
func interruptible(start func() (harness.Runner, harness.Info, error)) func() (harness.Runner, harness.Info, error) {
	return func() (harness.Runner, harness.Info, error) {
		if interrupted.Load() != nil {
			return nil, harness.Info{}, errInterrupted
		}
		runner, info, err := start()
		if err != nil {
			return nil, info, err
		}
		return interruptibleRunner{runner}, info, nil
	}
}

type interruptibleRunner struct{ harness.Runner }

func (r interruptibleRunner) Run(d time.Duration) (harness.Sample, error) {
	if interrupted.Load() != nil {
		return harness.Sample{}, errInterrupted
	}
	return r.Runner.Run(d)
}
