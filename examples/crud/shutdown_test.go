package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
)

// load posts users from several goroutines until the service answers no more, and remembers what was acknowledged.
type load struct {
	clients sync.WaitGroup
	enough  chan struct{} // closed when the service is well under way

	mu           sync.Mutex
	acknowledged map[int64]string // email by id
	refused      []string         // answers other than 201
}

const enoughUsers = 100

func startLoad(base string) *load {
	l := &load{enough: make(chan struct{}), acknowledged: map[int64]string{}}
	for worker := range 8 {
		l.clients.Go(func() {
			for i := 0; l.post(base, fmt.Sprintf("user%d-%d@example.com", worker, i)); i++ {
			}
		})
	}
	return l
}

// post reports whether the service is still there.
func (l *load) post(base, email string) bool {
	body := fmt.Sprintf(`{"name": "User", "email": %q}`, email)
	res, err := http.Post(base+"/users", "application/json", strings.NewReader(body))
	if err != nil {
		return false
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	l.mu.Lock()
	defer l.mu.Unlock()
	var u user
	if res.StatusCode != http.StatusCreated || err != nil || json.Unmarshal(text, &u) != nil {
		l.refused = append(l.refused, fmt.Sprintf("%d %s %v", res.StatusCode, text, err))
		return false
	}
	l.acknowledged[u.ID] = u.Email
	if len(l.acknowledged) == enoughUsers {
		close(l.enough)
	}
	return true
}

// verify waits for the clients and looks for all acknowledged users in the database that the service has closed.
func (l *load) verify(t *testing.T, path string) {
	t.Helper()
	l.clients.Wait()
	assert.Empty(t, l.refused, "a shutdown refuses connections, never a request that it took")
	db := dbtest.OpenAt(t, path, nil, "")
	stored := map[int64]string{}
	for u, err := range sqlitex.Each[user](context.Background(), db, `SELECT `+columns+` FROM users`) {
		require.NoError(t, err)
		stored[u.ID] = u.Email
	}
	assert.GreaterOrEqual(t, len(stored), enoughUsers)
	for id, email := range l.acknowledged {
		assert.Equal(t, email, stored[id], "user %d was acknowledged", id)
	}
}

// running starts the service in this process, on a port of its own.
func running(t *testing.T, cfg config) (base string, stop context.CancelFunc, stopped <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	logs, log := io.Pipe()
	result := make(chan error, 1)
	go func() {
		result <- run(ctx, cfg, slog.New(slog.NewJSONHandler(log, nil)))
		log.Close()
	}()
	return "http://" + listeningAt(t, logs), cancel, result
}

// listeningAt reads the log up to the line that tells the address, and drops the rest.
func listeningAt(t *testing.T, logs io.Reader) string {
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

func TestShutdownUnderLoadLosesNothingThatWasAcknowledged(t *testing.T) {
	cfg := testConfig(t)
	base, stop, stopped := running(t, cfg)
	l := startLoad(base)
	<-l.enough
	stop()
	require.NoError(t, <-stopped)
	l.verify(t, cfg.database)
}

func TestSignalsStopTheProcessCleanly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals to send")
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			cfg := testConfig(t)
			c := dbtest.Command(t, "crud", "-addr", "127.0.0.1:0", "-db", cfg.database)
			logs, log := io.Pipe()
			defer log.Close()
			c.Stdout = log
			require.NoError(t, c.Start())
			t.Cleanup(func() { _ = c.Process.Kill() })
			l := startLoad("http://" + listeningAt(t, logs))
			<-l.enough
			require.NoError(t, c.Process.Signal(signal))
			require.NoError(t, c.Wait(), "it ends with status 0")
			l.verify(t, cfg.database)
		})
	}
}

func TestWrongFlagsEndTheProcessWithStatus2(t *testing.T) {
	c := dbtest.Command(t, "crud", "-max-body", "-1")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	var exit *exec.ExitError
	require.ErrorAs(t, c.Run(), &exit)
	assert.Equal(t, 2, exit.ExitCode())
	assert.Contains(t, stderr.String(), "must be positive")
}

func TestShutdownDoesNotWaitForEverForAClient(t *testing.T) {
	cfg := testConfig(t)
	cfg.shutdownTimeout = 50 * time.Millisecond
	base, stop, stopped := running(t, cfg)
	// A client that promises a body and never sends it.
	c, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	require.NoError(t, err)
	defer c.Close()
	_, err = fmt.Fprint(c, "POST /users HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n")
	require.NoError(t, err)
	line, err := bufio.NewReader(c).ReadString('\n') // the handler reads the body now
	require.NoError(t, err)
	require.Contains(t, line, "100 Continue")
	stop()
	err = <-stopped
	assert.True(t, errors.Is(err, context.DeadlineExceeded), "%v", err)
}
