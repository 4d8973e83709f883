package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
)

// machine is where the service and Litestream run, each as a process, until it is lost.
type machine struct {
	t       *testing.T
	program string // litestream
	dir     string
	db      string
	config  string // of Litestream
	socket  string

	service, replication *exec.Cmd
	base                 string // of the service's URLs
}

// settings make Litestream busy: it looks often, and checkpoints, also with TRUNCATE, all the time.
const settings = `
socket:
  enabled: true
  path: %s
dbs:
  - path: %s
    monitor-interval: 20ms
    checkpoint-interval: 1s
    min-checkpoint-page-count: 100
    truncate-page-n: 400
    replica:
      sync-interval: 50ms
%s`

func newMachine(t *testing.T, replica string) *machine {
	t.Helper()
	dir := t.TempDir()
	m := &machine{
		t: t, program: litestream(t), dir: dir,
		db: filepath.Join(dir, "data", "notes.db"), config: filepath.Join(dir, "litestream.yml"), socket: filepath.Join(dir, "socket"),
	}
	require.NoError(t, os.Mkdir(filepath.Dir(m.db), 0o700))
	require.NoError(t, os.WriteFile(m.config, fmt.Appendf(nil, settings, m.socket, m.db, replica), 0o600))
	t.Cleanup(func() { m.kill() })
	return m
}

// start starts the service, which restores its database where that is missing, and then Litestream.
func (m *machine) start() {
	m.t.Helper()
	m.service = dbtest.Command(m.t, "notes", "-addr", "127.0.0.1:0", "-db", m.db, "-replication", m.config, "-litestream", m.program)
	m.service.Env = environment(m.service.Env)
	address := make(chan string, 1)
	m.service.Stdout = lines(listening(address).Write)
	require.NoError(m.t, m.service.Start())
	select {
	case a := <-address:
		m.base = "http://" + a
	case <-time.After(time.Minute):
		require.Fail(m.t, "the service does not listen")
	}
	m.replication = exec.Command(m.program, "replicate", "-config", m.config)
	m.replication.Env = environment(os.Environ())
	m.replication.Stderr = m.words("replication.log")
	m.replication.Stdout = m.replication.Stderr
	require.NoError(m.t, m.replication.Start())
	require.Eventually(m.t, func() bool { _, err := m.sync(); return err == nil }, time.Minute, 50*time.Millisecond, "Litestream does not run")
}

// sync waits until all that is committed now is in the replica.
func (m *machine) sync() (words string, err error) {
	out, err := exec.Command(m.program, "sync", "-wait", "-socket", m.socket, m.db).CombinedOutput()
	return string(out), err
}

// kill ends both at once, as the loss of the machine does.
func (m *machine) kill() {
	for _, cmd := range []*exec.Cmd{m.service, m.replication} {
		if cmd != nil {
			_ = cmd.Process.Kill()
		}
	}
	for _, cmd := range []*exec.Cmd{m.service, m.replication} {
		if cmd != nil {
			_ = cmd.Wait()
		}
	}
	m.service, m.replication = nil, nil
}

// restore brings the replica into a new file.
func (m *machine) restore() (path string) {
	m.t.Helper()
	path = filepath.Join(m.t.TempDir(), "restored.db")
	cmd := exec.Command(m.program, "restore", "-config", m.config, "-o", path, m.db)
	cmd.Env = environment(os.Environ())
	words, err := cmd.CombinedOutput()
	require.NoError(m.t, err, "%s", words)
	return path
}

// loseDisk removes the database and all that Litestream knew about it.
func (m *machine) loseDisk() {
	require.NoError(m.t, os.RemoveAll(filepath.Dir(m.db)))
	require.NoError(m.t, os.Mkdir(filepath.Dir(m.db), 0o700))
}

func (m *machine) words(name string) io.Writer {
	f, err := os.OpenFile(filepath.Join(m.dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(m.t, err)
	m.t.Cleanup(func() {
		if m.t.Failed() {
			text, _ := os.ReadFile(f.Name())
			m.t.Logf("%s:\n%s", name, text)
		}
		_ = f.Close()
	})
	return f
}

// environment leaves out AWS_CA_BUNDLE: with it Litestream 0.5.18 refuses to speak to any S3 server.
func environment(list []string) (kept []string) {
	for _, entry := range list {
		if !strings.HasPrefix(entry, "AWS_CA_BUNDLE=") {
			kept = append(kept, entry)
		}
	}
	return kept
}

// lines calls a function for each line.
type lines func([]byte) (int, error)

func (l lines) Write(b []byte) (int, error) {
	for line := range bytes.Lines(b) {
		if _, err := l(line); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// load posts notes from several goroutines until the service is gone.
type load struct {
	clients sync.WaitGroup

	mu           sync.Mutex
	acknowledged map[int64]string // text by id
	issued       int              // requests that were begun
	refused      []string
}

func startLoad(base string, acknowledged map[int64]string) *load {
	l := &load{acknowledged: acknowledged, issued: len(acknowledged)}
	for worker := range 4 {
		l.clients.Go(func() {
			for i := 0; l.post(base, fmt.Sprintf("note %d of %d", i, worker)); i++ {
			}
		})
	}
	return l
}

func (l *load) post(base, text string) bool {
	l.mu.Lock()
	l.issued++
	l.mu.Unlock()
	body, _ := json.Marshal(map[string]string{"text": text})
	res, err := http.Post(base+"/notes", "application/json", bytes.NewReader(body))
	if err != nil {
		return false
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return false // killed in the middle of its answer
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var n note
	if res.StatusCode != http.StatusCreated || json.Unmarshal(answer, &n) != nil {
		l.refused = append(l.refused, fmt.Sprintf("%d %s", res.StatusCode, answer))
		return false
	}
	l.acknowledged[n.ID] = n.Text
	return true
}

// count returns how many notes were acknowledged.
func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acknowledged)
}

func (l *load) wait(t *testing.T) {
	t.Helper()
	l.clients.Wait()
	assert.Empty(t, l.refused, "Litestream's checkpoints may hold a writer up, they must not fail it")
}
