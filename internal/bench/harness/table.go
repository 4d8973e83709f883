package harness

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// Text renders the result as a table for people.
func (r Result) Text() string {
	latency, beside, ratio := false, false, false
	for _, s := range r.Sides {
		latency = latency || s.Latency != nil
		beside = beside || s.Beside > 0
		ratio = ratio || s.Ratio != nil
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s\n", r.Workload, r.Title)
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	columns := []string{"side", "ns/" + r.Unit, "min – max", r.Unit + "s/s"}
	if beside {
		columns = append(columns, "commits/s")
	}
	if latency {
		columns = append(columns, "p50", "p99", "p99.9", "longest")
	}
	if ratio {
		columns = append(columns, "ratio", "min – max", "target", "", "ratio is")
	}
	writeRow(t, append(columns, "SQLite"))
	for _, s := range r.Sides {
		if s.NotRun == "" {
			writeRow(t, append(s.cells(latency, beside, ratio), s.SQLite))
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

func (s SideResult) cells(latency, beside, ratio bool) []string {
	cells := []string{s.Name, figure(s.Median), figure(s.Min) + " – " + figure(s.Max), figure(1e9 / s.Median)}
	if beside {
		cells = append(cells, blankZero(s.Beside, "%.0f"))
	}
	if latency {
		if l := s.Latency; l != nil {
			cells = append(cells, short(l.P50), short(l.P99), short(l.P999), short(l.Longest))
		} else {
			cells = append(cells, "", "", "", "")
		}
	}
	if ratio {
		r := s.Ratio
		switch {
		case r == nil:
			cells = append(cells, "", "", "", "", "")
		case r.Median == 0:
			cells = append(cells, "", "", r.Target, r.Met, r.Of)
		default:
			cells = append(cells, fmt.Sprintf("%.2f", r.Median), fmt.Sprintf("%.2f – %.2f", r.Min, r.Max), r.Target, r.Met, r.Of)
		}
	}
	return cells
}

func writeRow(t *tabwriter.Writer, cells []string) {
	fmt.Fprintln(t, strings.Join(cells, "\t"))
}

// figure shows about four digits, thousands apart.
func figure(f float64) string {
	if f < 100 {
		return fmt.Sprintf("%.1f", f)
	}
	digits := fmt.Sprintf("%.0f", f)
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
