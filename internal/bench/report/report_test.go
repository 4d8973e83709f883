package report

import (
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/bench/harness"
)

func page() *Page {
	p := &Page{Machine: Machine{Date: "2026-01-02", System: "Linux, amd64", CPU: "a processor", CPUs: 2, Versions: map[string]string{"Go": "1.26"}}}
	p.Put(Section{Name: "reads", Title: "Reads", Text: "What is read.", Report: harness.Report{Rounds: 3, RunMS: 500, Results: []harness.Result{{
		Workload: "row", Title: "one row by key", Unit: "read",
		Sides: []harness.SideResult{
			{Name: "sanelite", Median: 1000},
			{
				Name: "other|side", Median: 2500, Published: "1,819/s", Figures: map[string]float64{"errors": 3},
				Latency: &harness.Latency{P50: 2 * time.Microsecond, P99: 3 * time.Microsecond, P999: 4 * time.Microsecond, Longest: time.Millisecond},
				Findings: []harness.Finding{
					{Of: "speed of sanelite ÷ this", With: "sanelite", Median: 2.5, Min: 2, Max: 3, Target: "≥ 2", Met: "pass", Published: 7},
					{Of: "errors", Median: 3, Min: 3, Max: 3, Target: "≤ 0", Met: "FAIL"},
				},
			},
			{Name: "missing", NotRun: "not\ninstalled"},
			{Name: "broken", NotRun: "torn", Failed: true},
		},
	}}}})
	return p
}

func TestThePageTellsWhatWasReachedMissedAndNotRun(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "performance.md")
	require.NoError(t, page().Write(path))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, part := range []string{
		"1 targets reached, 1 missed, 2 sides not run", "2 × a processor", "Go 1.26", "## Reads", "What is read.", "3 rounds, 500ms",
		"### One row by key",
		"| side | ratio | reads/s | per read | published | p50 | p99 | p99.9 | longest | errors |",
		`| other\|side | **2.50** (2 – 3) speed of sanelite ÷ this, published 7, target ≥ 2 reached<br>**3** (3 – 3) errors, target ≤ 0 **missed** | 400,000 | 2.5µs | 1,819/s | 2µs | 3µs | 4µs | 1ms | 3 |`,
		"missing was not run: not installed", "broken **failed**: torn",
		`srcset="performance/reads-dark.svg"`,
	} {
		assert.Contains(t, string(text), part)
	}
	for _, name := range []string{"reads-light.svg", "reads-dark.svg"} {
		svg, err := os.ReadFile(filepath.Join(filepath.Dir(path), "performance", name))
		require.NoError(t, err)
		assert.Contains(t, string(svg), "row: other|side")
		assert.Contains(t, string(svg), "published elsewhere")
	}
	f, err := os.Open(filepath.Join(filepath.Dir(path), "performance", "reads.png"))
	require.NoError(t, err)
	defer f.Close()
	picture, err := png.Decode(f)
	require.NoError(t, err)
	assert.Greater(t, picture.Bounds().Dx(), 1000)
}

func TestASectionThatIsMeasuredAnewReplacesTheOld(t *testing.T) {
	t.Parallel()
	p := page()
	p.Put(Section{Name: "writes", Title: "Writes"})
	p.Put(Section{Name: "reads", Title: "Reads again"})
	require.Len(t, p.Sections, 2)
	assert.Equal(t, "Reads again", p.Sections[0].Title)
	reached, missed, notRun := p.Missed()
	assert.Zero(t, reached+missed+notRun)
}

func TestBarsStandForTheSpeedOfThisLibraryAsAMultipleOfOthers(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []bar{{"row: other|side", 2.5, 7}}, chartOf(page().Sections[0]).bars)
}
