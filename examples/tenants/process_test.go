package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
)

// process is the service in a process of its own, and a client for it.
type process struct {
	t    testing.TB
	cmd  *exec.Cmd
	base string
	http *http.Client
}

const clients = 64

func startProcess(t testing.TB, dir string, environment ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: dbtest.Command(t, "tenants", "-addr", "127.0.0.1:0", "-dir", dir)}
	p.cmd.Env = append(p.cmd.Env, environment...)
	logs, log := io.Pipe()
	p.cmd.Stdout = log
	require.NoError(t, p.cmd.Start())
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	p.http = &http.Client{Transport: transport}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait() // an error where the test has waited already
		_ = log.Close()
	})
	p.base = "http://" + listeningAt(t, logs)
	return p
}

// stop ends the process as an operator does.
func (p *process) stop() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(os.Interrupt))
	p.http.CloseIdleConnections() // a server waits five seconds for connections that have not been used at all
	require.NoError(p.t, p.cmd.Wait(), "it ends with status 0")
}

// listeningAt reads the log up to the line that tells the address, and drops the rest.
func listeningAt(t testing.TB, logs io.Reader) string {
	t.Helper()
	lines := bufio.NewScanner(logs)
	for lines.Scan() {
		var line struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "listening" {
			go func() { _, _ = io.Copy(io.Discard, logs) }()
			return line.Address
		}
	}
	require.Fail(t, "the service did not start")
	return ""
}

// do sends a request and reads the answer into v, unless that is nil. A status that is not wanted is an error.
func (p *process) do(method, path, body string, want int, v any) error {
	req, err := http.NewRequest(method, p.base+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := p.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != want {
		return &unwanted{res.StatusCode, string(text)}
	}
	if v == nil {
		return nil
	}
	return json.Unmarshal(text, v)
}

// unwanted is an answer that the service gave, and should not have.
type unwanted struct {
	status int
	body   string
}

func (u *unwanted) Error() string { return fmt.Sprintf("status %d: %s", u.status, u.body) }

// createApps creates n apps and returns their names.
func (p *process) createApps(n int) []string {
	p.t.Helper()
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("app%d", i)
		require.NoError(p.t, p.do("PUT", "/apps/"+names[i], "", http.StatusCreated, nil))
	}
	return names
}

// serviceStats is what GET /stats answers.
type serviceStats struct {
	Apps struct {
		Open, Opens int
	}
	Goroutines int
	RSS        int64 `json:"rss_bytes"`
}

func (p *process) stats() (s serviceStats) {
	p.t.Helper()
	require.NoError(p.t, p.do("GET", "/stats", "", http.StatusOK, &s))
	return s
}
