// Package report renders what the benchmarks came to, as a page of Markdown with charts.
package report

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sanelite/sanelite/internal/bench/harness"
)

// Page is all that is reported. It is kept as JSON beside the page, so that one topic can be measured anew.
type Page struct {
	Machine  Machine   `json:"machine"`
	Sections []Section `json:"sections"`
}

// Section is what a topic came to.
type Section struct {
	Name   string         `json:"name"`
	Title  string         `json:"title"`
	Text   string         `json:"text"`
	Report harness.Report `json:"report"`
}

// Put adds s, or replaces the section with its name.
func (p *Page) Put(s Section) {
	for i := range p.Sections {
		if p.Sections[i].Name == s.Name {
			p.Sections[i] = s
			return
		}
	}
	p.Sections = append(p.Sections, s)
}

// Write writes the page at path, and its charts into a folder beside it that is named after it.
func (p *Page) Write(path string) error {
	folder := strings.TrimSuffix(path, filepath.Ext(path))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	text := p.heading()
	for _, s := range p.Sections {
		chart := chartOf(s)
		if err := chart.write(folder); err != nil {
			return fmt.Errorf("chart of %s: %w", s.Name, err)
		}
		text += s.markdown(chart.picture(filepath.Base(folder)))
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// Missed counts the targets that were reached and those that were not, and the sides that did not run.
func (p *Page) Missed() (reached, missed, notRun int) {
	for _, s := range p.Sections {
		for _, r := range s.Report.Results {
			for _, side := range r.Sides {
				if side.NotRun != "" {
					notRun++
				}
				for _, f := range side.Findings {
					switch f.Met {
					case "pass":
						reached++
					case "FAIL":
						missed++
					}
				}
			}
		}
	}
	return reached, missed, notRun
}
