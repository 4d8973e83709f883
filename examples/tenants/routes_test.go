package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/examples/tenants/apps"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// client talks to a service over real HTTP.
type client struct {
	t        testing.TB
	base     string
	registry *apps.Registry
	log      *lockedBuffer
}

func newClient(t testing.TB, level slog.Level, flags ...string) *client {
	t.Helper()
	cfg := testConfig(t, flags...)
	log := &lockedBuffer{}
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: level}))
	registry, err := apps.New(cfg.dir, registryOptions(cfg, logger))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, registry.Close(context.Background())) })
	server := httptest.NewServer(newAPI(registry, cfg, logger))
	t.Cleanup(server.Close)
	return &client{t: t, base: server.URL, registry: registry, log: log}
}

// lockedBuffer may be read while requests are under way.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

func (c *client) do(method, path, body string) answer {
	c.t.Helper()
	req, err := http.NewRequest(method, c.base+path, strings.NewReader(body))
	require.NoError(c.t, err)
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	res, err := http.DefaultClient.Do(req)
	require.NoError(c.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(c.t, err)
	return answer{res.StatusCode, res.Header, string(text)}
}

// code is that of the error in the answer.
func (a answer) code() string {
	var p struct{ Error problem }
	_ = json.Unmarshal([]byte(a.body), &p)
	return p.Error.Code
}

func decode[T any](t testing.TB, a answer) (v T) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(a.body), &v), "%d %s", a.status, a.body)
	return v
}

func TestRequestsInOrderGetTheirAnswers(t *testing.T) {
	t.Parallel()
	c := newClient(t, slog.LevelInfo)
	long := strings.Repeat("x", longestTitle)
	for i, step := range []struct {
		method, path, body string
		status             int
		code               string // of the error, where it is one
	}{
		{"GET", "/health", "", 200, ""},
		{"GET", "/apps", "", 200, ""},
		{"GET", "/apps/shop/items", "", 404, "no_such_app"},
		{"POST", "/apps/shop/items", `{"title": "T"}`, 404, "no_such_app"},
		{"DELETE", "/apps/shop", "", 404, "no_such_app"},
		{"GET", "/apps/shop/stats", "", 404, "no_such_app"},
		{"PUT", "/apps/shop", "", 201, ""},
		{"PUT", "/apps/shop", "", 200, ""},
		{"PUT", "/apps/Shop", "", 400, "invalid_name"},
		{"PUT", "/apps/-", "", 400, "invalid_name"},
		{"PUT", "/apps/..%2Fup", "", 400, "invalid_name"},
		{"PUT", "/apps/%2E%2E", "", 400, "invalid_name"},
		{"GET", "/apps/shop.db/items", "", 400, "invalid_name"},
		{"DELETE", "/apps/a%00", "", 400, "invalid_name"},
		{"GET", "/apps/shop/items", "", 200, ""},
		{"GET", "/apps/shop/items/1", "", 404, "not_found"},
		{"POST", "/apps/shop/items", `{"title": " T ", "body": "B"}`, 201, ""},
		{"GET", "/apps/shop/items/1", "", 200, ""},
		{"PUT", "/apps/shop/items/1", `{"title": "New"}`, 200, ""},
		{"PUT", "/apps/shop/items/2", `{"title": "New"}`, 404, "not_found"},
		{"PUT", "/apps/shop/items/1", `{"title": " "}`, 422, "invalid"},
		{"POST", "/apps/shop/items", `{"title": "` + long + `"}`, 201, ""},
		{"POST", "/apps/shop/items", `{"title": "` + long + `x"}`, 422, "invalid"},
		{"POST", "/apps/shop/items", `{"titel": "T"}`, 400, "malformed"},
		{"POST", "/apps/shop/items", `{"title": "T"} {}`, 400, "malformed"},
		{"POST", "/apps/shop/items", `{"title": "T", "body": "` + strings.Repeat("x", 256<<10) + `"}`, 413, "too_large"},
		{"GET", "/apps/shop/items?limit=0", "", 400, "invalid_parameter"},
		{"GET", "/apps/shop/items?after=-1", "", 400, "invalid_parameter"},
		{"GET", "/apps?limit=101", "", 400, "invalid_parameter"},
		{"GET", "/apps/shop/items/abc", "", 404, "not_found"},
		{"GET", "/apps/shop/items/99999999999999999999", "", 404, "not_found"},
		{"GET", "/apps/shop/stats", "", 200, ""},
		{"DELETE", "/apps/shop/items/1", "", 204, ""},
		{"DELETE", "/apps/shop/items/1", "", 404, "not_found"},
		{"PATCH", "/apps/shop/items/2", "", 405, "method_not_allowed"},
		{"POST", "/apps", "", 405, "method_not_allowed"},
		{"GET", "/nothing", "", 404, "not_found"},
		{"GET", "/stats", "", 200, ""},
		{"DELETE", "/apps/shop", "", 204, ""},
		{"GET", "/apps/shop/items/2", "", 404, "no_such_app"},
		{"PUT", "/apps/shop", "", 201, ""},
		{"GET", "/apps/shop/items/2", "", 404, "not_found"},
	} {
		a := c.do(step.method, step.path, step.body)
		about := fmt.Sprintf("step %d: %s %s: %.200s", i, step.method, step.path, a.body)
		assert.Equal(t, step.status, a.status, about)
		assert.Equal(t, step.code, a.code(), about)
		if a.status != http.StatusNoContent {
			assert.Equal(t, "application/json", a.header.Get("Content-Type"), about)
		}
	}
	assert.NotContains(t, c.log.String(), "level=ERROR")
}

func TestAnItemComesBackAsItWasWritten(t *testing.T) {
	t.Parallel()
	c := newClient(t, slog.LevelInfo)
	require.Equal(t, 201, c.do("PUT", "/apps/a", "").status)
	before := time.Now().Add(-time.Second)
	body, err := json.Marshal(itemInput{Title: "Grüße ✓", Body: "line\n\"quoted\" \u0000 end"})
	require.NoError(t, err)
	created := c.do("POST", "/apps/a/items", string(body))
	require.Equal(t, 201, created.status, created.body)
	assert.Equal(t, "/apps/a/items/1", created.header.Get("Location"))
	assert.JSONEq(t, `{"id": 1}`, created.body)
	got := decode[item](t, c.do("GET", created.header.Get("Location"), ""))
	assert.Equal(t, "Grüße ✓", got.Title)
	assert.Equal(t, "line\n\"quoted\" \u0000 end", got.Body)
	assert.WithinRange(t, got.CreatedAt, before, time.Now().Add(time.Second))
	assert.Equal(t, got.CreatedAt, got.UpdatedAt)
	updated := decode[item](t, c.do("PUT", "/apps/a/items/1", `{"title": "Other", "body": ""}`))
	assert.Equal(t, item{ID: 1, Title: "Other", CreatedAt: got.CreatedAt, UpdatedAt: updated.UpdatedAt}, updated)
	assert.False(t, updated.UpdatedAt.Before(got.UpdatedAt))
}

func TestAppsDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	c := newClient(t, slog.LevelInfo, "-max-open", "2")
	const n = 5
	for i := range n {
		app := fmt.Sprintf("/apps/app%d", i)
		require.Equal(t, 201, c.do("PUT", app, "").status)
		for range i {
			require.Equal(t, 201, c.do("POST", app+"/items", fmt.Sprintf(`{"title": "of %d"}`, i)).status)
		}
	}
	for i := range n {
		app := fmt.Sprintf("/apps/app%d", i)
		list := decode[itemPage](t, c.do("GET", app+"/items", "")).Items
		assert.Len(t, list, i)
		for _, it := range list {
			assert.Equal(t, fmt.Sprintf("of %d", i), it.Title)
		}
		assert.Equal(t, int64(i), decode[appStats](t, c.do("GET", app+"/stats", "")).Items)
	}
	var s serviceStats
	require.NoError(t, json.Unmarshal([]byte(c.do("GET", "/stats", "").body), &s))
	assert.Equal(t, 2, s.Apps.Open)
	assert.Greater(t, s.Apps.Opens, n)
}

func TestPagesFollowEachOtherToTheEnd(t *testing.T) {
	t.Parallel()
	c := newClient(t, slog.LevelInfo)
	var names []string
	for i := range 5 {
		names = append(names, fmt.Sprintf("app%d", i))
		require.Equal(t, 201, c.do("PUT", "/apps/"+names[i], "").status)
		require.Equal(t, 201, c.do("POST", "/apps/app0/items", `{"title": "T"}`).status)
	}
	var listed []string
	for after := ""; ; {
		p := decode[appPage](t, c.do("GET", "/apps?limit=2&after="+after, ""))
		for _, a := range p.Apps {
			listed = append(listed, a.Name)
		}
		if after = p.Next; after == "" {
			break
		}
	}
	assert.Equal(t, names, listed)
	var ids []int64
	for after := int64(0); ; {
		p := decode[itemPage](t, c.do("GET", fmt.Sprintf("/apps/app0/items?limit=2&after=%d", after), ""))
		for _, it := range p.Items {
			ids = append(ids, it.ID)
		}
		if after = p.Next; after == 0 {
			break
		}
	}
	assert.Equal(t, []int64{1, 2, 3, 4, 5}, ids)
}

func TestAnAppThatIsBeingDeletedAnswers409(t *testing.T) {
	t.Parallel()
	c := newClient(t, slog.LevelInfo)
	require.Equal(t, 201, c.do("PUT", "/apps/a", "").status)
	var gone answer
	err := c.registry.Use(t.Context(), "a", func(*sqlitex.DB) error {
		var deletes sync.WaitGroup
		defer deletes.Wait()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		deletes.Go(func() { _ = c.registry.Delete(ctx, "a") }) // waits for this function, until it is cancelled
		for gone = c.do("GET", "/apps/a/items", ""); gone.status == 200; gone = c.do("GET", "/apps/a/items", "") {
		}
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, 409, gone.status)
	assert.Equal(t, "deleting", gone.code())
	assert.Equal(t, 200, c.do("GET", "/apps/a/items", "").status, "the deletion was given up")
}

func TestARequestThatWaitsTooLongIsToldToTryAgain(t *testing.T) {
	t.Parallel()
	c := newClient(t, slog.LevelInfo, "-max-open", "1", "-request-timeout", "30ms")
	for _, name := range []string{"a", "b"} {
		_, err := c.registry.Create(t.Context(), name) // not by a request: those have little time here
		require.NoError(t, err)
	}
	err := c.registry.Use(t.Context(), "a", func(db *sqlitex.DB) error {
		other := c.do("GET", "/apps/b/items", "")
		assert.Equal(t, 503, other.status, "all places are taken")
		assert.Equal(t, "1", other.header.Get("Retry-After"))
		return db.Write(t.Context(), func(*tx.Writer) error {
			assert.Equal(t, 503, c.do("POST", "/apps/a/items", `{"title": "T"}`).status, "somebody else writes")
			return nil
		})
	})
	require.NoError(t, err)
}

func TestAClosedRegistryIsNotHealthy(t *testing.T) {
	t.Parallel()
	c := newClient(t, slog.LevelInfo)
	require.Equal(t, 201, c.do("PUT", "/apps/a", "").status)
	require.NoError(t, c.registry.Close(t.Context()))
	for _, path := range []string{"/health", "/apps/a/items"} {
		a := c.do("GET", path, "")
		assert.Equal(t, 503, a.status)
		assert.Equal(t, "shutting_down", a.code())
	}
}

func TestRequestsAreLoggedAtDebugOnly(t *testing.T) {
	t.Parallel()
	quiet, loud := newClient(t, slog.LevelInfo), newClient(t, slog.LevelDebug)
	for _, c := range []*client{quiet, loud} {
		require.Equal(t, 201, c.do("PUT", "/apps/a", "").status)
		require.Equal(t, 404, c.do("GET", "/apps/b/items", "").status)
	}
	assert.NotContains(t, quiet.log.String(), "msg=request")
	assert.Contains(t, loud.log.String(), "msg=request method=GET path=/apps/b/items status=404")
}
