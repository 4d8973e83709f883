package peers

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	zsqlitex "zombiezen.com/go/sqlite/sqlitex"

	"github.com/sanelite/sanelite/internal/bench/harness"
)

// TestMain is also the process of the sides in Go.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == ServeCommand {
		if err := Serve(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

var (
	allPeers = []Peer{Sanelite, Zombiezen, Mattn, Modernc, Ncruces, Bun, BetterSQLite3}
	queries  = []Work{WorkMany, WorkGroup, WorkComments, WorkLarge}
)

// started starts a side, or skips the test with the reason why it cannot run here.
func started(t *testing.T, s Spec) (harness.Runner, harness.Info) {
	t.Helper()
	if s.Peer == Ncruces && testing.Short() {
		t.Skip("builds a program, which takes a minute the first time")
	}
	if _, err := s.command(); err != nil && (s.Peer == Bun || s.Peer == BetterSQLite3) {
		t.Skip(err)
	}
	r, info, err := s.Side(string(s.Peer)).Start()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.Close()) })
	return r, info
}

// runs lets a side do its work and looks at what it tells of itself.
func runs(t *testing.T, s Spec) {
	t.Helper()
	r, info := started(t, s)
	for name, value := range s.want() {
		assert.Equal(t, value, info.Settings[name], name)
	}
	for range 2 {
		sample, err := r.Run(time.Millisecond)
		require.NoError(t, err)
		assert.Positive(t, sample.Ops)
		assert.Positive(t, sample.Nanos)
	}
}

func TestEachPeerReadsTheSame(t *testing.T) {
	dir := t.TempDir()
	users, library := filepath.Join(dir, "users.db"), filepath.Join(dir, "library.db")
	require.NoError(t, Create(users, true))
	require.NoError(t, CreateLibrary(library))
	for _, peer := range allPeers {
		t.Run(string(peer), func(t *testing.T) {
			for _, work := range append([]Work{WorkRow, WorkAll}, queries...) {
				t.Run(string(work), func(t *testing.T) {
					s := Spec{Peer: peer, Work: work, Path: library}
					if work == WorkRow || work == WorkAll {
						s.Path = users
					}
					runs(t, s)
				})
			}
		})
	}
}

func TestEachPeerWrites(t *testing.T) {
	for _, peer := range allPeers {
		t.Run(string(peer), func(t *testing.T) {
			for _, work := range []Work{WorkInsert, WorkBulk} {
				t.Run(string(work), func(t *testing.T) {
					s := Spec{Peer: peer, Work: work, Path: filepath.Join(t.TempDir(), "bench.db")}
					require.NoError(t, Create(s.Path, false))
					runs(t, s)
				})
			}
		})
	}
}

func TestGoroutinesShareASide(t *testing.T) {
	for _, peer := range []Peer{Sanelite, Zombiezen, Mattn, Modernc, Ncruces} {
		t.Run(string(peer), func(t *testing.T) {
			for _, work := range []Work{WorkRow, WorkInsert} {
				t.Run(string(work), func(t *testing.T) {
					s := Spec{Peer: peer, Work: work, Path: filepath.Join(t.TempDir(), "bench.db"), Goroutines: 8}
					require.NoError(t, Create(s.Path, work == WorkRow))
					runs(t, s)
				})
			}
		})
	}
}

// What is measured is only worth something if a side that reads something else is found out.
func TestEachPeerNoticesAWrongAnswer(t *testing.T) {
	for _, change := range []struct{ name, sql string }{
		{"rows are missing", `DELETE FROM events WHERE id = 7; DELETE FROM texts WHERE id = 7; DELETE FROM comments; DELETE FROM members`},
		{"rows are different", `UPDATE events SET body = 'another' WHERE id = 1; UPDATE texts SET body = 'short' WHERE id IN (1, 100);
			UPDATE comments SET body = 'another'; UPDATE members SET name = 'another'`},
	} {
		t.Run(change.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "library.db")
			require.NoError(t, CreateLibrary(path))
			c, err := openZombiezen(Spec{Path: path})
			require.NoError(t, err)
			require.NoError(t, zsqlitex.ExecuteScript(c, change.sql, nil))
			require.NoError(t, c.Close())
			for _, peer := range allPeers {
				t.Run(string(peer), func(t *testing.T) {
					for _, work := range queries {
						t.Run(string(work), func(t *testing.T) {
							r, _ := started(t, Spec{Peer: peer, Work: work, Path: path})
							_, err := r.Run(time.Millisecond)
							assert.Error(t, err)
						})
					}
				})
			}
		})
	}
}
