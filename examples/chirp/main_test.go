package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/examples/chirp/social"
	"github.com/sanelite/sanelite/internal/dbtest"
)

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
