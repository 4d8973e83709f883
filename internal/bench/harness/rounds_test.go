package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fake takes as long per operation as ns says, round after round, and notes that it ran.
type fake struct {
	name   string
	ns     []int64
	log    *[]string
	fails  error
	runs   int
	closed int
}

func (f *fake) Run(time.Duration) (Sample, error) {
	*f.log = append(*f.log, f.name)
	s := Sample{Ops: 10, Nanos: 10 * f.ns[f.runs%len(f.ns)]}
	f.runs++
	return s, f.fails
}

func (f *fake) Close() error { f.closed++; return nil }

func (f *fake) side(compare ...Compare) Side {
	return Side{Name: f.name, Compare: compare, Start: func() (Runner, Info, error) {
		return f, Info{SQLite: "3.0.0", Settings: map[string]string{"journal_mode": "wal"}}, nil
	}}
}

func TestSidesRunInTurnAndRatiosAreOfOneRound(t *testing.T) {
	t.Parallel()
	var log []string
	// The first run is to warm up. In the last round the machine is ten times slower.
	a := &fake{name: "a", log: &log, ns: []int64{999, 100, 120, 1000}}
	b := &fake{name: "b", log: &log, ns: []int64{999, 200, 200, 2000}}
	c := &fake{name: "c", log: &log, ns: []int64{50}}
	r, err := Run(Workload{Name: "w", Unit: "read"}, []Side{
		a.side(),
		b.side(Compare{With: "a", Op: AtMost, Than: 0.55}),
		c.side(Compare{With: "a", By: Speedup, Op: AtLeast, Than: 2}),
	}, Plan{Rounds: 3, Time: time.Millisecond})
	require.NoError(t, err)
	assert.Equal(t, "a b c  a b c  b c a  c a b", "a b c  "+strings.Join(log[3:6], " ")+"  "+strings.Join(log[6:9], " ")+"  "+strings.Join(log[9:], " "))
	assert.Equal(t, []float64{100, 120, 1000}, r.Sides[0].NsPerOp)
	assert.Empty(t, r.Sides[0].Findings)
	assert.Equal(t, []Finding{{Of: "time of a ÷ this", With: "a", Median: 0.5, Min: 0.5, Max: 0.6, Target: "≤ 0.55", Met: "pass"}}, r.Sides[1].Findings)
	assert.Equal(t, []Finding{{Of: "speed of a ÷ this", With: "a", Median: 50.0 / 120, Min: 0.05, Max: 0.5, Target: "≥ 2", Met: "FAIL"}}, r.Sides[2].Findings)
	assert.Equal(t, [3]int{1, 1, 1}, [3]int{a.closed, b.closed, c.closed})
}

func TestASideThatCannotRunIsNamedWithTheReason(t *testing.T) {
	t.Parallel()
	var log []string
	a := &fake{name: "a", log: &log, ns: []int64{100}}
	broken := &fake{name: "broken", log: &log, ns: []int64{1}, fails: errors.New("out of\nmemory")}
	other := &fake{name: "other", log: &log, ns: []int64{1}}
	different := other.side(Compare{With: "a", Op: AtMost, Than: 1})
	different.Want = map[string]string{"journal_mode": "delete"}
	r, err := Run(Workload{Name: "w", Title: "all kinds", Unit: "read"}, []Side{
		a.side(Compare{With: "missing", By: Gain, Op: AtLeast, Than: 2}),
		{Name: "missing", Start: func() (Runner, Info, error) { return nil, Info{}, errors.New("not installed") }},
		broken.side(),
		different,
	}, Plan{Rounds: 2, Time: time.Millisecond})
	require.NoError(t, err)
	assert.Equal(t, []Finding{{Of: "speed of this ÷ missing", With: "missing", Target: "≥ 2", Met: "not run"}}, r.Sides[0].Findings)
	assert.Equal(t, 1, broken.closed)
	assert.Equal(t, 1, other.closed)
	assert.Zero(t, other.runs)
	assert.Equal(t, `w: all kinds
side  ns/read  min – max  reads/s     finding  min – max  target           what it is               SQLite
a     100      100 – 100  10,000,000                      ≥ 2     not run  speed of this ÷ missing  3.0.0
missing not run: not installed
broken failed: out of memory
other not run: journal_mode is "wal", want "delete"
`, r.Text())
}

func TestTableShowsLatencyAndTheWriterBeside(t *testing.T) {
	t.Parallel()
	text := Result{Workload: "w", Title: "beside", Unit: "read", Sides: []SideResult{
		{Name: "alone", Median: 1234.5, Min: 99.94, Max: 1e6},
		{Name: "beside", Median: 2000, Min: 2000, Max: 2000, Beside: 999.6, Latency: &Latency{1001, 23_456, 345_678, 4_567_890}},
	}}.Text()
	var fields [][]string
	for line := range strings.Lines(text) {
		fields = append(fields, strings.Fields(line))
	}
	assert.Equal(t, strings.Fields("side ns/read min – max reads/s commits/s p50 p99 p99.9 longest SQLite"), fields[1])
	assert.Equal(t, strings.Fields("alone 1,234 99.9 – 1,000,000 810,045"), fields[2])
	assert.Equal(t, strings.Fields("beside 2,000 2,000 – 2,000 500,000 1000 1µs 23.5µs 346µs 4.57ms"), fields[3])
}

func TestFiguresAreTheGreatestOfTheRoundsAndHaveLimits(t *testing.T) {
	t.Parallel()
	round := 0
	measured := Side{
		Name: "measured", Published: "1,819/s",
		Compare: []Compare{{With: "slow", By: P99, Op: AtMost, Than: 0.1}, {With: "slow", By: Gain}},
		Limits:  []Limit{{"errors", AtMost, 2}, {PerSecond, AtLeast, 1000}, {P99Millis, AtMost, 1}, {"unknown", AtMost, 1}},
		Start: func() (Runner, Info, error) {
			return runFunc(func() Sample {
				round++
				s := Sample{Ops: 1, Nanos: 500_000, Figures: map[string]float64{"errors": float64(4 - round)}} // the first run does not count
				s.Latency.Add(time.Millisecond)
				return s
			}), Info{}, nil
		},
	}
	slow := Side{Name: "slow", Start: func() (Runner, Info, error) {
		return runFunc(func() (s Sample) {
			s.Ops, s.Nanos = 1, 1_000_000
			s.Latency.Add(20 * time.Millisecond)
			return s
		}), Info{}, nil
	}}
	r, err := Run(Workload{Name: "w", Unit: "write"}, []Side{measured, slow}, Plan{Rounds: 2, Time: time.Millisecond})
	require.NoError(t, err)
	s := r.Sides[0]
	assert.Equal(t, map[string]float64{"errors": 2}, s.Figures)
	assert.Equal(t, []Finding{
		{Of: "p99 of slow ÷ this", With: "slow", Median: 20, Min: 20, Max: 20, Target: "≤ 0.10", Met: "FAIL"},
		{Of: "speed of this ÷ slow", With: "slow", Median: 2, Min: 2, Max: 2},
		{Of: "errors", Median: 2, Min: 2, Max: 2, Target: "≤ 2", Met: "pass"},
		{Of: PerSecond, Median: 2000, Min: 2000, Max: 2000, Target: "≥ 1,000", Met: "pass"},
		{Of: P99Millis, Median: 1, Min: 1, Max: 1, Target: "≤ 1", Met: "pass"},
		{Of: "unknown", Target: "≤ 1", Met: "not run"},
	}, s.Findings)
	lines := strings.Split(r.Text(), "\n")
	assert.Equal(t, strings.Fields("side ns/write min – max writes/s p50 p99 p99.9 longest errors published finding min – max target what it is SQLite"), strings.Fields(lines[1]))
	assert.Equal(t, strings.Fields("measured 500,000 500,000 – 500,000 2,000 1ms 1ms 1ms 1ms 2 1,819/s 20 20 – 20 ≤ 0.10 FAIL p99 of slow ÷ this"), strings.Fields(lines[2]))
	assert.Equal(t, strings.Fields("2 2 – 2 speed of this ÷ slow"), strings.Fields(lines[3]))
}

// runFunc is a Runner.
type runFunc func() Sample

func (f runFunc) Run(time.Duration) (Sample, error) { return f(), nil }
func (f runFunc) Close() error                      { return nil }

func TestFlagsAndFilter(t *testing.T) {
	t.Parallel()
	c, err := ParseFlags("reads", []string{"-quick", "-rounds", "5"})
	require.NoError(t, err)
	assert.Equal(t, Plan{Rounds: 5, Time: 100 * time.Millisecond}, c.Plan)
	for _, args := range [][]string{{"row"}, {"-rounds", "0"}, {"-time", "1us"}} {
		_, err = ParseFlags("reads", args)
		assert.Error(t, err, "%v", args)
	}

	for _, test := range []struct {
		filter, workload, side string
		want                   bool
	}{
		{"", "row", "bun", true},
		{"row", "row", "bun", true},
		{"row|all", "beside", "bun", false},
		{"row/bun|sanelite", "row", "sanelite", true},
		{"row/bun|sanelite", "row", "mattn", false},
		{"/mattn", "all", "mattn", true},
	} {
		f, err := parseFilter(test.filter)
		require.NoError(t, err)
		assert.Equal(t, test.want, f.workload(test.workload) && f.side(test.side), "%+v", test)
	}
	_, err = parseFilter("a/(")
	require.Error(t, err)
}

func TestMainWritesAReportAndRemovesItsFiles(t *testing.T) {
	t.Parallel()
	var log []string
	a := &fake{name: "a", log: &log, ns: []int64{100}}
	broken := &fake{name: "broken", log: &log, ns: []int64{1}, fails: errors.New("torn")}
	dir, report := t.TempDir(), filepath.Join(t.TempDir(), "report.json")
	closed := false
	workloads := []Workload{{Name: "w", Unit: "read", Open: func(dir string) ([]Side, func() error, error) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "x.db"), nil, 0o600))
		return []Side{a.side(), broken.side()}, func() error { closed = true; return nil }, nil
	}}}
	var out bytes.Buffer
	_, err := Main("reads", Config{Plan: Plan{Rounds: 2, Time: time.Millisecond}, Dir: dir, JSON: report}, workloads, &out)
	require.EqualError(t, err, "w: broken: torn")
	assert.True(t, closed)
	assert.Contains(t, out.String(), "broken failed: torn")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)

	text, err := os.ReadFile(report)
	require.NoError(t, err)
	var read Report
	require.NoError(t, json.Unmarshal(text, &read))
	assert.InDelta(t, 100, read.Results[0].Sides[0].Median, 0)
	assert.Equal(t, "torn", read.Results[0].Sides[1].NotRun)

	_, err = Main("reads", Config{Plan: Plan{Rounds: 2, Time: time.Millisecond}, Filter: "v"}, workloads, &out)
	require.ErrorContains(t, err, "nothing matches")
}

// serveVariable makes the test binary the process of a side.
const serveVariable = "BENCH_TEST_SERVE"

func TestMain(m *testing.M) {
	switch os.Getenv(serveVariable) {
	case "":
		os.Exit(m.Run())
	case "works":
		f := &fake{name: "f", log: new([]string), ns: []int64{7}}
		if err := Serve(os.Stdin, os.Stdout, f.side().Start); err != nil {
			panic(err)
		}
	case "fails":
		f := &fake{name: "f", log: new([]string), ns: []int64{7}, fails: errors.New("torn")}
		if err := Serve(os.Stdin, os.Stdout, f.side().Start); err != nil {
			panic(err)
		}
	case "missing":
		_ = Serve(os.Stdin, os.Stdout, func() (Runner, Info, error) { return nil, Info{}, errors.New("not installed") })
	case "dies":
		_, _ = os.Stderr.WriteString("no such thing")
		os.Exit(3)
	}
}

func TestSidesRunInProcessesOfTheirOwn(t *testing.T) {
	t.Parallel()
	command := func(what string) func() (Runner, Info, error) {
		return Command(func() (*exec.Cmd, error) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), serveVariable+"="+what)
			return cmd, nil
		})
	}
	runner, info, err := command("works")()
	require.NoError(t, err)
	assert.Equal(t, "3.0.0", info.SQLite)
	for range 2 {
		s, err := runner.Run(time.Millisecond)
		require.NoError(t, err)
		assert.Equal(t, Sample{Ops: 10, Nanos: 70}, s)
	}
	require.NoError(t, runner.Close())

	runner, _, err = command("fails")()
	require.NoError(t, err)
	_, err = runner.Run(time.Millisecond)
	require.EqualError(t, err, "torn")
	require.NoError(t, runner.Close())

	_, _, err = command("missing")()
	require.EqualError(t, err, "not installed")
	_, _, err = command("dies")()
	require.EqualError(t, err, "exit status 3: no such thing")
	_, _, err = Command(func() (*exec.Cmd, error) { return exec.Command("/nowhere/at/all"), nil })()
	require.Error(t, err)
}
