package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/sanelite/sanelite/examples/chirp/social"
)

// progress shows how far seeding has come: a bar on a terminal, a line for each step elsewhere.
type progress struct {
	out      *os.File
	terminal bool
	step     string
	drawn    time.Time
}

func newProgress(out *os.File) *progress {
	info, err := out.Stat()
	return &progress{out: out, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

const barWidth = 30

func (p *progress) update(at social.Progress) {
	news := at.Step != p.step
	p.step = at.Step
	if !p.terminal {
		if news {
			fmt.Fprintf(p.out, "%s: %d of %d rows after %v\n", at.Step, at.Done, at.Total, at.Elapsed.Round(100*time.Millisecond))
		}
		return
	}
	if !news && time.Since(p.drawn) < 100*time.Millisecond {
		return
	}
	p.drawn = time.Now()
	done := int(barWidth * at.Done / max(1, at.Total))
	fmt.Fprintf(p.out, "\r\x1b[K[%s%s] %3d %%  %s, %v", strings.Repeat("#", done), strings.Repeat("-", barWidth-done),
		100*at.Done/max(1, at.Total), at.Step, at.Elapsed.Round(100*time.Millisecond))
}

func (p *progress) end() {
	if p.terminal {
		fmt.Fprintln(p.out)
	}
}
