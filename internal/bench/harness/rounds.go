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
	Ratio   *Ratio    `json:"ratio,omitempty"`

	latency Histogram
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

// Ratio is a comparison with another side.
type Ratio struct {
	Of     string  `json:"of"`
	Median float64 `json:"median,omitempty"`
	Min    float64 `json:"min,omitempty"`
	Max    float64 `json:"max,omitempty"`
	Target string  `json:"target,omitempty"`
	Met    string  `json:"met,omitempty"` // "pass", "FAIL", "not run", or empty without a target
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
		if side.Compare != nil {
			result.Sides[i].Ratio = compare(*side.Compare, result.Sides[i], result.Sides)
		}
	}
	return result, errors.Join(errs...)
}

func start(side Side) SideResult {
	s := SideResult{Name: side.Name}
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
	}
}

func (s *SideResult) sum() {
	if s.NotRun != "" || len(s.NsPerOp) == 0 {
		s.NsPerOp = nil
		return
	}
	s.Median, s.Min, s.Max = spread(s.NsPerOp)
	s.Beside = Median(s.beside)
	if !s.latency.IsZero() {
		s.Latency = &Latency{s.latency.Quantile(0.5), s.latency.Quantile(0.99), s.latency.Quantile(0.999), s.latency.Longest()}
	}
}

// compare takes the ratio within each round, and of these the median: what slows the machine for a while slows both.
func compare(c Compare, this SideResult, all []SideResult) *Ratio {
	r := &Ratio{Of: c.meaning(), Target: c.target()}
	if c.Op != NoTarget {
		r.Met = "not run"
	}
	var ratios []float64
	for _, other := range all {
		if other.Name != c.With {
			continue
		}
		for i := range min(len(this.NsPerOp), len(other.NsPerOp)) {
			ratios = append(ratios, c.ratio(this.NsPerOp[i], other.NsPerOp[i]))
		}
	}
	if len(ratios) == 0 {
		return r
	}
	r.Median, r.Min, r.Max = spread(ratios)
	if c.Op != NoTarget {
		r.Met = "pass"
		if !c.met(r.Median) {
			r.Met = "FAIL"
		}
	}
	return r
}
