// Package peers holds the sides that are compared: sanelite and other SQLite packages for Go, each doing the same work in its own
// natural way, and the commands that run the sides in C and JavaScript.
package peers

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"

	"github.com/sanelite/sanelite/internal/bench/harness"
)

// Spec says what a side does. It reaches the side's process as JSON.
type Spec struct {
	Peer       Peer   `json:"peer"`
	Work       Work   `json:"work"`
	Path       string `json:"path"`
	Goroutines int    `json:"goroutines,omitempty"` // 0 is 1

	// Settings of every connection; all other PRAGMAs are left as the side has them.
	Full bool  `json:"full,omitempty"` // synchronous=FULL instead of NORMAL
	Mmap int64 `json:"mmap,omitempty"`

	InCommit bool `json:"in_commit,omitempty"` // sanelite leaves checkpoints to SQLite, as all others do

	Profiled bool `json:"profiled,omitempty"` // a side in Go is built with a profile: see cmd/side

	KeepWAL bool `json:"keep_wal,omitempty"` // no checkpoints: the rows are to stay in the write-ahead log
	Beside  int  `json:"beside,omitempty"`   // commits per second of sanelite's writer, beside WorkRow
	Latency bool `json:"latency,omitempty"`  // measure single operations too
	Rate    int  `json:"rate,omitempty"`     // operations per second of all goroutines; 0 is as fast as possible
}

// Peer is an implementation.
type Peer string

// The peers. Those in C and JavaScript are not run by Start but have commands of their own.
const (
	Sanelite      Peer = "sanelite"
	Zombiezen     Peer = "zombiezen"
	Mattn         Peer = "mattn"
	Modernc       Peer = "modernc"
	Ncruces       Peer = "ncruces" // a program of its own, too
	Bun           Peer = "bun"
	BetterSQLite3 Peer = "better-sqlite3"
	C             Peer = "C"
)

// Work is what a side does.
type Work string

// The kinds of work.
const (
	WorkRow    Work = "row"    // one row by key, into a struct or object
	WorkAll    Work = "all"    // all rows, into a slice or array
	WorkInsert Work = "insert" // one row, one commit, where the side does not share commits
	WorkUpdate Work = "update" // one of all rows, and so mostly another page, one commit; in Go only
	WorkBulk   Work = "bulk"   // BulkRows rows in one transaction; an operation is a row

	// Of the database that CreateLibrary makes, into a slice or array.
	WorkMany     Work = "many"     // all rows of a table of 100,000
	WorkGroup    Work = "group"    // a join of three tables, grouped
	WorkComments Work = "comments" // one of 200 users with 20 articles and 400 comments, by a join
	WorkLarge    Work = "large"    // all rows of a table of 100, of 200 KB each
)

// cacheKiB is the page cache of every connection. The whole table of users fits.
const cacheKiB = 16 << 10

func (s Spec) synchronous() string {
	if s.Full {
		return "FULL"
	}
	return "NORMAL"
}

// pragmas are the settings as statements, in the order in which they are made.
func (s Spec) pragmas() [][2]string {
	list := [][2]string{
		{"busy_timeout", "5000"},
		{"journal_mode", "WAL"},
		{"synchronous", s.synchronous()},
		{"cache_size", strconv.Itoa(-cacheKiB)},
		{"mmap_size", strconv.FormatInt(s.Mmap, 10)},
	}
	if s.KeepWAL {
		list = append(list, [2]string{"wal_autocheckpoint", "0"})
	}
	return list
}

// want is how the settings read.
func (s Spec) want() map[string]string {
	want := map[string]string{
		"journal_mode": "wal",
		"synchronous":  "1",
		"cache_size":   strconv.Itoa(-cacheKiB),
		"mmap_size":    strconv.FormatInt(s.Mmap, 10),
	}
	if s.Full {
		want["synchronous"] = "2"
	}
	if s.Peer == Sanelite && runtime.GOARCH == "amd64" { // elsewhere SQLite's own may be right
		want[pageCache] = "own, survives commits"
	}
	if s.Peer == Zombiezen && s.Beside > 0 {
		want[pageCache] = "built-in, by " + pageCacheVariable
	}
	return want
}

const (
	pageCache         = "page_cache"
	pageCacheVariable = "SANELITE_PAGECACHE"
)

// Side makes a side of a workload.
func (s Spec) Side(name string, compare ...harness.Compare) harness.Side {
	return harness.Side{Name: name, Start: harness.Command(s.command), Want: s.want(), Compare: compare}
}

// command runs the side in a process of its own.
func (s Spec) command() (*exec.Cmd, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	switch s.Peer {
	case C:
		return baseline(s)
	case Bun, BetterSQLite3:
		return javascript(s.Peer, string(text))
	}
	self, err := os.Executable()
	switch {
	case s.Profiled:
		self, err = buildProfiled()
	case s.Peer == Ncruces:
		self, err = buildNcruces()
	}
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, ServeCommand, string(text))
	cmd.Env = os.Environ()
	if s.Peer != Sanelite {
		// The writer beside zombiezen is sanelite's, but zombiezen has to make do with the page cache that it has alone.
		cmd.Env = append(cmd.Env, pageCacheVariable+"=builtin")
	}
	return cmd, nil
}

// ServeCommand is the first argument of a process that is a side; the second is the Spec.
const ServeCommand = "serve"

// Serve is the process of a side.
func Serve(spec string) error {
	return harness.Serve(os.Stdin, os.Stdout, func() (harness.Runner, harness.Info, error) {
		var s Spec
		if err := json.Unmarshal([]byte(spec), &s); err != nil {
			return nil, harness.Info{}, err
		}
		return s.start()
	})
}

func (s Spec) start() (harness.Runner, harness.Info, error) {
	s.Goroutines = max(1, s.Goroutines)
	var (
		l    *loop
		info harness.Info
		err  error
	)
	switch s.Peer {
	case Sanelite:
		l, info, err = startSanelite(s)
	case Zombiezen:
		l, info, err = startZombiezen(s)
	case Mattn, Modernc, Ncruces:
		l, info, err = startDatabaseSQL(s)
	default:
		err = fmt.Errorf("no such peer: %q", s.Peer)
	}
	if err != nil {
		return nil, info, err
	}
	l.latency, l.rate = s.Latency, s.Rate
	return l, info, nil
}

// writes reports whether the work changes rows.
func (w Work) writes() bool { return w == WorkInsert || w == WorkUpdate || w == WorkBulk }

// unit is how many operations of the workload one call of a side does, and how many calls go by between two looks at the clock.
func (w Work) unit() (operations, batch int64) {
	switch w {
	case WorkRow:
		return 1, 64
	case WorkInsert, WorkUpdate:
		return 1, 4
	case WorkBulk:
		return BulkRows, 1
	default:
		return 1, 1
	}
}
