package harness

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Config is what the flags of a command say.
type Config struct {
	Plan   Plan
	Filter string // see Main
	Dir    string // where the databases are made; empty: the system's folder for temporary files
	JSON   string // file that gets a Report; empty: none

	// Progress is called before each workload, and after the last with done equal to total; nil: not at all.
	Progress func(done, total int, next string)
}

// Report is all results of a command, in JSON.
type Report struct {
	Command string    `json:"command"`
	Time    time.Time `json:"time"`
	Go      string    `json:"go"`
	CPU     string    `json:"cpu,omitempty"`
	CPUs    int       `json:"cpus"`
	Rounds  int       `json:"rounds"`
	RunMS   int64     `json:"run_ms"`
	Results []Result  `json:"results"`
}

// ParseFlags reads the flags that all commands share.
func ParseFlags(command string, args []string) (Config, error) {
	var c Config
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	quick := flags.Bool("quick", false, "3 rounds of 0.1 s: shows that everything works, measures little")
	flags.IntVar(&c.Plan.Rounds, "rounds", 7, "how often each side runs")
	flags.DurationVar(&c.Plan.Time, "time", 500*time.Millisecond, "how long each side runs in each round")
	flags.StringVar(&c.Filter, "filter", "", "regular expression of workloads to run, or of workload/side where it has a slash")
	flags.StringVar(&c.Dir, "dir", "", "folder for the databases (default: the system's for temporary files)")
	flags.StringVar(&c.JSON, "json", "", "file that gets the results as JSON")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if *quick && !given["rounds"] {
		c.Plan.Rounds = 3
	}
	if *quick && !given["time"] {
		c.Plan.Time = 100 * time.Millisecond
	}
	if flags.NArg() > 0 {
		return c, fmt.Errorf("%s: unexpected argument %q", command, flags.Arg(0))
	}
	if c.Plan.Rounds < 1 || c.Plan.Time < time.Millisecond {
		return c, fmt.Errorf("%s: at least one round of a millisecond", command)
	}
	return c, nil
}

// Main runs workloads one after the other and prints a table for each as soon as it is there. It returns an error if a side
// failed; a side that cannot run here, or misses its target, is no error.
func Main(command string, c Config, workloads []Workload, out io.Writer) (Report, error) {
	report := Report{
		Command: command, Time: time.Now().UTC().Truncate(time.Second), Go: runtime.Version(), CPU: cpu(), CPUs: runtime.NumCPU(),
		Rounds: c.Plan.Rounds, RunMS: c.Plan.Time.Milliseconds(),
	}
	wanted, err := parseFilter(c.Filter)
	if err != nil {
		return report, err
	}
	fmt.Fprintf(out, "%s, %s/%s, %d × %s\n", report.Go, runtime.GOOS, runtime.GOARCH, report.CPUs, report.CPU)
	fmt.Fprintf(out, "medians of %d rounds, %v for each side in each; ratios are medians of the ratios within a round\n", c.Plan.Rounds, c.Plan.Time)
	workloads = slices.DeleteFunc(slices.Clone(workloads), func(w Workload) bool { return !wanted.workload(w.Name) })
	progress := c.Progress
	if progress == nil {
		progress = func(int, int, string) {}
	}
	defer progress(len(workloads), len(workloads), "")
	var errs []error
	for i, w := range workloads {
		progress(i, len(workloads), w.Name)
		r, err := runIn(c, w, wanted)
		if err != nil {
			errs = append(errs, err)
		}
		if len(r.Sides) == 0 {
			continue
		}
		fmt.Fprintf(out, "\n%s", r.Text())
		report.Results = append(report.Results, r)
		for _, s := range r.Sides {
			if s.Failed {
				errs = append(errs, fmt.Errorf("%s: %s: %s", w.Name, s.Name, s.NotRun))
			}
		}
	}
	if len(report.Results) == 0 && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("%s: nothing matches %q", command, c.Filter))
	}
	if c.JSON != "" {
		errs = append(errs, writeJSON(c.JSON, report))
	}
	return report, errors.Join(errs...)
}

// runIn runs one workload in a folder that is removed afterwards.
func runIn(c Config, w Workload, wanted filter) (r Result, err error) {
	dir, err := os.MkdirTemp(c.Dir, "bench-"+w.Name+"-")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	all, done, err := w.Open(dir)
	if err != nil {
		return r, fmt.Errorf("%s: %w", w.Name, err)
	}
	if done != nil {
		defer func() { err = errors.Join(err, done()) }()
	}
	var sides []Side
	for _, s := range all {
		if wanted.side(s.Name) {
			sides = append(sides, s)
		}
	}
	return Run(w, sides, c.Plan)
}

// filter has a nil expression where everything is wanted.
type filter struct{ workloads, sides *regexp.Regexp }

func parseFilter(text string) (f filter, err error) {
	workloads, sides, _ := strings.Cut(text, "/")
	if workloads != "" {
		if f.workloads, err = regexp.Compile(workloads); err != nil {
			return f, err
		}
	}
	if sides != "" {
		f.sides, err = regexp.Compile(sides)
	}
	return f, err
}

func (f filter) workload(name string) bool {
	return f.workloads == nil || f.workloads.MatchString(name)
}
func (f filter) side(name string) bool { return f.sides == nil || f.sides.MatchString(name) }

func writeJSON(path string, report Report) error {
	text, err := json.MarshalIndent(report, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// cpu names the processor where the system tells it in the way of Linux.
func cpu() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
