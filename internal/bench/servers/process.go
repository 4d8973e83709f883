package servers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sanelite/sanelite/internal/bench/harness"
)

// process is a database server that was started.
type process struct {
	cmd    *exec.Cmd
	port   int
	socket string // folder or file of its Unix socket
	dir    string
}

// startTimeout is for a server to answer.
const startTimeout = 60 * time.Second

// account returns the account that the server runs under: neither of the two wants to be root.
func account(name string) (*user.User, error) {
	if os.Geteuid() != 0 {
		return user.Current()
	}
	return user.Lookup(name)
}

// folder makes a folder that belongs to u, below dir.
func folder(dir, name string, u *user.User) (string, error) {
	path := filepath.Join(dir, name)
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(path, 0o700)); err != nil {
		return "", err
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return "", err
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return "", err
	}
	return path, os.Chown(path, uid, gid)
}

// command prepares a program that runs under u and ends with this process.
func command(u *user.User, dir, program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	harness.EndWithParent(cmd)
	runAs(cmd, u)
	return cmd
}

// run runs a program to its end; what it says is part of the error.
func run(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, lastLine(out))
	}
	return nil
}

// start starts the server and waits until ready succeeds.
func (p *process) start(ready func(context.Context) error) error {
	log, err := os.Create(filepath.Join(p.dir, "..", filepath.Base(p.cmd.Path)+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		if err = ready(ctx); err == nil {
			return nil
		}
		if ctx.Err() != nil || !answering(err) {
			words, _ := os.ReadFile(log.Name())
			return errors.Join(fmt.Errorf("%s does not answer: %w: %s", filepath.Base(p.cmd.Path), err, lastLine(words)), p.stop())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// answering reports that the server is not there yet, and may be soon.
func answering(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "starting up")
}

// stop ends the server in order, or by force where that takes too long.
func (p *process) stop() error {
	_ = p.cmd.Process.Signal(os.Interrupt) // PostgreSQL's fast shutdown; an error if it has ended by itself
	_ = p.cmd.Process.Signal(terminate)    // MariaDB's
	kill := time.AfterFunc(startTimeout, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	err := p.cmd.Wait()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return nil // by the signal
	}
	return err
}

// freePort returns a port that nobody listens on.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

func lastLine(text []byte) string {
	begin, end := 0, len(text)
	for end > 0 && (text[end-1] == '\n' || text[end-1] == ' ') {
		end--
	}
	for i := range end {
		if text[i] == '\n' {
			begin = i + 1
		}
	}
	return string(text[begin:end])
}
