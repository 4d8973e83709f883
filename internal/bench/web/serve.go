package web

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"zombiezen.com/go/sqlite"
	zsqlitex "zombiezen.com/go/sqlite/sqlitex"

	"github.com/sanelite/sanelite/internal/bench/harness"
	"github.com/sanelite/sanelite/sqlitex"
)

// Serve is the process of a side: it starts the service, and then loads it for as long as it is told.
func Serve(spec string) error {
	// An interrupt from a terminal reaches the service too, which ends by it. This process ends with the one that started it,
	// after it has waited for the service. (Signals that are ignored would be so in the service, too.)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM)
	// The clients wait for answers most of the time. On more than one processor Go would spend much of it looking for work there,
	// which the service then lacks.
	runtime.GOMAXPROCS(1)
	return harness.Serve(os.Stdin, os.Stdout, func() (harness.Runner, harness.Info, error) {
		var s Spec
		if err := json.Unmarshal([]byte(spec), &s); err != nil {
			return nil, harness.Info{}, err
		}
		r, err := s.start()
		if err != nil {
			return nil, harness.Info{}, err
		}
		return r, r.service.info, nil
	})
}

// work is what the clients of a service do.
type work interface {
	// begin gets ready for a run of about d, off the clock.
	begin(d time.Duration) ([]client, error)
	// end checks what the run has left.
	end() error
}

// runner is a service and those who load it.
type runner struct {
	service *service
	work    work
}

func (s Spec) start() (*runner, error) {
	if s.Service != Tenants {
		if err := seedUsers(s.Service, s.Dir); err != nil {
			return nil, err
		}
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	svc, err := start(append(s.Program, s.Service.arguments(address, s.Dir, s.Apps)...), s.Service.announces(), address)
	if err != nil {
		return nil, err
	}
	r := &runner{service: svc}
	switch s.Service {
	case Tenants:
		r.work, err = newAppWork(s, svc)
		svc.info.SQLite = version()
	case Crud:
		r.work = newUserWork(s, address)
		svc.info, err = defaults(filepath.Join(s.Dir, database))
	default:
		r.work = newUserWork(s, address)
	}
	if err != nil {
		return nil, errors.Join(err, svc.stop())
	}
	return r, nil
}

func (r *runner) Run(d time.Duration) (harness.Sample, error) {
	clients, err := r.work.begin(d)
	if err != nil {
		return harness.Sample{}, err
	}
	pid := r.service.cmd.Process.Pid
	before, err := processTime(pid)
	sample, runErr := run(r.service.address, clients, d)
	if runErr != nil {
		return sample, runErr
	}
	if err == nil { // elsewhere than on Linux there are no such figures
		after, err := processTime(pid)
		if err != nil {
			return sample, err
		}
		sample.Figures[FigureCPU] = float64((after - before).Microseconds()) / float64(max(1, sample.Ops))
		rss, err := peakRSS(pid)
		if err != nil {
			return sample, err
		}
		sample.Figures[FigureRSS] = float64(rss) / 1e6
	}
	return sample, r.work.end()
}

func (r *runner) Close() error { return r.service.stop() }

// defaults are the settings of a handle that is opened as the service in Go opens its own, of the same file: the service has no
// way to tell them.
func defaults(path string) (info harness.Info, err error) {
	ctx := context.Background()
	db, err := sqlitex.Open(ctx, path, nil)
	if err != nil {
		return info, err
	}
	err = db.ReadConn(ctx, func(c *sqlite.Conn) error {
		info.Settings = map[string]string{}
		for _, name := range []string{"journal_mode", "synchronous", "busy_timeout", "foreign_keys", "temp_store"} {
			value, err := text(c, "PRAGMA "+name)
			if err != nil {
				return err
			}
			info.Settings[name] = value
		}
		info.SQLite, err = text(c, "SELECT sqlite_version()")
		return err
	})
	return info, errors.Join(err, db.Close())
}

// version is that of SQLite in this process, and in services that are built from the same go.mod of the library.
func version() string {
	c, err := sqlite.OpenConn(":memory:")
	if err != nil {
		return ""
	}
	defer c.Close()
	v, err := text(c, "SELECT sqlite_version()")
	if err != nil {
		return ""
	}
	return v
}

func text(c *sqlite.Conn, sql string) (value string, err error) {
	err = zsqlitex.ExecuteTransient(c, sql, &zsqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		value = stmt.ColumnText(0)
		return nil
	}})
	return value, err
}
