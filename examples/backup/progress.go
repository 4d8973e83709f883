package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/sanelite/sanelite/backup"
)

// isTerminal reports whether somebody looks at f. Devices that are none take the bar without harm.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// showProgress draws a bar on w while a copy is made; nil draws nothing.
func showProgress(w io.Writer) func(backup.Progress) error {
	if w == nil {
		return nil
	}
	const often = 50 * time.Millisecond
	var drawn time.Duration
	return func(p backup.Progress) error {
		if p.PagesLeft > 0 && p.PagesLeft < p.PagesTotal && p.Elapsed-drawn < often {
			return nil
		}
		drawn = p.Elapsed
		end := ""
		if p.PagesLeft == 0 {
			end = "\n"
		}
		_, _ = fmt.Fprintf(w, "\r%s%s", bar(p), end) // a terminal that is gone is no reason to have no backup
		return nil
	}
}

// bar is one line, of the same width for all values up to some hundred gigabytes.
func bar(p backup.Progress) string {
	const width = 40
	done := 1.0
	if p.PagesTotal > 0 {
		done = float64(p.PagesTotal-p.PagesLeft) / float64(p.PagesTotal)
	}
	left := "      "
	if done > 0 && done < 1 {
		left = fmt.Sprintf("%5.0fs", p.Elapsed.Seconds()/done*(1-done))
	}
	full := int(done * width)
	return fmt.Sprintf("[%s%s] %3.0f %% %9.1f MB %s", strings.Repeat("#", full), strings.Repeat(" ", width-full), 100*done, float64(p.BytesDone)/1e6, left)
}
