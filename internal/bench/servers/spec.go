package servers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/sanelite/sanelite/internal/bench/harness"
)

// Spec says what a side does. It reaches the side's process as JSON.
type Spec struct {
	Peer    Peer   `json:"peer"`
	Work    Work   `json:"work"`
	Clients int    `json:"clients"`
	At      string `json:"at"`              // path of the database, or how to reach the server
	Full    bool   `json:"full,omitempty"`  // sanelite: synchronous FULL instead of NORMAL
	Async   bool   `json:"async,omitempty"` // Postgres: synchronous_commit off
}

// Peer is who does the work.
type Peer string

// The peers.
const (
	Sanelite Peer = "sanelite"
	Postgres Peer = "postgres"
	MariaDB  Peer = "mariadb"
)

// Work is what is done.
type Work string

// The kinds of work, all on one table of users.
const (
	Insert      Work = "insert"      // a row, a commit
	Transaction Work = "transaction" // Rows rows in one transaction; an operation is a row
	Row         Work = "row"         // one of Rows rows, by its key
	All         Work = "all"         // all Rows rows
)

// Rows is the size of the table, and of a transaction.
const Rows = 50_000

// Servers are the two, running. Where one cannot run, its error says why.
type Servers struct {
	postgres, mariadb       *process
	postgresErr, mariadbErr error
	dir                     string
	interrupts              *harness.Interrupts
}

// Start starts both below dir.
func Start(dir string) *Servers {
	s := &Servers{dir: dir, interrupts: harness.WatchInterrupts()}
	s.postgres, s.postgresErr = startPostgres(dir)
	s.mariadb, s.mariadbErr = startMariaDB(dir)
	return s
}

// Stop ends both. After an interrupt it does not return: it removes dir, and ends this process.
func (s *Servers) Stop() error {
	var errs []error
	for _, p := range []*process{s.postgres, s.mariadb} {
		if p != nil && p.cmd != nil && p.cmd.Process != nil && p.cmd.ProcessState == nil {
			errs = append(errs, p.stop())
		}
	}
	s.interrupts.End(s.dir)
	return errors.Join(errs...)
}

// Side makes a side; unix has it use the server's Unix socket instead of TCP. Files of sanelite have the name of the side.
func (s *Servers) Side(spec Spec, name string, unix bool, compare ...harness.Compare) harness.Side {
	var err error
	switch spec.Peer {
	case Postgres:
		if err = s.postgresErr; err == nil {
			spec.At = s.postgres.postgresURL(unix)
		}
	case MariaDB:
		if err = s.mariadbErr; err == nil {
			spec.At = s.mariadb.mariaDBName(unix, "bench")
		}
	default:
		spec.At = filepath.Join(s.dir, name+".db")
	}
	return s.interrupts.Side(harness.Side{Name: name, Want: spec.want(), Compare: compare, Start: harness.Command(func() (*exec.Cmd, error) {
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(spec)
		if err != nil {
			return nil, err
		}
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		return exec.Command(self, ServeCommand, string(text)), nil
	})})
}

// want is how the settings read that decide what a commit promises.
func (s Spec) want() map[string]string {
	switch {
	case s.Peer == Sanelite && s.Full:
		return map[string]string{"synchronous": "2"}
	case s.Peer == Sanelite:
		return map[string]string{"synchronous": "1"}
	case s.Peer == MariaDB:
		return map[string]string{"innodb_flush_log_at_trx_commit": "1"}
	case s.Async:
		return map[string]string{"synchronous_commit": "off"}
	default:
		return map[string]string{"synchronous_commit": "on", "fsync": "on"}
	}
}

// ServeCommand is the first argument of a process that is a side; the second is the Spec.
const ServeCommand = "serve-servers"

// Serve is the process of a side.
func Serve(text string) error {
	return harness.Serve(os.Stdin, os.Stdout, func() (harness.Runner, harness.Info, error) {
		var s Spec
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			return nil, harness.Info{}, err
		}
		ctx := context.Background()
		var c connector
		var info harness.Info
		var err error
		switch s.Peer {
		case Sanelite:
			c, info, err = openSanelite(ctx, s)
		case Postgres:
			c, info, err = openPostgres(ctx, s)
		case MariaDB:
			c, info, err = openMariaDB(ctx, s)
		default:
			err = fmt.Errorf("no such peer: %q", s.Peer)
		}
		if err != nil {
			return nil, info, err
		}
		r, err := newRunner(ctx, s, c)
		return r, info, err
	})
}
