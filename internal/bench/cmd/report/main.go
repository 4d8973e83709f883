// Report runs all benchmarks that this machine can run, and writes docs/performance.md with its charts.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/sanelite/sanelite/internal/bench/harness"
	"github.com/sanelite/sanelite/internal/bench/report"
	"github.com/sanelite/sanelite/internal/bench/suite"
)

func main() {
	if done, err := suite.Process(os.Args[1:]); done {
		exit(err)
	}
	exit(run(os.Args[1:]))
}

func exit(err error) {
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

type options struct {
	quick, render bool
	only          *regexp.Regexp
	page, dir     string
	rounds        int
}

func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("report", flag.ContinueOnError)
	flags.BoolVar(&o.quick, "quick", false, "3 rounds of 0.1 s each, in a page of its own: shows that everything works, measures little")
	flags.BoolVar(&o.render, "render", false, "measure nothing, write the page anew with the figures of the last run")
	only := flags.String("only", "", "regular expression of topics to measure; what is on the page of the others stays")
	flags.StringVar(&o.page, "page", "", "`file` to write (default: docs/performance.md, or a temporary one with -quick)")
	flags.StringVar(&o.dir, "dir", os.TempDir(), "folder for the databases; where it is in memory, durable writes cost nothing")
	flags.IntVar(&o.rounds, "rounds", 0, "how often each side runs (default: as each topic says)")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("report: unexpected argument %q", flags.Arg(0))
	}
	if o.only, err = regexp.Compile(*only); err != nil {
		return o, fmt.Errorf("report: -only: %w", err)
	}
	if o.page == "" {
		root, err := suite.Root()
		if err != nil {
			return o, err
		}
		o.page = filepath.Join(root, "docs", "performance.md")
		if o.quick {
			o.page = filepath.Join(os.TempDir(), "sanelite-performance-quick.md")
		}
	}
	return o, nil
}

func run(args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	figures := strings.TrimSuffix(o.page, filepath.Ext(o.page)) + ".json"
	page, err := load(figures)
	if err != nil {
		return err
	}
	var failed error
	if o.render {
		explain(page)
	} else {
		failed = measure(o, page)
	}
	if err := save(figures, page); err != nil {
		return errors.Join(failed, err)
	}
	if err := page.Write(o.page); err != nil {
		return errors.Join(failed, err)
	}
	reached, missed, notRun := page.Missed()
	fmt.Fprintf(os.Stderr, "%s: %d targets reached, %d missed, %d sides not run\n", o.page, reached, missed, notRun)
	return failed
}

// measure runs the topics that are wanted and puts what they came to on the page.
func measure(o options, page *report.Page) error {
	topics := suite.Topics()
	total := 0
	for _, t := range topics {
		if o.only.MatchString(t.Name) {
			total += len(t.Workloads)
		}
	}
	if total == 0 {
		return fmt.Errorf("report: no topic matches %q", o.only)
	}
	bar := newProgress(os.Stderr, total)
	defer bar.end()
	var errs []error
	for _, t := range topics {
		if !o.only.MatchString(t.Name) {
			continue
		}
		plan := t.Plan
		plan.Rounds = cmp.Or(o.rounds, plan.Rounds)
		if o.quick {
			plan = harness.Plan{Rounds: 3, Time: 100 * time.Millisecond}
		}
		r, err := harness.Main(t.Name, harness.Config{Plan: plan, Dir: o.dir, Progress: bar.topic(t.Name)}, t.Workloads, os.Stdout)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", t.Name, err))
		}
		page.Put(report.Section{Name: t.Name, Title: t.Title, Text: t.Text, Report: r})
		page.Machine = report.ThisMachine(r.CPU, o.dir)
	}
	return errors.Join(errs...)
}

// explain says of figures that were measured before what is said of them today.
func explain(page *report.Page) {
	for _, t := range suite.Topics() {
		for i := range page.Sections {
			if s := &page.Sections[i]; s.Name == t.Name {
				s.Title, s.Text = t.Title, t.Text
			}
		}
	}
}

func load(path string) (*report.Page, error) {
	page := new(report.Page)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return page, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, page); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return page, nil
}

func save(path string, page *report.Page) error {
	text, err := json.MarshalIndent(page, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
