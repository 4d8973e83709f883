package harness

import (
	"errors"
	"fmt"
	"time"
)

// Plan says how long and how often sides run.
type Plan struct {
	Rounds int
	Time   time.Duration // of each side in each round
}

// Result is what a workload came to.
type Result struct {
	Workload string       `json:"workload"`
	Title    string       `json:"title"`
	Unit     string       `json:"unit"`
	Sides    []SideResult `json:"sides"`
}

// SideResult is what a side of a workload came to.
type SideResult struct {
	Name    string    `json:"name"`
	SQLite  string    `json:"sqlite,omitempty"`
	NotRun  string    `json:"not_run,omitempty"` // the reason; then there are no figures
	Failed  bool      `json:"failed,omitempty"`  // it began to run, and NotRun says what happened
	NsPerOp []float64 `json:"ns_per_op,omitempty"`
	Median  float64   `json:"median_ns,omitempty"`
	Min     float64   `json:"min_ns,omitempty"`
	Max     float64   `json:"max_ns,omitempty"`
	Beside  float64   `json:"beside_per_s,omitempty"`
	Latency *Latency  `json:"latency,omitempty"`

	Figures   map[string]float64 `json:"figures,omitempty"` // the greatest of the rounds
	Findings  []Finding          `json:"findings,omitempty"`
	Published string             `json:"published,omitempty"`

	latency Histogram
	rounds  []Histogram
	beside  []float64
	runner  Runner
}

// Latency is how long single operations took, over all rounds.
type Latency struct {
	P50     time.Duration `json:"p50_ns"`
	P99     time.Duration `json:"p99_ns"`
	P999    time.Duration `json:"p999_ns"`
	Longest time.Duration `json:"longest_ns"`
}

// Finding is a ratio to another side, or a figure that has a limit.
type Finding struct {
	Of     string  `json:"of"` // what it is, in words
	With   string  `json:"with,omitempty"`
	Median float64 `json:"median,omitempty"`
	Min    float64 `json:"min,omitempty"`
	Max    float64 `json:"max,omitempty"`
	Target string  `json:"target,omitempty"`
	Met    string  `json:"met,omitempty"` // "pass", "FAIL", "not run", or empty without a target

	Published float64 `json:"published,omitempty"`
}

// Run runs sides against each other. A side that cannot start, or fails, is in the result with the reason.
func Run(w Workload, sides []Side, plan Plan) (Result, error) {
	result := Result{Workload: w.Name, Title: w.Title, Unit: w.Unit, Sides: make([]SideResult, len(sides))}
	for i, side := range sides {
		result.Sides[i] = start(side)
	}
	for i := range result.Sides {
		result.Sides[i].run(plan.Time/4, false) // compilers, caches, and the page cache of the system
	}
	for round := range plan.Rounds {
		for _, i := range Rotated(len(sides), round) {
			result.Sides[i].run(plan.Time, true)
		}
	}
	var errs []error
	for i := range result.Sides {
		s := &result.Sides[i]
		if s.runner != nil {
			if err := s.runner.Close(); err != nil {
				errs = append(errs, fmt.Errorf("%s: closing %s: %w", w.Name, s.Name, err))
			}
		}
		s.sum()
	}
	for i, side := range sides {
		s := &result.Sides[i]
		for _, c := range side.Compare {
			s.Findings = append(s.Findings, compare(c, *s, result.Sides))
		}
		for _, l := range side.Limits {
			s.Findings = append(s.Findings, check(l, *s))
		}
	}
	return result, errors.Join(errs...)
}

func start(side Side) SideResult {
	s := SideResult{Name: side.Name, Published: side.Published}
	runner, info, err := side.Start()
	if err == nil {
		if err = info.lacks(side.Want); err != nil {
			err = errors.Join(err, runner.Close())
		}
	}
	if err != nil {
		s.NotRun = err.Error()
		return s
	}
	s.runner, s.SQLite = runner, info.SQLite
	return s
}

func (s *SideResult) run(d time.Duration, counts bool) {
	if s.NotRun != "" {
		return
	}
	sample, err := s.runner.Run(d)
	if err != nil {
		s.NotRun, s.Failed = err.Error(), true
		return
	}
	if counts {
		s.NsPerOp = append(s.NsPerOp, sample.NsPerOp())
		s.beside = append(s.beside, sample.Beside)
		s.latency.Merge(sample.Latency)
		s.rounds = append(s.rounds, sample.Latency)
		for name, value := range sample.Figures {
			if s.Figures == nil {
				s.Figures = map[string]float64{}
			}
			s.Figures[name] = max(s.Figures[name], value)
		}
	}
}

func (s *SideResult) sum() {
	if s.NotRun != "" || len(s.NsPerOp) == 0 {
		s.NsPerOp, s.rounds, s.Figures = nil, nil, nil
		return
	}
	s.Median, s.Min, s.Max = spread(s.NsPerOp)
	s.Beside = Median(s.beside)
	if !s.latency.IsZero() {
		s.Latency = &Latency{s.latency.Quantile(0.5), s.latency.Quantile(0.99), s.latency.Quantile(0.999), s.latency.Longest()}
	}
}

// compare takes the ratio within each round, and of these the median: what slows the machine for a while slows both.
func compare(c Compare, this SideResult, all []SideResult) Finding {
	var ratios []float64
	for _, other := range all {
		if other.Name != c.With {
			continue
		}
		ours, theirs := this.NsPerOp, other.NsPerOp
		if c.By >= P99 {
			ours, theirs = this.latencies(c.By), other.latencies(c.By)
		}
		for i := range min(len(ours), len(theirs)) {
			ratios = append(ratios, c.ratio(ours[i], theirs[i]))
		}
	}
	f := find(c.meaning(), ratios, c.Op, c.Than)
	f.With, f.Published = c.With, c.Published
	return f
}

// latencies are those of each round; none if single operations were not measured.
func (s SideResult) latencies(by Measure) (ns []float64) {
	for _, h := range s.rounds {
		if !h.IsZero() {
			ns = append(ns, float64(by.latency(h)))
		}
	}
	return ns
}

// check compares a figure with its limit.
func check(l Limit, s SideResult) Finding {
	var values []float64
	switch value, known := s.Figures[l.Figure]; {
	case known:
		values = []float64{value}
	case l.Figure == PerSecond:
		for _, ns := range s.NsPerOp {
			values = append(values, 1e9/ns)
		}
	case l.Figure == P99Millis:
		for _, ns := range s.latencies(P99) {
			values = append(values, ns/1e6)
		}
	}
	return find(l.Figure, values, l.Op, l.Than)
}

func find(of string, values []float64, op Op, than float64) Finding {
	f := Finding{Of: of, Target: op.target(than)}
	if len(values) == 0 {
		if op != NoTarget {
			f.Met = "not run"
		}
		return f
	}
	f.Median, f.Min, f.Max = spread(values)
	switch {
	case op == NoTarget:
	case op.met(f.Median, than):
		f.Met = "pass"
	default:
		f.Met = "FAIL"
	}
	return f
}
