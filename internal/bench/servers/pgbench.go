package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/sanelite/sanelite/internal/bench/harness"
)

// PGBench is a side that reads by key with PostgreSQL's own benchmark program, as a second opinion on what the server can do.
func (s *Servers) PGBench(name string, compare ...harness.Compare) harness.Side {
	return s.interrupts.Side(harness.Side{Name: name, Compare: compare, Start: func() (harness.Runner, harness.Info, error) {
		info := harness.Info{SQLite: "pgbench"}
		if s.postgresErr != nil {
			return nil, info, s.postgresErr
		}
		program, err := postgresProgram("pgbench")
		if err != nil {
			return nil, info, err
		}
		if err := s.fillPostgres(context.Background()); err != nil {
			return nil, info, err
		}
		script := filepath.Join(s.dir, "read.sql")
		text := fmt.Sprintf("\\set id random(1, %d)\nSELECT id, name, email, created FROM users WHERE id = :id;\n", Rows)
		return &pgbench{program, script, s.postgres.port}, info, os.WriteFile(script, []byte(text), 0o644)
	}})
}

// fillPostgres makes the rows, which are the same that the other sides make.
func (s *Servers) fillPostgres(ctx context.Context) error {
	c, _, err := openPostgres(ctx, Spec{Peer: Postgres, At: s.postgres.postgresURL(false)})
	if err != nil {
		return err
	}
	if err = c.empty(ctx); err == nil {
		err = c.fill(ctx)
	}
	return errors.Join(err, c.Close())
}

type pgbench struct {
	program, script string
	port            int
}

var tps = regexp.MustCompile(`(?m)^tps = ([0-9.]+) \(without initial connection time\)`)

// Run takes at least a second: pgbench counts whole ones.
func (p *pgbench) Run(d time.Duration) (s harness.Sample, err error) {
	seconds := max(1, int(d.Round(time.Second)/time.Second))
	cmd := exec.Command(p.program, "-n", "-M", "prepared", "-c", "1", "-T", strconv.Itoa(seconds), "-f", p.script,
		"-h", "127.0.0.1", "-p", strconv.Itoa(p.port), "-U", "bench", "postgres")
	harness.EndWithParent(cmd)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return s, fmt.Errorf("pgbench: %w: %s", err, lastLine(out))
	}
	found := tps.FindSubmatch(out)
	if found == nil {
		return s, errors.New("pgbench tells no tps")
	}
	rate, err := strconv.ParseFloat(string(found[1]), 64)
	return harness.Sample{Ops: int64(rate * float64(seconds)), Nanos: int64(seconds) * int64(time.Second)}, err
}

func (p *pgbench) Close() error { return nil }
