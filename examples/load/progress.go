package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"
)

// display shows how far the load has come; loaded are the rows of this run.
type display interface {
	update(at position, loaded int64, took time.Duration)
	end()
}

// newDisplay returns a bar where out is a terminal, else lines in the log. (/dev/null counts as a terminal: nobody minds.)
func newDisplay(out *os.File, log *slog.Logger) display {
	if info, err := out.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		return &bar{out: out}
	}
	return &lines{log: log}
}

// share is how much of the file is in the database, from 0 to 1. It counts bytes: how many rows there are, nobody knows.
func (p position) share() float64 {
	if p.Size == 0 {
		return 1
	}
	return float64(p.Bytes) / float64(p.Size)
}

// rate is in rows per second.
func rate(rows int64, took time.Duration) float64 {
	return float64(rows) / max(took, time.Millisecond).Seconds()
}

// bar draws one line over itself.
type bar struct {
	out   io.Writer
	width int // of the line before
}

const barWidth = 30

func (b *bar) update(at position, loaded int64, took time.Duration) {
	done := int(at.share() * barWidth)
	line := fmt.Sprintf("[%s%s] %3.0f %%  %d rows  %.0f rows/s", strings.Repeat("#", done), strings.Repeat("-", barWidth-done),
		100*at.share(), at.Rows, rate(loaded, took))
	fmt.Fprintf(b.out, "\r%-*s", b.width, line) // blanks over what is left of a longer one
	b.width = len(line)
}

func (b *bar) end() {
	if b.width > 0 {
		fmt.Fprintln(b.out)
	}
}

// lines writes one for each tenth of the file.
type lines struct {
	log   *slog.Logger
	tenth int // that was written last
}

func (l *lines) update(at position, loaded int64, took time.Duration) {
	tenth := int(at.share() * 10)
	if tenth == l.tenth {
		return
	}
	l.tenth = tenth
	l.log.Info("progress", "percent", 10*tenth, "rows", at.Rows, "rows_per_second", int64(rate(loaded, took)))
}

func (l *lines) end() {}
