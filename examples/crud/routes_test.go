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

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// client talks to a service over real HTTP.
type client struct {
	t    testing.TB
	base string
	db   *sqlitex.DB
	log  *lockedBuffer // what the service logged
}

func newClient(t testing.TB, options *sqlitex.Options, change func(*config)) *client {
	t.Helper()
	cfg := testConfig(t)
	if change != nil {
		change(&cfg)
	}
	db := dbtest.OpenAt(t, cfg.database, options, "")
	store, err := openUsers(context.Background(), db)
	require.NoError(t, err)
	log := &lockedBuffer{}
	server := httptest.NewServer(newAPI(store, db, cfg, slog.New(slog.NewTextHandler(log, nil))))
	t.Cleanup(server.Close)
	return &client{t: t, base: server.URL, db: db, log: log}
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
	b, err := io.ReadAll(res.Body)
	require.NoError(c.t, err)
	return answer{res.StatusCode, res.Header, string(b)}
}

func into[T any](t testing.TB, a answer) (v T) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(a.body), &v), a.body)
	return v
}

// problem returns the error that an answer carries.
func (a answer) problem(t testing.TB) problem {
	t.Helper()
	assert.Equal(t, "application/json", a.header.Get("Content-Type"))
	return into[struct{ Error problem }](t, a).Error
}

func TestUserLivesFromPostToDelete(t *testing.T) {
	c := newClient(t, nil, nil)
	before := time.Now()
	created := c.do("POST", "/users", `{"name": " Robin ", "email": "robin@example.com"}`)
	require.Equal(t, http.StatusCreated, created.status, created.body)
	assert.Equal(t, "/users/1", created.header.Get("Location"))
	u := into[user](t, created)
	assert.Equal(t, "Robin", u.Name, "blanks go")
	assert.WithinRange(t, u.CreatedAt, before, time.Now())

	got := c.do("GET", "/users/1", "")
	assert.Equal(t, http.StatusOK, got.status)
	assert.Equal(t, u, into[user](t, got))

	put := c.do("PUT", "/users/1", `{"name": "Robin B.", "email": "robin@example.com"}`)
	assert.Equal(t, http.StatusOK, put.status)
	changed := into[user](t, put)
	assert.Equal(t, "Robin B.", changed.Name)
	assert.Equal(t, u.CreatedAt, changed.CreatedAt)
	assert.True(t, changed.UpdatedAt.After(u.UpdatedAt))

	gone := c.do("DELETE", "/users/1", "")
	assert.Equal(t, http.StatusNoContent, gone.status)
	assert.Empty(t, gone.body)
	for _, a := range []answer{
		c.do("GET", "/users/1", ""),
		c.do("DELETE", "/users/1", ""),
		c.do("PUT", "/users/1", `{"name": "Robin", "email": "robin@example.com"}`),
	} {
		assert.Equal(t, http.StatusNotFound, a.status)
		assert.Equal(t, "not_found", a.problem(t).Code)
	}
	next := into[user](t, c.do("POST", "/users", `{"name": "Robin", "email": "robin@example.com"}`))
	assert.EqualValues(t, 2, next.ID, "ids are not used again")
}

func TestListGoesOnBehindTheLastID(t *testing.T) {
	c := newClient(t, nil, nil)
	for i := range 45 {
		a := c.do("POST", "/users", fmt.Sprintf(`{"name": "User", "email": "user%d@example.com"}`, i))
		require.Equal(t, http.StatusCreated, a.status)
	}
	var sizes []int
	seen := map[int64]bool{}
	path := "/users"
	for {
		p := into[userPage](t, c.do("GET", path, ""))
		sizes = append(sizes, len(p.Users))
		for _, u := range p.Users {
			assert.False(t, seen[u.ID])
			seen[u.ID] = true
		}
		if p.Next == 0 {
			break
		}
		path = fmt.Sprintf("/users?limit=20&after=%d", p.Next)
	}
	assert.Equal(t, []int{20, 20, 5}, sizes)
	assert.Len(t, seen, 45)
	assert.Equal(t, `{"users":[]}`+"\n", c.do("GET", "/users?after=45", "").body, "an empty list, not null")
}

func TestRequestsThatMakeNoSenseAreExplained(t *testing.T) {
	c := newClient(t, nil, func(cfg *config) { cfg.maxBody = 300 })
	for name, test := range map[string]struct {
		method, path, body string
		status             int
		code               string
		field              string
	}{
		"no JSON":            {"POST", "/users", `{"name": `, 400, "malformed", ""},
		"unknown field":      {"POST", "/users", `{"name": "A", "email": "a@example.com", "admin": true}`, 400, "malformed", ""},
		"wrong type":         {"POST", "/users", `{"name": 1}`, 400, "malformed", ""},
		"two values":         {"POST", "/users", `{"name": "A", "email": "a@example.com"} {}`, 400, "malformed", ""},
		"no body":            {"POST", "/users", ``, 400, "malformed", ""},
		"large body":         {"POST", "/users", `{"name": "` + strings.Repeat("x", 300) + `"}`, 413, "too_large", ""},
		"large tail":         {"POST", "/users", `{"name": "A", "email": "a@example.com"}` + strings.Repeat(" ", 300), 413, "too_large", ""},
		"name missing":       {"POST", "/users", `{"email": "a@example.com"}`, 422, "invalid", "name"},
		"name too long":      {"POST", "/users", `{"name": "` + strings.Repeat("x", 101) + `", "email": "a@example.com"}`, 422, "invalid", "name"},
		"email missing":      {"PUT", "/users/1", `{"name": "A"}`, 422, "invalid", "email"},
		"email is none":      {"POST", "/users", `{"name": "A", "email": "nonsense"}`, 422, "invalid", "email"},
		"email with a name":  {"POST", "/users", `{"name": "A", "email": "A <a@example.com>"}`, 422, "invalid", "email"},
		"limit zero":         {"GET", "/users?limit=0", "", 400, "invalid_parameter", "limit"},
		"limit too large":    {"GET", "/users?limit=101", "", 400, "invalid_parameter", "limit"},
		"limit in words":     {"GET", "/users?limit=all", "", 400, "invalid_parameter", "limit"},
		"after negative":     {"GET", "/users?after=-1", "", 400, "invalid_parameter", "after"},
		"id in words":        {"GET", "/users/robin", "", 404, "not_found", ""},
		"unknown user":       {"PUT", "/users/7", `{"name": "A", "email": "a@example.com"}`, 404, "not_found", ""},
		"unknown path":       {"GET", "/accounts", "", 404, "not_found", ""},
		"method not allowed": {"PATCH", "/users/1", "", 405, "method_not_allowed", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := c.do(test.method, test.path, test.body)
			p := a.problem(t)
			assert.Equal(t, test.status, a.status)
			assert.Equal(t, test.code, p.Code)
			assert.NotEmpty(t, p.Message)
			if test.field != "" {
				assert.Contains(t, p.Fields, test.field)
			}
		})
	}
	n, err := sqlitex.One[int](context.Background(), c.db, `SELECT count(*) FROM users`)
	require.NoError(t, err)
	assert.Zero(t, n)
}

func TestBodyMustBeDeclaredAsJSON(t *testing.T) {
	c := newClient(t, nil, nil)
	res, err := http.Post(c.base+"/users", "text/plain", strings.NewReader(`{"name": "A", "email": "a@example.com"}`))
	require.NoError(t, err)
	defer res.Body.Close()
	assert.Equal(t, http.StatusUnsupportedMediaType, res.StatusCode)
}

func TestEmailAddressesAreUnique(t *testing.T) {
	c := newClient(t, nil, nil)
	require.Equal(t, http.StatusCreated, c.do("POST", "/users", `{"name": "A", "email": "a@example.com"}`).status)
	require.Equal(t, http.StatusCreated, c.do("POST", "/users", `{"name": "B", "email": "b@example.com"}`).status)
	for _, a := range []answer{
		c.do("POST", "/users", `{"name": "C", "email": "A@example.com"}`),
		c.do("PUT", "/users/2", `{"name": "B", "email": "a@example.com"}`),
	} {
		assert.Equal(t, http.StatusConflict, a.status)
		assert.Contains(t, a.problem(t).Fields, "email")
	}
}

func TestBusyDatabaseAsksToTryAgain(t *testing.T) {
	c := newClient(t, &sqlitex.Options{BusyTimeout: 20 * time.Millisecond}, nil)
	require.NoError(t, c.db.Write(context.Background(), func(*tx.Writer) error {
		a := c.do("POST", "/users", `{"name": "A", "email": "a@example.com"}`)
		assert.Equal(t, http.StatusServiceUnavailable, a.status)
		assert.Equal(t, "busy", a.problem(t).Code)
		assert.Equal(t, "1", a.header.Get("Retry-After"))
		assert.Equal(t, http.StatusOK, c.do("GET", "/health", "").status, "readers do not wait for the writer")
		return nil
	}))
	assert.Contains(t, c.log.String(), "waited", "the log tells who had the writer")
}

func TestRequestTimeoutReachesTheWaitForTheWriter(t *testing.T) {
	c := newClient(t, nil, func(cfg *config) { cfg.requestTimeout = 20 * time.Millisecond })
	require.NoError(t, c.db.Write(context.Background(), func(*tx.Writer) error {
		a := c.do("POST", "/users", `{"name": "A", "email": "a@example.com"}`)
		assert.Equal(t, http.StatusServiceUnavailable, a.status)
		assert.Equal(t, "timeout", a.problem(t).Code)
		return nil
	}))
}

func TestClosedDatabaseIsUnhealthy(t *testing.T) {
	c := newClient(t, nil, nil)
	assert.Equal(t, `{"status":"ok"}`+"\n", c.do("GET", "/health", "").body)
	require.NoError(t, c.db.Close())
	a := c.do("GET", "/health", "")
	assert.Equal(t, http.StatusServiceUnavailable, a.status)
	assert.Equal(t, "shutting_down", a.problem(t).Code)
}

func TestWhatWentWrongInsideStaysInside(t *testing.T) {
	c := newClient(t, nil, nil)
	_, err := c.db.Exec(context.Background(), `DROP TABLE users`)
	require.NoError(t, err)
	a := c.do("GET", "/users/1", "")
	assert.Equal(t, http.StatusInternalServerError, a.status)
	assert.NotContains(t, a.body, "users WHERE")
	assert.Contains(t, c.log.String(), "no such table: users")
}

func TestOpenRefusesASchemaFromTheFuture(t *testing.T) {
	db := dbtest.Open(t, nil, `PRAGMA user_version = 99`)
	_, err := openUsers(context.Background(), db)
	assert.ErrorContains(t, err, "schema version 99")
}
