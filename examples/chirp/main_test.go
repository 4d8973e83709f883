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
	"net/http/httptest"
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

func noEnvironment(string) string { return "" }

func testAPI(t testing.TB) http.Handler {
	t.Helper()
	n, err := social.Open(t.Context(), dbtest.Path(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, n.Close(context.Background())) })
	cfg, err := parseConfig(nil, noEnvironment)
	require.NoError(t, err)
	return newAPI(n, cfg, slog.New(slog.DiscardHandler))
}

func call(h http.Handler, method, path, body string) (status int, text string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if strings.HasPrefix(path, "/at/") {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, r)
	return answer.Code, strings.TrimSpace(answer.Body.String())
}

func TestFlagsOverrideTheEnvironmentWhichOverridesDefaults(t *testing.T) {
	t.Parallel()
	environment := map[string]string{"CHIRP_DB": "env.db", "CHIRP_ADDR": "env:1", "CHIRP_USERS": "7", "CHIRP_LOG_LEVEL": "WARN"}
	cfg, err := parseConfig([]string{"seed", "-addr", "flag:2"}, func(name string) string { return environment[name] })
	require.NoError(t, err)
	want := config{
		command: "seed", address: "flag:2", database: "env.db", logLevel: slog.LevelWarn,
		requestTimeout: 5 * time.Second, shutdownTimeout: 10 * time.Second, sizes: social.DefaultSizes,
	}
	want.sizes.Users = 7
	assert.Equal(t, want, cfg)
	for _, args := range [][]string{{"dance"}, {"serve", "stray"}, {"-request-timeout", "0s"}, {"-posts", "many"}} {
		_, err := parseConfig(args, noEnvironment)
		assert.Error(t, err, "%v", args)
	}
}

// The calls build on one another.
func TestTheAPI(t *testing.T) {
	t.Parallel()
	h := testAPI(t)
	for _, step := range []struct {
		method, path, body string
		status             int
		contains           string
	}{
		{"GET", "/health", "", 200, `"ok"`},
		{"POST", "/users", `{"handle": "ann", "name": "Ann"}`, 201, `"handle":"ann"`},
		{"POST", "/users", `{"handle": "bob", "name": "Bob"}`, 201, `"id":2`},
		{"POST", "/users", `{"handle": "ANN", "name": "Ann"}`, 409, "taken"},
		{"POST", "/users", `{"handle": "a b", "name": "x"}`, 400, "invalid"},
		{"POST", "/users", `{"handel": "x"}`, 400, "unknown field"},
		{"POST", "/users", `{`, 400, "JSON"},
		{"GET", "/users/bob", "", 200, `"followers":0`},
		{"GET", "/users/nobody", "", 404, "no such user"},
		{"PUT", "/users/ann/follows/bob", "", 204, ""},
		{"PUT", "/users/ann/follows/bob", "", 204, ""},
		{"PUT", "/users/ann/follows/nobody", "", 404, "no such user"},
		{"PUT", "/users/ann/follows/ann", "", 400, "themselves"},
		{"GET", "/users/ann/timeline", "", 200, `{"posts":[]}`},
		{"POST", "/users/bob/posts", `{"body": "hello @ann"}`, 201, `"id":1`},
		{"POST", "/users/bob/posts", `{"body": "again"}`, 201, `"id":2`},
		{"POST", "/users/bob/posts", `{"body": " "}`, 400, "characters"},
		{"POST", "/users/nobody/posts", `{"body": "x"}`, 404, "no such user"},
		{"PUT", "/users/ann/likes/1", "", 204, ""},
		{"PUT", "/users/ann/likes/99", "", 404, "no such post"},
		{"PUT", "/users/ann/likes/first", "", 404, "no such post"},
		{"GET", "/posts/1", "", 200, `"likes":1`},
		{"GET", "/posts/99", "", 404, "no such post"},
		{"GET", "/users/ann/timeline?limit=1", "", 200, `"body":"again"`},
		{"GET", "/users/ann/timeline?limit=1", "", 200, `"next":2`},
		{"GET", "/users/ann/timeline?limit=1&before=2", "", 200, `"body":"hello @ann"`},
		{"GET", "/users/ann/timeline?limit=0", "", 400, "limit"},
		{"GET", "/users/ann/timeline?before=x", "", 400, "before"},
		{"GET", "/users/ann/mentions", "", 200, "hello @ann"},
		{"GET", "/users/bob/posts", "", 200, "again"},
		{"DELETE", "/users/ann/likes/1", "", 204, ""},
		{"GET", "/posts/1", "", 200, `"likes":0`},
		{"DELETE", "/users/ann/follows/bob", "", 204, ""},
		{"GET", "/users/ann/timeline", "", 200, `{"posts":[]}`},
		{"GET", "/nowhere", "", 404, "nothing at this path"},
		{"PATCH", "/users/ann", "", 405, ""},
	} {
		status, text := call(h, step.method, step.path, step.body)
		require.Equal(t, step.status, status, "%s %s: %s", step.method, step.path, text)
		assert.Contains(t, text, step.contains, "%s %s", step.method, step.path)
	}
}

func TestThePageEscapesWhatPeopleWriteAndTakesForms(t *testing.T) {
	t.Parallel()
	h := testAPI(t)
	for _, user := range []string{`{"handle": "ann", "name": "<i>Ann</i>"}`, `{"handle": "bob", "name": "Bob"}`} {
		status, _ := call(h, "POST", "/users", user)
		require.Equal(t, 201, status)
	}
	status, _ := call(h, "PUT", "/users/bob/follows/ann", "")
	require.Equal(t, 204, status)
	status, text := call(h, "POST", "/at/ann", "body=%3Cscript%3Ealert(1)%3C%2Fscript%3E")
	require.Equal(t, http.StatusSeeOther, status, text)
	status, _ = call(h, "POST", "/at/bob", "like=1")
	require.Equal(t, http.StatusSeeOther, status)
	status, text = call(h, "GET", "/at/bob", "")
	require.Equal(t, http.StatusOK, status)
	assert.Contains(t, text, "&lt;script&gt;alert(1)&lt;/script&gt;")
	assert.Contains(t, text, "&lt;i&gt;Ann&lt;/i&gt;")
	assert.Contains(t, text, `<span class="likes">1</span>`)
	assert.NotContains(t, text, "<script")

	status, text = call(h, "POST", "/at/ann", "body="+strings.Repeat("x", social.LongestBody+1))
	assert.Equal(t, http.StatusBadRequest, status)
	assert.Contains(t, text, strings.Repeat("x", social.LongestBody+1), "what was refused is not lost")
	status, _ = call(h, "POST", "/at/ann", "like=99")
	assert.Equal(t, http.StatusNotFound, status)
	status, _ = call(h, "GET", "/at/nobody", "")
	assert.Equal(t, http.StatusNotFound, status)
	status, text = call(h, "GET", "/", "")
	assert.Equal(t, http.StatusOK, status, text)

	r := httptest.NewRequest("POST", "/at/ann", strings.NewReader("body=forged"))
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, r)
	assert.Equal(t, http.StatusNotFound, answer.Code, "a form of another site")
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

func TestSeedingByCommand(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "chirp.db")
	args := []string{"seed", "-db", path, "-users", "100", "-posts", "1000", "-follows", "500", "-likes", "900"}
	cfg, err := parseConfig(args, noEnvironment)
	require.NoError(t, err)
	require.NoError(t, run(t.Context(), cfg, slog.New(slog.DiscardHandler)))
	dbtest.Verify(t, path)
	require.ErrorContains(t, run(t.Context(), cfg, slog.New(slog.DiscardHandler)), "exist")
}
