package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
)

// replication is one database, its replica and the configuration that connects them.
type replication struct {
	program  string // Litestream
	database string
	config   string
	socket   string
}

// newReplication writes a configuration: replica is the YAML of where copies go, more what else is set for the database.
func newReplication(t *testing.T, database, replica string, more ...string) *replication {
	t.Helper()
	r := &replication{
		program: need(t, findLitestream), database: database,
		config: filepath.Join(t.TempDir(), "litestream.yml"), socket: shortPath(t, "control.sock"),
	}
	text := fmt.Sprintf("socket: {enabled: true, path: %s}\ndbs:\n  - path: %s\n    replica: %s\n", r.socket, database, replica)
	for _, setting := range more {
		text += "    " + setting + "\n"
	}
	require.NoError(t, os.WriteFile(r.config, []byte(text), 0o600))
	return r
}

// shortPath is for sockets, whose names must fit in about a hundred bytes.
func shortPath(t *testing.T, name string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "notes")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, name)
}

func folderReplica(dir string) string {
	return fmt.Sprintf("{type: file, path: %s, sync-interval: 100ms}", dir)
}

// start runs Litestream until kill is called, which is what SIGKILL is to it, and until the test ends at the latest.
func (r *replication) start(t *testing.T) (kill func()) {
	t.Helper()
	var log buffer
	c := dbtest.Command(t, "guard", r.program, "replicate", "-config", r.config)
	c.Stdout, c.Stderr = &log, &log
	stdin, err := c.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	kill = sync.OnceFunc(func() {
		_ = stdin.Close()
		if err := c.Wait(); err != nil {
			t.Errorf("Litestream ended by itself: %v", err)
		}
		if t.Failed() {
			t.Logf("Litestream said:\n%s", log.String())
		}
	})
	t.Cleanup(kill)
	return kill
}

// guard runs a program, and kills it as soon as standard input ends: as the caller wants, or since the caller is no more.
func guard(args []string) {
	c := exec.Command(args[0], args[1:]...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	if err := c.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Wait()
	}()
	told := make(chan struct{})
	go func() {
		defer close(told)
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	select {
	case <-told:
		_ = c.Process.Kill()
		<-ended
	case <-ended:
		fmt.Fprintln(os.Stderr, c.ProcessState)
		os.Exit(1)
	}
}

// sync waits until all that is committed now has reached the replica, and returns the number of the last transaction there.
func (r *replication) sync(ctx context.Context) (txid uint64, err error) {
	out, err := exec.CommandContext(ctx, r.program, "sync", "-socket", r.socket, "-wait", "-json", r.database).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("litestream sync: %w: %s", err, out)
	}
	var result struct {
		TXID    uint64 `json:"txid"`
		Replica uint64 `json:"replica_txid"`
	}
	if err := json.Unmarshal(out, &result); err != nil {
		return 0, fmt.Errorf("litestream sync: %w: %s", err, out)
	}
	if result.Replica == 0 || result.Replica < result.TXID {
		return 0, fmt.Errorf("litestream sync: the replica is behind: %s", out)
	}
	return result.Replica, nil
}

// waitSynced is sync for a Litestream that may still be starting.
func (r *replication) waitSynced(t *testing.T) (txid uint64) {
	t.Helper()
	var last error
	eventually(t, func() bool {
		txid, last = r.sync(t.Context())
		return last == nil
	}, "synced")
	return txid
}

// restore brings the database back from the replica, into a new file.
func (r *replication) restore(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "restored.db")
	out, err := exec.Command(r.program, "restore", "-config", r.config, "-integrity-check", "full", "-o", path, r.database).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.FileExists(t, path, "%s", out)
	return path
}

func eventually(t *testing.T, condition func() bool, what string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !condition(); time.Sleep(10 * time.Millisecond) {
		if t.Context().Err() != nil || time.Now().After(deadline) {
			require.FailNow(t, "did not come true", what)
		}
	}
}

// s3Replica starts a server that lives as long as the test.
func s3Replica(t *testing.T) string {
	t.Helper()
	const bucket = "notes"
	c := exec.Command(need(t, findS3Server), bucket)
	c.Stderr = os.Stderr
	stdin, err := c.StdinPipe()
	require.NoError(t, err)
	stdout, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = c.Wait()
	})
	line := make([]byte, 64)
	n, err := stdout.Read(line)
	require.NoError(t, err)
	return fmt.Sprintf("{type: s3, bucket: %s, path: db, endpoint: 'http://%s', region: us-east-1, force-path-style: true, "+
		"access-key-id: key, secret-access-key: secret, sync-interval: 100ms}", bucket, strings.TrimSpace(string(line[:n])))
}

// buffer takes the log of a process while the test may read it.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
