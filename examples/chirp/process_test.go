package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/examples/chirp/social"
	"github.com/sanelite/sanelite/internal/dbtest"
)

// The test binary can run as the program itself, to be killed.
func TestMain(m *testing.M) {
	dbtest.Main(m, map[string]dbtest.Child{"chirp": func([]string) { main() }})
}

// service is chirp as a process.
type service struct {
	*exec.Cmd
	base string
}

func startService(t *testing.T, path string) service {
	t.Helper()
	cmd := dbtest.Command(t, "chirp", "-addr", "127.0.0.1:0", "-db", path)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var entry struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Msg == "listening" {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			_, _, err := net.SplitHostPort(entry.Address)
			require.NoError(t, err)
			return service{cmd, "http://" + entry.Address}
		}
	}
	require.Fail(t, "the service does not listen")
	return service{}
}

func (s service) post(path, body string, into any) error {
	res, err := http.Post(s.base+path, "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusCreated {
		return fmt.Errorf("%d: %s", res.StatusCode, bytes.TrimSpace(text))
	}
	return json.Unmarshal(text, into)
}

// A service that is killed, or told to stop, in the middle of posting has every post that it acknowledged, mention and all.
func TestAcknowledgedPostsSurviveTheEndOfTheService(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "stopped": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "chirp.db")
			s := startService(t, path)
			require.NoError(t, s.post("/users", `{"handle": "ann", "name": "Ann"}`, new(social.User)))
			var mu sync.Mutex
			acknowledged := map[int64]string{}
			var clients sync.WaitGroup
			for worker := range 4 {
				clients.Go(func() {
					for i := 0; ; i++ {
						var p social.Post
						body := fmt.Sprintf("post %d of %d @ann", i, worker)
						if s.post("/users/ann/posts", fmt.Sprintf(`{"body": %q}`, body), &p) != nil {
							return // it has ended
						}
						mu.Lock()
						acknowledged[p.ID] = body
						mu.Unlock()
					}
				})
			}
			require.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(acknowledged) > 200 }, time.Minute, time.Millisecond)
			require.NoError(t, s.Process.Signal(signal))
			clients.Wait()
			err := s.Wait()
			if signal == syscall.SIGTERM {
				require.NoError(t, err)
				assert.NoFileExists(t, path+"-wal")
			}
			n, err := social.Open(t.Context(), path, nil)
			require.NoError(t, err)
			defer func() { assert.NoError(t, n.Close(context.Background())) }()
			require.NoError(t, n.DB().Check(t.Context()))
			mentions := map[int64]string{}
			for before := int64(0); ; {
				page, err := n.Mentions(t.Context(), 1, before, 100)
				require.NoError(t, err)
				if len(page) == 0 {
					break
				}
				for _, p := range page {
					mentions[p.ID], before = p.Body, p.ID
				}
			}
			for id, body := range acknowledged {
				assert.Equal(t, body, mentions[id])
			}
		})
	}
}

// A command that is killed has made nothing under the name that was asked for, and is run again without tidying up by hand.
func TestASeedThatIsKilledIsNoObstacleToTheNext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "chirp.db")
	cmd := dbtest.Command(t, "chirp", "seed", "-db", path, "-users", "1000", "-posts", "200000", "-follows", "0", "-likes", "0")
	cmd.Stderr = nil
	out, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	for lines := bufio.NewScanner(out); lines.Scan() && !strings.HasPrefix(lines.Text(), "posts"); {
	}
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	assert.NoFileExists(t, path)

	cfg, err := parseConfig([]string{"seed", "-db", path, "-users", "100", "-posts", "1000", "-follows", "500", "-likes", "900"}, noEnvironment)
	require.NoError(t, err)
	require.NoError(t, run(t.Context(), cfg, slog.New(slog.DiscardHandler)))
	dbtest.Verify(t, path)
	files, err = os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, files, 1, "what the first one left is gone")
}
