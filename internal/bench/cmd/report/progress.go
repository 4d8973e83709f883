package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// progress shows how far the benchmarks are: a bar on a terminal, a line for each workload elsewhere.
type progress struct {
	out      *os.File
	terminal bool
	begin    time.Time
	done     int // workloads of the topics before
	total    int
}

func newProgress(out *os.File, total int) *progress {
	info, err := out.Stat()
	return &progress{out: out, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0, begin: time.Now(), total: total}
}

// topic returns a function for harness.Config.Progress.
func (p *progress) topic(name string) func(done, total int, next string) {
	before := p.done
	return func(done, _ int, next string) {
		p.done = before + done
		p.show(name, next)
	}
}

const width = 30

func (p *progress) show(topic, next string) {
	took := time.Since(p.begin)
	what := topic + " " + next
	if !p.terminal {
		if next != "" {
			fmt.Fprintf(p.out, "%d of %d: %s (%v)\n", p.done+1, p.total, what, took.Round(time.Second))
		}
		return
	}
	left := ""
	if p.done > 0 {
		left = fmt.Sprintf(", about %v left", (took * time.Duration(p.total-p.done) / time.Duration(p.done)).Round(time.Second))
	}
	full := width * p.done / p.total
	_, _ = io.WriteString(p.out, fmt.Sprintf("\r\x1b[K[%s%s] %d/%d %s%s", strings.Repeat("█", full), strings.Repeat("·", width-full), p.done, p.total, what, left))
}

func (p *progress) end() {
	if p.terminal {
		fmt.Fprintln(p.out)
	}
}
