package web

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// started starts a service as a side does, or skips the test with the reason why it cannot run here.
func started(t *testing.T, s Spec) *runner {
	t.Helper()
	var err error
	if s.Program, err = s.Service.program(); err != nil {
		t.Skip(err)
	}
	s.Dir = t.TempDir()
	r, err := s.start()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.Close(), "it ends by SIGTERM, and with success") })
	return r
}

func TestEachServiceDoesAllWork(t *testing.T) {
	t.Parallel()
	for _, service := range []Service{Crud, CrudBun, CrudNode} {
		t.Run(string(service), func(t *testing.T) {
			t.Parallel()
			s := Spec{Service: service, Clients: 4}
			r := started(t, s)
			for name, value := range s.want() {
				assert.Equal(t, value, r.service.info.Settings[name], name)
			}
			path := r.work.(*userWork).path
			for _, w := range []Work{WorkRead, WorkList, WorkHealth, WorkUpdate, WorkCreate, WorkDelete} {
				s.Work, s.Dir = w, filepath.Dir(path)
				r.work = newUserWork(s, r.service.address)
				for range 2 {
					sample, err := r.Run(20 * time.Millisecond) // which compares what was acknowledged with the database
					require.NoError(t, err, w)
					assert.Positive(t, sample.Ops, w)
					assert.Zero(t, sample.Figures[FigureErrors], w)
					assert.Zero(t, sample.Figures[FigureBusy], w)
				}
			}
		})
	}
}

func TestTenantsDoAllWork(t *testing.T) {
	t.Parallel()
	for _, w := range []Work{WorkItems, WorkMix} {
		r := started(t, Spec{Service: Tenants, Work: w, Clients: 4, Apps: 3})
		for range 2 {
			sample, err := r.Run(20 * time.Millisecond)
			require.NoError(t, err, w)
			assert.Positive(t, sample.Ops, w)
			assert.Zero(t, sample.Figures[FigureErrors]+sample.Figures[FigureBusy], w)
		}
	}
}

// Times differ from service to service, and so do the words in which each parser says what it does not like.
var (
	times   = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"`)
	grumble = regexp.MustCompile(`(the body is not as expected): [^}]*"`)
)

func TestAllServicesAnswerAlike(t *testing.T) {
	t.Parallel()
	for _, other := range []Service{CrudBun, CrudNode} {
		t.Run(string(other), func(t *testing.T) {
			t.Parallel()
			ours := started(t, Spec{Service: Crud, Clients: 1})
			theirs := started(t, Spec{Service: other, Clients: 1})
			long := strings.Repeat("x", 101)
			for i, test := range []struct{ method, path, body string }{
				{"GET", "/health", ""},
				{"GET", "/users/1", ""},
				{"GET", "/users/50000", ""},
				{"GET", "/users/50001", ""},
				{"GET", "/users/0", ""},
				{"GET", "/users/-1", ""},
				{"GET", "/users/robin", ""},
				{"GET", "/users", ""},
				{"GET", "/users?limit=3&after=49998", ""},
				{"GET", "/users?limit=3&after=49997", ""},
				{"GET", "/users?after=50000", ""},
				{"GET", "/users?limit=0", ""},
				{"GET", "/users?limit=101", ""},
				{"GET", "/users?limit=all", ""},
				{"GET", "/users?after=-1", ""},
				{"GET", "/accounts", ""},
				{"PATCH", "/users/1", ""},
				{"PUT", "/users", ""},
				{"POST", "/health", ""},
				{"POST", "/users", `{"name": " Robin ", "email": "robin@example.com"}`},
				{"POST", "/users", `{"name": "Robin", "email": "ROBIN@example.com"}`},
				{"POST", "/users", `{"name": "Zoë \"Z\" \\ 名前", "email": "zoe@example.com"}`},
				{"GET", "/users/50001", ""},
				{"GET", "/users/50003", ""},
				{"POST", "/users", ``},
				{"POST", "/users", `{"name": `},
				{"POST", "/users", `{"name": 1}`},
				{"POST", "/users", `null`},
				{"POST", "/users", `[]`},
				{"POST", "/users", `{"name": "A", "email": "a@example.com", "admin": true}`},
				{"POST", "/users", `{"name": "A", "email": "a@example.com"} {}`},
				{"POST", "/users", `{"email": "a@example.com"}`},
				{"POST", "/users", `{"name": "` + long + `", "email": "a@example.com"}`},
				{"POST", "/users", `{"name": "` + long[1:] + `", "email": "b@example.com"}`},
				{"POST", "/users", `{"name": "A"}`},
				{"POST", "/users", `{}`},
				{"POST", "/users", `{"name": "A", "email": "nonsense"}`},
				{"POST", "/users", `{"name": "A", "email": "a..b@example.com"}`},
				{"POST", "/users", `{"name": "A", "email": "A <a@example.com>"}`},
				{"POST", "/users", `{"name": "A", "email": "` + strings.Repeat("a", 250) + `@example.com"}`},
				{"POST", "/users", `{"name": "` + strings.Repeat("x", 70_000) + `"}`},
				{"PUT", "/users/2", `{"name": "Kim", "email": "kim@example.com"}`},
				{"PUT", "/users/3", `{"name": "Kim", "email": "kim@example.com"}`},
				{"PUT", "/users/60000", `{"name": "Lee", "email": "lee@example.com"}`},
				{"PUT", "/users/2", `{"name": ""}`},
				{"PUT", "/users/none", `{"name": ""}`},
				{"GET", "/users/2", ""},
				{"DELETE", "/users/2", ""},
				{"DELETE", "/users/2", ""},
				{"GET", "/users/2", ""},
			} {
				assert.Equal(t, ask(t, ours, test.method, test.path, test.body), ask(t, theirs, test.method, test.path, test.body),
					"%d: %s %s %.100s", i, test.method, test.path, test.body)
			}
		})
	}
}

// ask returns what can be compared of an answer.
func ask(t *testing.T, r *runner, method, path, body string) string {
	t.Helper()
	req, err := http.NewRequest(method, "http://"+r.service.address+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	text := string(b)
	if len(b) > 0 {
		assert.True(t, json.Valid(b), text)
		assert.Equal(t, "application/json", res.Header.Get("Content-Type"))
	}
	text = grumble.ReplaceAllString(text, `$1"`)
	text = times.ReplaceAllStringFunc(text, func(of string) string {
		if strings.HasPrefix(of, `"2026-01-01T`) { // of the users who were there from the beginning
			return of
		}
		return "time"
	})
	return fmt.Sprint(res.StatusCode, " ", res.Header.Get("Location"), res.Header.Get("Allow"), " ", strings.TrimSpace(text))
}

func TestAServiceThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	address, err := freeAddress()
	require.NoError(t, err)
	_, err = start([]string{"sh", "-c", "echo out of order >&2; exit 3"}, false, address)
	assert.ErrorContains(t, err, "out of order")
	_, err = start([]string{"/no/such/program"}, false, address)
	assert.Error(t, err)
}
