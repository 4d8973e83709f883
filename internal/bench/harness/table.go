package harness

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"text/tabwriter"
	"time"
)

// Text renders the result as a table for people.
func (r Result) Text() string {
	l := r.layout()
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s\n", r.Workload, r.Title)
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	writeRow(t, l.heading(r.Unit))
	for _, s := range r.Sides {
		if s.NotRun != "" {
			continue
		}
		writeRow(t, l.cells(s))
		for i := 1; i < len(s.Findings); i++ {
			writeRow(t, append(make([]string, l.before), s.Findings[i].cells()...))
		}
	}
	_ = t.Flush() // into memory
	for _, s := range r.Sides {
		switch {
		case s.Failed:
			fmt.Fprintf(&b, "%s failed: %s\n", s.Name, oneLine(s.NotRun))
		case s.NotRun != "":
			fmt.Fprintf(&b, "%s not run: %s\n", s.Name, oneLine(s.NotRun))
		}
	}
	return b.String()
}

// layout says which columns a table has.
type layout struct {
	latency, beside, findings, published bool
	figures                              []string
	before                               int // columns before the findings
}

func (r Result) layout() layout {
	var l layout
	names := map[string]bool{}
	for _, s := range r.Sides {
		l.latency = l.latency || s.Latency != nil
		l.beside = l.beside || s.Beside > 0
		l.findings = l.findings || len(s.Findings) > 0
		l.published = l.published || s.Published != ""
		for name := range s.Figures {
			names[name] = true
		}
	}
	l.figures = sortedKeys(names)
	return l
}

func (l *layout) heading(unit string) []string {
	cells := []string{"side", "ns/" + unit, "min – max", unit + "s/s"}
	if l.beside {
		cells = append(cells, "commits/s")
	}
	if l.latency {
		cells = append(cells, "p50", "p99", "p99.9", "longest")
	}
	cells = append(cells, l.figures...)
	if l.published {
		cells = append(cells, "published")
	}
	l.before = len(cells)
	if l.findings {
		cells = append(cells, "finding", "min – max", "target", "", "what it is")
	}
	return append(cells, "SQLite")
}

func (l *layout) cells(s SideResult) []string {
	cells := []string{s.Name, figure(s.Median), figure(s.Min) + " – " + figure(s.Max), figure(1e9 / s.Median)}
	if l.beside {
		cells = append(cells, blankZero(s.Beside, "%.0f"))
	}
	if l.latency {
		if of := s.Latency; of != nil {
			cells = append(cells, short(of.P50), short(of.P99), short(of.P999), short(of.Longest))
		} else {
			cells = append(cells, "", "", "", "")
		}
	}
	for _, name := range l.figures {
		value, known := s.Figures[name]
		if !known {
			cells = append(cells, "")
			continue
		}
		cells = append(cells, Figure(value))
	}
	if l.published {
		cells = append(cells, s.Published)
	}
	if l.findings {
		if len(s.Findings) == 0 {
			s.Findings = []Finding{{}}
		}
		cells = append(cells, s.Findings[0].cells()...)
	}
	return append(cells, s.SQLite)
}

func (f Finding) cells() []string {
	if f.Met == "not run" || f.Of == "" {
		return []string{"", "", f.Target, f.Met, f.Of}
	}
	return []string{Figure(f.Median), Figure(f.Min) + " – " + Figure(f.Max), f.Target, f.Met, f.Of}
}

// Figure shows a number for people: whole ones and those from 1,000 without decimal places, thousands apart, others with two.
func Figure(f float64) string {
	switch {
	case f == math.Trunc(f) || f >= 1000:
		return thousands(fmt.Sprintf("%.0f", f))
	default:
		return fmt.Sprintf("%.2f", f)
	}
}

func writeRow(t *tabwriter.Writer, cells []string) {
	fmt.Fprintln(t, strings.Join(cells, "\t"))
}

// figure shows about four digits, thousands apart.
func figure(f float64) string {
	if f < 100 {
		return fmt.Sprintf("%.1f", f)
	}
	return thousands(fmt.Sprintf("%.0f", f))
}

func thousands(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func blankZero(f float64, format string) string {
	if f == 0 {
		return ""
	}
	return fmt.Sprintf(format, f)
}

// short rounds a duration to three digits.
func short(d time.Duration) string {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
