package harness

import (
	"fmt"
	"time"
)

// A Workload is one thing to do, and those who do it.
type Workload struct {
	Name  string // short, for -filter
	Title string // a line that says what is measured
	Unit  string // what one operation is: "read", "row", "insert"

	// Open makes what the sides need, in the empty folder dir, and returns the sides and a function that undoes what removing the
	// folder does not. The function may be nil.
	Open func(dir string) (sides []Side, done func() error, err error)
}

// A Side is one implementation of a Workload.
type Side struct {
	Name      string
	Start     func() (Runner, Info, error) // gets ready; an error becomes the reason why the side is not run
	Want      map[string]string            // settings that Info must have, so that all sides really do the same
	Compare   []Compare                    // none: the side stands for itself
	Limits    []Limit
	Published string // the figure that others published for the same work, with its unit; empty if there is none
}

// A Runner is a side that has been started.
type Runner interface {
	// Run does the work for about d, and tells how much it did in which time.
	Run(d time.Duration) (Sample, error)
	Close() error
}

// Info describes a side.
type Info struct {
	SQLite   string            `json:"sqlite,omitempty"`   // version
	Settings map[string]string `json:"settings,omitempty"` // values of PRAGMAs, read back
	Error    string            `json:"error,omitempty"`    // why the side cannot run
}

// lacks tells the first difference from want.
func (i Info) lacks(want map[string]string) error {
	for _, name := range sortedKeys(want) {
		if i.Settings[name] != want[name] {
			return fmt.Errorf("%s is %q, want %q", name, i.Settings[name], want[name])
		}
	}
	return nil
}

// Sample is the outcome of one run.
type Sample struct {
	Ops     int64     `json:"ops"`
	Nanos   int64     `json:"ns"`
	Beside  float64   `json:"beside,omitempty"` // commits per second of a writer that ran beside
	Latency Histogram `json:"latency,omitzero"` // of single operations; empty if not asked for
	Error   string    `json:"error,omitempty"`

	// Figures are what else is worth a column, by its heading: "SQLITE_BUSY", "peak RSS, MB". Less is better: the result has the
	// greatest of all rounds.
	Figures map[string]float64 `json:"figures,omitempty"`
}

// NsPerOp is the time of one operation.
func (s Sample) NsPerOp() float64 { return float64(s.Nanos) / float64(s.Ops) }

// Compare is the ratio that stands beside a side, and what it should be.
type Compare struct {
	With string // name of the other side
	By   Measure
	Op   Op      // NoTarget: the ratio is only told
	Than float64 // the target

	Published float64 // the ratio that others measured; 0 if there is none
}

// Measure says which ratio.
type Measure int

const (
	Time    Measure = iota // time of With ÷ time of this side: below 1, With is faster
	Speedup                // speed of With ÷ speed of this side: above 1, With is faster
	Gain                   // speed of this side ÷ speed of With: above 1, this side is faster
	P99                    // 99th percentile of With ÷ that of this side: below 1, With is faster
	P999                   // 99.9th percentile, likewise
	Longest                // longest operation, likewise
)

// latency is how long operations took by this measure.
func (m Measure) latency(h Histogram) time.Duration {
	switch m {
	case P99:
		return h.Quantile(0.99)
	case P999:
		return h.Quantile(0.999)
	default:
		return h.Longest()
	}
}

// Op says on which side of the target a ratio should be.
type Op int

const (
	NoTarget Op = iota
	AtMost
	AtLeast
)

// ratio compares the times of one operation of this side and the other, or their percentiles.
func (c Compare) ratio(this, other float64) float64 {
	if c.By == Speedup {
		return this / other
	}
	return other / this // of times, or of speeds the other way round
}

// Limit is a target for a figure of one side alone.
type Limit struct {
	Figure string // one of Sample.Figures, PerSecond or P99Millis
	Op     Op
	Than   float64
}

// Figures that every side has, if it measures single operations.
const (
	PerSecond = "operations per second"
	P99Millis = "p99, ms"
)

// met tells whether a value reaches the target than.
func (op Op) met(value, than float64) bool {
	switch op {
	case AtMost:
		return value <= than
	case AtLeast:
		return value >= than
	default:
		return true
	}
}

// target is the target in words.
func (op Op) target(than float64) string {
	switch op {
	case AtMost:
		return "≤ " + Figure(than)
	case AtLeast:
		return "≥ " + Figure(than)
	default:
		return ""
	}
}

// meaning is the ratio in words.
func (c Compare) meaning() string {
	switch c.By {
	case Time:
		return "time of " + c.With + " ÷ this"
	case Speedup:
		return "speed of " + c.With + " ÷ this"
	case P99:
		return "p99 of " + c.With + " ÷ this"
	case P999:
		return "p99.9 of " + c.With + " ÷ this"
	case Longest:
		return "longest of " + c.With + " ÷ this"
	default:
		return "speed of this ÷ " + c.With
	}
}
