package servers

import (
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

// PGBench is a side that reads by key with PostgreSQL's own benchmark program, as a second opinion on what the server can do. The
// rows are those that another side of the workload makes.
func (s *Servers) PGBench(name string, compare ...harness.Compare) harness.Side {
	return harness.Side{Name: name, Compare: compare, Start: func() (harness.Runner, harness.Info, error) {
		info := harness.Info{SQLite: "pgbench"}
		if s.postgresErr != nil {
			return nil, info, s.postgresErr
		}
		program, err := postgresProgram("pgbench")
		if err != nil {
			return nil, info, err
		}
		script := filepath.Join(s.dir, "read.sql")
		text := fmt.Sprintf("\\set id random(1, %d)\nSELECT id, name, email, created FROM users WHERE id = :id;\n", Rows)
		return &pgbench{program, script, s.postgres.port}, info, os.WriteFile(script, []byte(text), 0o644)
	}}
}

type pgbench struct {
	program, script string
	port            int
}

var tps = regexp.MustCompile(`(?m)^tps = ([0-9.]+) \(without initial connection time\)`)

// Run takes at least a second: pgbench counts whole ones.
func (p *pgbench) Run(d time.Duration) (s harness.Sample, err error) {
	seconds := max(1, int(d.Round(time.Second)/time.Second))
	out, err := exec.Command(p.program, "-n", "-M", "prepared", "-c", "1", "-T", strconv.Itoa(seconds), "-f", p.script,
		"-h", "127.0.0.1", "-p", strconv.Itoa(p.port), "-U", "bench", "postgres").CombinedOutput()
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
