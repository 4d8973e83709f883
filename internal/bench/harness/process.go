package harness

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

const (
	// startTimeout is for opening a database. A process that has not answered by then is ended.
	startTimeout = 30 * time.Second
	// lateTimeout is what a run may take longer than asked for: preparation, and an operation of some seconds.
	lateTimeout = 60 * time.Second
)

// Command returns the Start function of a side that is a process of its own. command makes the process; its error is the reason
// why the side cannot run.
func Command(command func() (*exec.Cmd, error)) func() (Runner, Info, error) {
	return func() (Runner, Info, error) {
		cmd, err := command()
		if err != nil {
			return nil, Info{}, err
		}
		p, err := startProcess(cmd)
		if err != nil {
			return nil, Info{}, err
		}
		var info Info
		if err := p.answer(&info, startTimeout); err != nil {
			return nil, Info{}, errors.Join(err, p.Close())
		}
		if info.Error != "" {
			return nil, Info{}, errors.Join(errors.New(info.Error), p.Close())
		}
		return p, info, nil
	}
}

// process is a Runner in another process.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *bytes.Buffer
}

func startProcess(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, stderr: new(bytes.Buffer)}
	cmd.Stderr = p.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.out = in, bufio.NewReader(out)
	return p, cmd.Start()
}

// answer reads one line of JSON. A process that does not answer in time is killed, which ends the read.
func (p *process) answer(to any, within time.Duration) error {
	kill := time.AfterFunc(within, func() { _ = p.cmd.Process.Kill() })
	line, err := p.out.ReadBytes('\n')
	if !kill.Stop() {
		return fmt.Errorf("no answer within %v", within)
	}
	if err != nil {
		_ = p.in.Close()
		if waitErr := p.cmd.Wait(); waitErr != nil { // after which stderr is complete
			err = waitErr
		}
		if words := strings.TrimSpace(p.stderr.String()); words != "" {
			err = fmt.Errorf("%w: %s", err, words)
		}
		return err
	}
	return json.Unmarshal(line, to)
}

func (p *process) Run(d time.Duration) (Sample, error) {
	var s Sample
	if _, err := fmt.Fprintf(p.in, "%d\n", d.Milliseconds()); err != nil {
		return s, err
	}
	if err := p.answer(&s, d+lateTimeout); err != nil {
		return s, err
	}
	if s.Error != "" {
		return s, errors.New(s.Error)
	}
	if s.Ops <= 0 || s.Nanos <= 0 {
		return s, fmt.Errorf("%d operations in %d ns", s.Ops, s.Nanos)
	}
	return s, nil
}

func (p *process) Close() error {
	if p.cmd.ProcessState != nil {
		return nil // it has ended, and was waited for
	}
	_ = p.in.Close()
	kill := time.AfterFunc(lateTimeout, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	return p.cmd.Wait()
}

// Serve is the other end of Command, for a side that is written in Go. start gets the side ready; what it cannot do is told to
// the other end.
func Serve(in io.Reader, out io.Writer, start func() (Runner, Info, error)) error {
	answers := json.NewEncoder(out)
	runner, info, err := start()
	if err != nil {
		return answers.Encode(Info{Error: err.Error()})
	}
	if err := answers.Encode(info); err != nil {
		return errors.Join(err, runner.Close())
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var ms int64
		if _, err := fmt.Sscan(lines.Text(), &ms); err != nil {
			return errors.Join(err, runner.Close())
		}
		s, err := runner.Run(time.Duration(ms) * time.Millisecond)
		if err != nil {
			s = Sample{Error: err.Error()}
		}
		if err := answers.Encode(s); err != nil {
			return errors.Join(err, runner.Close())
		}
	}
	return errors.Join(lines.Err(), runner.Close())
}
