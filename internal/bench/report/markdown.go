package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sanelite/sanelite/internal/bench/harness"
)

const intro = `# Performance

What this library does in the time of others, measured in one run on one machine. The page is made by a program:

` + "```sh\ninternal/bench/setup.sh\ngo -C internal/bench run ./cmd/report\n```" + `

**How to read it.** Ratios come first; figures of different machines should not be compared. A ratio is the median of the ratios within
each round, in which every side runs once for the same time, in an order that rotates: a machine that slows down for a while slows
all. In brackets stand the least and the greatest. Every side is a process of its own with the same schema, data, statements and
settings, read back before it may run. Targets that were missed are in the tables like those that were reached, and what could not run
here is named with the reason. "Published" is what others measured, on their machines, for the same work.

`

func (p *Page) heading() string {
	var b strings.Builder
	b.WriteString(intro)
	m := p.Machine
	fmt.Fprintf(&b, "**The machine.** %s, %d × %s, %s of memory, databases on %s; measured on %s.", m.System, m.CPUs, m.CPU, m.Memory, m.Files, m.Date)
	var versions []string
	for _, name := range slices.Sorted(maps.Keys(m.Versions)) {
		versions = append(versions, name+" "+m.Versions[name])
	}
	fmt.Fprintf(&b, " %s.\n\n", strings.Join(versions, ", "))
	reached, missed, notRun := p.Missed()
	fmt.Fprintf(&b, "**The outcome.** %d targets reached, %d missed, %d sides not run.\n\n", reached, missed, notRun)
	return b.String()
}

func (s Section) markdown(picture string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s\n\n", s.Title, s.Text)
	fmt.Fprintf(&b, "%d rounds, %v for each side in each.\n\n%s\n", s.Report.Rounds, time.Duration(s.Report.RunMS)*time.Millisecond, picture)
	for _, r := range s.Report.Results {
		b.WriteString(result(r))
	}
	return b.String()
}

// result is a table for one workload.
func result(r harness.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", capital(r.Title))
	c := columnsOf(r)
	row(&b, c.heading(r.Unit))
	row(&b, slices.Repeat([]string{"---"}, len(c.heading(r.Unit))))
	for _, s := range r.Sides {
		if s.NotRun == "" {
			row(&b, c.cells(s))
		}
	}
	b.WriteString("\n")
	for _, s := range r.Sides {
		switch {
		case s.Failed:
			fmt.Fprintf(&b, "%s **failed**: %s\n\n", s.Name, words(s.NotRun))
		case s.NotRun != "":
			fmt.Fprintf(&b, "%s was not run: %s\n\n", s.Name, words(s.NotRun))
		}
	}
	return b.String()
}

// columns says which columns a table has.
type columns struct {
	findings, published, latency, beside bool
	figures                              []string
}

func columnsOf(r harness.Result) columns {
	var c columns
	figures := map[string]bool{}
	for _, s := range r.Sides {
		c.findings = c.findings || len(s.Findings) > 0
		c.published = c.published || s.Published != ""
		c.latency = c.latency || s.Latency != nil
		c.beside = c.beside || s.Beside > 0
		for name := range s.Figures {
			figures[name] = true
		}
	}
	c.figures = slices.Sorted(maps.Keys(figures))
	return c
}

func (c columns) heading(unit string) []string {
	h := []string{"side"}
	if c.findings {
		h = append(h, "ratio")
	}
	h = append(h, unit+"s/s", "per "+unit)
	if c.published {
		h = append(h, "published")
	}
	if c.beside {
		h = append(h, "commits/s beside")
	}
	if c.latency {
		h = append(h, "p50", "p99", "p99.9", "longest")
	}
	return append(h, c.figures...)
}

func (c columns) cells(s harness.SideResult) []string {
	cells := []string{s.Name}
	if c.findings {
		var list []string
		for _, f := range s.Findings {
			list = append(list, finding(f))
		}
		cells = append(cells, strings.Join(list, "<br>"))
	}
	cells = append(cells, harness.Figure(1e9/s.Median), short(time.Duration(s.Median)))
	if c.published {
		cells = append(cells, s.Published)
	}
	if c.beside {
		cells = append(cells, harness.Figure(s.Beside))
	}
	if c.latency {
		if l := s.Latency; l != nil {
			cells = append(cells, short(l.P50), short(l.P99), short(l.P999), short(l.Longest))
		} else {
			cells = append(cells, "", "", "", "")
		}
	}
	for _, name := range c.figures {
		value, known := s.Figures[name]
		if !known {
			cells = append(cells, "")
			continue
		}
		cells = append(cells, harness.Figure(value))
	}
	return cells
}

// finding is a ratio, or a figure with a limit, in words: "**0.51** (0.48 – 0.55) time of sanelite ÷ this, target ≤ 0.60: reached".
func finding(f harness.Finding) string {
	if f.Met == "not run" || f.Median == 0 && f.Target == "" {
		return ""
	}
	text := fmt.Sprintf("**%s** (%s – %s) %s", harness.Figure(f.Median), harness.Figure(f.Min), harness.Figure(f.Max), f.Of)
	if f.Published != 0 {
		text += ", published " + harness.Figure(f.Published)
	}
	switch f.Met {
	case "pass":
		text += ", target " + f.Target + " reached"
	case "FAIL":
		text += ", target " + f.Target + " **missed**"
	}
	return text
}

func row(b *strings.Builder, cells []string) {
	for _, cell := range cells {
		fmt.Fprintf(b, "| %s ", strings.ReplaceAll(cell, "|", "\\|"))
	}
	b.WriteString("|\n")
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func words(s string) string { return strings.Join(strings.Fields(s), " ") }

// short rounds a duration to three digits.
func short(d time.Duration) string {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}
