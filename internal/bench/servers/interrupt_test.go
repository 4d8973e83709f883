package servers

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/bench/harness"
)

// interruptedFolder is in the environment of a process that TestAnInterruptLeavesNothingBehind interrupts.
const interruptedFolder = "SANELITE_BENCH_INTERRUPTED_FOLDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(interruptedFolder); dir != "" {
		if err := beInterrupted(dir); err != nil {
			fmt.Println(err)
		}
		fmt.Println("still here")
		return
	}
	os.Exit(m.Run())
}

// beInterrupted is a benchmark of a server that does nothing but wait for its end. It prints the server's process id, and what a
// side answers after the interrupt.
func beInterrupted(dir string) error {
	s := &Servers{dir: dir, postgres: &process{cmd: exec.Command("sleep", "600"), dir: dir}, interrupts: harness.WatchInterrupts()}
	side := s.interrupts.Side(harness.Side{Start: func() (harness.Runner, harness.Info, error) { return &pgbench{}, harness.Info{}, nil }})
	r, _, err := side.Start()
	if err != nil {
		return err
	}
	if err := s.postgres.cmd.Start(); err != nil {
		return err
	}
	fmt.Println(s.postgres.cmd.Process.Pid)
	<-s.interrupts.Context.Done()
	_, err = r.Run(0)
	_, _, startErr := side.Start()
	fmt.Println(err, startErr)
	return s.Stop()
}

func TestAnInterruptLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		dir := filepath.Join(t.TempDir(), "bench")
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "postgres", "base"), 0o700))
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), interruptedFolder+"="+dir)
		harness.EndWithParent(cmd)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewReader(out)
		var server int
		_, err = fmt.Fscanln(lines, &server)
		require.NoError(t, err)

		require.NoError(t, cmd.Process.Signal(s))
		rest, err := io.ReadAll(lines)
		require.NoError(t, err)
		exit := new(exec.ExitError)
		require.ErrorAs(t, cmd.Wait(), &exit)
		assert.Equal(t, "interrupted interrupted", strings.TrimSpace(string(rest)), "what a side answers, and nothing after Stop")
		assert.NoDirExists(t, dir)
		assert.ErrorIs(t, syscall.Kill(server, 0), syscall.ESRCH, "the server has ended")
	}
}
