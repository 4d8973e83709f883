package web

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sanelite/sanelite/internal/bench/harness"
)

const (
	// readyTimeout is for opening the database and listening.
	readyTimeout = 15 * time.Second
	// stopTimeout is for a graceful shutdown. A service that has not ended by then is killed, which is an error.
	stopTimeout = 15 * time.Second
)

// service is a server in a process of its own.
type service struct {
	address string
	info    harness.Info // what it told of itself
	cmd     *exec.Cmd
	output  bytes.Buffer  // of stderr; complete when it has ended
	ended   chan struct{} // closed when it has ended
	err     error         // how it ended
}

// start starts a program and waits until it is healthy. The program announces itself by a line of JSON on its standard output, or
// not at all.
func start(program []string, announces bool, address string) (*service, error) {
	s := &service{address: address, cmd: exec.Command(program[0], program[1:]...), ended: make(chan struct{})}
	s.cmd.Stderr = &s.output
	s.cmd.Env = append(os.Environ(), "NODE_ENV=production")
	s.cmd.WaitDelay = stopTimeout
	harness.EndWithParent(s.cmd)
	read, write := io.Pipe()
	s.cmd.Stdout = write
	announced := make(chan error, 1)
	go func() {
		out := bufio.NewReader(read)
		line, err := out.ReadBytes('\n')
		if err == nil && announces {
			err = json.Unmarshal(line, &s.info)
		}
		announced <- err
		_, _ = io.Copy(io.Discard, out)
	}()
	begun := make(chan error)
	go func() {
		runtime.LockOSThread() // the process is to end with its parent, which for Linux is this thread; it is given up with the goroutine
		err := s.cmd.Start()
		begun <- err
		if err != nil {
			return
		}
		s.err = s.cmd.Wait()
		_ = write.Close()
		close(s.ended)
	}()
	if err := <-begun; err != nil {
		_ = write.Close()
		return nil, err
	}
	err := s.healthy()
	if err == nil && announces {
		err = <-announced // which it did before, or it has ended
	}
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// healthy waits until the service answers, or has ended.
func (s *service) healthy() error {
	end := time.Now().Add(readyTimeout)
	for {
		err := s.get("/health", end)
		if err == nil {
			return nil
		}
		select {
		case <-s.ended:
			return errors.New("the service ended by itself")
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(end) {
			return fmt.Errorf("not healthy within %v: %w", readyTimeout, err)
		}
	}
}

// get asks once for path.
func (s *service) get(path string, until time.Time) error {
	_, err := s.do("GET", path, nil, until)
	return err
}

func (s *service) do(method, path string, body []byte, until time.Time) (answer, error) {
	c, err := dial(s.address, until)
	if err != nil {
		return answer{}, err
	}
	defer c.Close()
	a, err := c.roundTrip(request(nil, method, s.address, []byte(path), body))
	if err == nil && (a.status < 200 || a.status > 299) {
		err = fmt.Errorf("%s %s: status %d: %s", method, path, a.status, a.body)
	}
	return a, err
}

// stop ends the service as an operator would. What it says on the way out is part of the error, if there is one.
func (s *service) stop() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-s.ended:
	case <-time.After(stopTimeout):
		_ = s.cmd.Process.Kill()
		<-s.ended
	}
	if s.err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w: %s", s.cmd.Path, s.err, strings.TrimSpace(s.output.String()))
}

// freeAddress is an address of this machine on which nobody listens. Somebody else may take it before it is used: the service then
// ends by itself, and the side does not run.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func portOf(address string) string {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return strconv.Itoa(0)
	}
	return port
}
