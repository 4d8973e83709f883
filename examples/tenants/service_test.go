package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
)

// load posts items to several apps until the service answers no more, and remembers what was acknowledged.
type load struct {
	clients sync.WaitGroup
	enough  chan struct{} // closed when the service is well under way

	mu           sync.Mutex
	number       int
	acknowledged map[string]map[int64]string // title by id, by app
	refused      []string                    // answers other than 201
}

const (
	loadedApps  = 4
	enoughItems = 400
)

func startLoad(p *process) *load {
	p.t.Helper()
	l := &load{enough: make(chan struct{}), acknowledged: map[string]map[int64]string{}}
	for _, app := range p.createApps(loadedApps) {
		l.acknowledged[app] = map[int64]string{}
		for worker := range 4 {
			l.clients.Go(func() {
				for i := 0; l.post(p, app, fmt.Sprintf("%s %d %d", app, worker, i)); i++ {
				}
			})
		}
	}
	return l
}

// post reports whether the service is still there.
func (l *load) post(p *process, app, title string) bool {
	var created struct{ ID int64 }
	err := p.do("POST", "/apps/"+app+"/items", fmt.Sprintf(`{"title": %q}`, title), http.StatusCreated, &created)
	l.mu.Lock()
	defer l.mu.Unlock()
	if answer := (*unwanted)(nil); errors.As(err, &answer) {
		l.refused = append(l.refused, answer.Error())
	}
	if err != nil {
		return false
	}
	l.acknowledged[app][created.ID] = title
	if l.number++; l.number == enoughItems {
		close(l.enough)
	}
	return true
}

// verify waits for the clients and looks for all that was acknowledged in the databases that the service has left.
func (l *load) verify(t *testing.T, dir string) {
	t.Helper()
	l.clients.Wait()
	assert.Empty(t, l.refused, "the end of the service refuses connections, never a request that it took")
	total := 0
	for app, items := range l.acknowledged {
		db := dbtest.OpenAt(t, filepath.Join(dir, app+".db"), nil, "")
		stored := map[int64]string{}
		for it, err := range sqlitex.Each[item](t.Context(), db, `SELECT `+columns+` FROM items`) {
			require.NoError(t, err)
			stored[it.ID] = it.Title
		}
		for id, title := range items {
			assert.Equal(t, title, stored[id], "item %d of %s was acknowledged", id, app)
		}
		total += len(items)
		require.NoError(t, db.Check(t.Context()))
		require.NoError(t, db.Close())
	}
	assert.GreaterOrEqual(t, total, enoughItems)
}

func TestAShutdownUnderLoadLosesNothingThatWasAcknowledged(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	p := startProcess(t, cfg.dir)
	l := startLoad(p)
	<-l.enough
	p.stop()
	left, err := filepath.Glob(filepath.Join(cfg.dir, "*.db-*"))
	require.NoError(t, err)
	assert.Empty(t, left, "all databases were closed")
	l.verify(t, cfg.dir)
}

// case X1
func TestAKillUnderLoadLosesNothingThatWasAcknowledged(t *testing.T) {
	t.Parallel()
	for range 3 {
		cfg := testConfig(t)
		p := startProcess(t, cfg.dir)
		l := startLoad(p)
		<-l.enough
		require.NoError(t, p.cmd.Process.Kill())
		_ = p.cmd.Wait()
		l.verify(t, cfg.dir)
	}
}

// case X2. The bound is above all that the README tells, and none for a build with the race detector.
func TestTwoHundredAppsAliveFitInMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector needs several times the memory")
	}
	if residentBytes() == 0 {
		t.Skip("the system does not tell the memory of a process")
	}
	const apps, each = 200, 20
	p := startProcess(t, testConfig(t).dir)
	names := p.createApps(apps)
	document := fmt.Sprintf(`{"title": "A document", "body": %q}`, strings.Repeat("word ", 100))
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := worker; i < apps*each; i += 8 {
				path := "/apps/" + names[i%apps] + "/items"
				assert.NoError(t, p.do("POST", path, document, http.StatusCreated, nil))
				assert.NoError(t, p.do("GET", path+"/1", "", http.StatusOK, nil))
				assert.NoError(t, p.do("GET", path+"?limit=5", "", http.StatusOK, nil))
			}
		})
	}
	all.Wait()
	s := p.stats()
	assert.Equal(t, apps, s.Apps.Open, "none was closed meanwhile")
	assert.Equal(t, apps, s.Apps.Opens)
	assert.Less(t, s.Goroutines, 50, "no goroutine for each app")
	assert.Less(t, s.RSS, int64(150<<20))
	t.Logf("%d apps alive, each written and read %d times: RSS %d MiB, %d goroutines", apps, each, s.RSS>>20, s.Goroutines)
	p.stop()
}

func TestAnEndedServiceLeavesNoLocks(t *testing.T) {
	t.Parallel()
	dir := testConfig(t).dir
	for i := range 2 { // the second finds what the first has written
		p := startProcess(t, dir)
		want := http.StatusCreated
		if i > 0 {
			want = http.StatusOK
		}
		require.NoError(t, p.do("PUT", "/apps/a", "", want, nil))
		require.NoError(t, p.do("POST", "/apps/a/items", `{"title": "T"}`, http.StatusCreated, nil))
		require.NoError(t, p.do("GET", fmt.Sprintf("/apps/a/items/%d", i+1), "", http.StatusOK, nil))
		p.stop()
	}
	_, err := os.Stat(filepath.Join(dir, "a.db"))
	require.NoError(t, err)
}
