package web

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asker asks a number of times for a path, and expects "ok".
type asker struct {
	host, path string
	left       int
}

func (a *asker) next(b []byte) []byte {
	if a.left == 0 {
		return nil
	}
	a.left--
	return request(b, "GET", a.host, []byte(a.path), nil)
}

func (a *asker) check(got answer) error {
	if !bytes.Equal(got.body, []byte("ok")) {
		return errWrongBody
	}
	return nil
}

func TestRequestsAreCountedByHowTheyWereAnswered(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch n.Add(1) % 4 {
		case 1:
			http.Error(w, "busy", http.StatusServiceUnavailable)
		case 2:
			http.Error(w, "broken", http.StatusInternalServerError)
		default:
			_, _ = w.Write([]byte("ok"))
		}
	}))
	defer server.Close()
	host := server.Listener.Addr().String()
	s, err := run(host, []client{&asker{host, "/", 20}, &asker{host, "/", 20}}, time.Minute)
	require.NoError(t, err)
	assert.EqualValues(t, 40, n.Load(), "clients that have nothing left to do end early")
	assert.EqualValues(t, 20, s.Ops, "successes only")
	assert.EqualValues(t, 10, s.Figures[FigureBusy])
	assert.EqualValues(t, 10, s.Figures[FigureErrors])
	assert.Positive(t, s.Latency.Quantile(0.5))
	assert.Less(t, s.Nanos, int64(time.Minute))
}

func TestAWrongAnswerFailsTheRun(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("no"))
	}))
	defer server.Close()
	host := server.Listener.Addr().String()
	_, err := run(host, []client{&asker{host, "/", 5}}, time.Minute)
	assert.ErrorIs(t, err, errWrongBody)
	_, err = run("127.0.0.1:1", []client{&asker{host, "/", 5}}, time.Second)
	assert.Error(t, err, "nobody listens there")
}

func TestClientsNoticeWrongAnswers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		work         Work
		right, wrong answer
	}{
		"read, another user":      {WorkRead, answer{200, []byte(`{"id":1,"name":"User 1","email":"","created_at":"2026-01-01T00:00:00.123Z","updated_at":"2026-01-01T00:00:00.123Z"}`)}, answer{200, []byte(`{"id":11,"name":"User 11"}`)}},
		"delete, with a body":     {WorkDelete, answer{204, nil}, answer{204, []byte("x")}},
		"delete, other status":    {WorkDelete, answer{204, nil}, answer{200, nil}},
		"health, ill":             {WorkHealth, answer{200, []byte(`{"status":"ok"}`)}, answer{200, []byte(`{"status":"ill"}`)}},
		"create, an old id":       {WorkCreate, answer{201, []byte(`{"id":50001,"name":"New 0","email":"new0@example.com"}`)}, answer{201, []byte(`{"id":7,"name":"New 0","email":"new0@example.com"}`)}},
		"create, another address": {WorkCreate, answer{201, []byte(`{"id":50001,"name":"New 0","email":"new0@example.com"}`)}, answer{201, []byte(`{"id":50001,"name":"New 0","email":"new1@example.com"}`)}},
		"update, the old name":    {WorkUpdate, answer{200, []byte(`{"id":1,"name":"Renamed 3 0","email":"user1@example.com"}`)}, answer{200, []byte(`{"id":1,"name":"Renamed 2 0","email":"user1@example.com"}`)}},
		"list, empty":             {WorkList, answer{200, []byte(`{"users":[{"id":2,` + strings.Repeat(`"email":"user`, page) + `],"next_after":21}`)}, answer{200, []byte(`{"users":[]}`)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &userClient{work: test.work, host: "h", step: 1, run: 3, stock: 1}
			require.NotNil(t, c.next(nil))
			assert.NoError(t, c.check(test.right))
			assert.Error(t, c.check(test.wrong))
			assert.EqualValues(t, 1, c.done, "only what is right counts as acknowledged")
		})
	}
}

func TestAStockOfUsersEnds(t *testing.T) {
	t.Parallel()
	c := &userClient{work: WorkDelete, host: "h", n: 1, step: 2, stock: 4}
	assert.Contains(t, string(c.next(nil)), "DELETE /users/50002 ")
	assert.Contains(t, string(c.next(nil)), "DELETE /users/50004 ")
	assert.Nil(t, c.next(nil))
}

func TestUsageOfAProcessIsTold(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	rss, err := peakRSS(os.Getpid())
	require.NoError(t, err)
	assert.Greater(t, rss, int64(1<<20))
	for begin := time.Now(); time.Since(begin) < 30*time.Millisecond; { // busy for more than a tick
	}
	took, err := processTime(os.Getpid())
	require.NoError(t, err)
	assert.Positive(t, took)
	_, err = processTime(-1)
	assert.Error(t, err)
}
