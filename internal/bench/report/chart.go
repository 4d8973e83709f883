package report

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/sanelite/sanelite/internal/bench/harness"
)

// chart shows the speed of this library as a multiple of that of others, for all workloads of a section.
type chart struct {
	name, title string
	bars        []bar
}

// bar is one comparison.
type bar struct {
	label     string
	ratio     float64 // speed of this library ÷ theirs
	published float64 // likewise; 0 if there is none
}

const us = "sanelite"

func chartOf(s Section) chart {
	c := chart{name: s.Name, title: s.Title + ": speed of sanelite ÷ theirs"}
	for _, r := range s.Report.Results {
		for _, side := range r.Sides {
			ours, published, found := opponent(r, side)
			if !found {
				continue
			}
			c.bars = append(c.bars, bar{r.Workload + ": " + side.Name, side.Median / ours.Median, published})
		}
	}
	return c
}

// opponent is the side of this library that another one is compared with.
func opponent(r harness.Result, side harness.SideResult) (ours harness.SideResult, published float64, found bool) {
	if side.NotRun != "" || side.Median == 0 || strings.HasPrefix(side.Name, us) {
		return ours, 0, false
	}
	for _, f := range side.Findings {
		for _, other := range r.Sides {
			if other.Name == f.With && strings.HasPrefix(other.Name, us) && other.NotRun == "" && other.Median > 0 {
				return other, f.Published, true
			}
		}
	}
	return ours, 0, false
}

// theme is a set of colours. A chart has one for pages with a light background and one for dark ones.
type theme struct {
	name                              string
	paper, ink, faint, faster, slower color.Color
}

var (
	light = theme{"light", color.White, rgb(0x1f2328), rgb(0xd1d9e0), rgb(0x0969da), rgb(0xbc4c00)}
	dark  = theme{"dark", rgb(0x0d1117), rgb(0xf0f6fc), rgb(0x3d444d), rgb(0x58a6ff), rgb(0xf0883e)}
)

func rgb(hex uint32) color.Color {
	return color.RGBA{uint8(hex >> 16), uint8(hex >> 8), uint8(hex), 255}
}

// picture is the chart in Markdown, for a page beside its folder.
func (c chart) picture(folder string) string {
	if len(c.bars) == 0 {
		return ""
	}
	file := func(suffix string) string { return folder + "/" + c.name + suffix }
	return fmt.Sprintf(`<picture>
<source media="(prefers-color-scheme: dark)" srcset="%s">
<source media="(prefers-color-scheme: light)" srcset="%s">
<img alt="%s" src="%s">
</picture>
`, file("-dark.svg"), file("-light.svg"), c.title, file(".png"))
}

// write makes the files of the chart in folder.
func (c chart) write(folder string) error {
	if len(c.bars) == 0 {
		return nil
	}
	width, height := 9*vg.Inch, vg.Length(1.2+0.24*float64(len(c.bars)))*vg.Inch
	for _, t := range []theme{light, dark} {
		p, err := c.plot(t)
		if err != nil {
			return err
		}
		canvas := vgsvg.New(width, height)
		p.Draw(inset(canvas))
		if err := c.file(folder, "-"+t.name+".svg", canvas.WriteTo); err != nil {
			return err
		}
	}
	p, err := c.plot(light)
	if err != nil {
		return err
	}
	canvas := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(144))}
	p.Draw(inset(canvas))
	return c.file(folder, ".png", canvas.WriteTo)
}

// inset keeps labels off the edges.
func inset(c vg.CanvasSizer) draw.Canvas {
	return draw.Crop(draw.New(c), vg.Points(8), -vg.Points(8), vg.Points(4), -vg.Points(4))
}

func (c chart) plot(t theme) (*plot.Plot, error) {
	p := plot.New()
	p.BackgroundColor = t.paper
	p.Title.Text = c.title
	p.Title.TextStyle.Color = t.ink
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Color, a.Label.TextStyle.Color, a.Tick.Color, a.Tick.Label.Color = t.ink, t.ink, t.ink, t.ink
	}
	var names []string
	shown := bars{theme: t}
	var published plotter.XYs
	low, high := 0.5, 2.0
	for i, b := range slices.Backward(c.bars) { // the first one at the top
		names = append(names, b.label)
		shown.ratios = append(shown.ratios, b.ratio)
		low, high = min(low, b.ratio), max(high, b.ratio, b.published)
		if b.published > 0 {
			published = append(published, plotter.XY{X: b.published, Y: float64(len(c.bars) - 1 - i)})
		}
	}
	p.NominalY(names...)
	p.Y.Min, p.Y.Max = -0.7, float64(len(c.bars))-0.3
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.TickerFunc(ratioTicks)
	p.X.Min, p.X.Max = low*0.8, high*1.4 // room for the numbers
	p.X.Label.Text = "right of 1, sanelite is faster; logarithmic"
	p.Add(shown)
	if len(published) > 0 {
		marks, err := plotter.NewScatter(published)
		if err != nil {
			return nil, err
		}
		marks.GlyphStyle = draw.GlyphStyle{Color: t.ink, Radius: vg.Points(4), Shape: draw.PyramidGlyph{}}
		p.Add(marks)
		p.Legend.Add("published elsewhere", marks)
		p.Legend.TextStyle.Color = t.ink
	}
	return p, nil
}

// bars draws a bar from 1 to each ratio, with its number: a bar chart of package plotter begins at 0, which a logarithmic axis
// does not have.
type bars struct {
	theme  theme
	ratios []float64 // from the bottom
}

// Plot implements plot.Plotter.
func (b bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, tick := range ratioTicks(p.X.Min, p.X.Max) {
		line := draw.LineStyle{Color: b.theme.faint, Width: vg.Points(0.5)}
		if tick.Value == 1 {
			line = draw.LineStyle{Color: b.theme.ink, Width: vg.Points(1)}
		}
		c.StrokeLine2(line, x(tick.Value), c.Min.Y, x(tick.Value), c.Max.Y)
	}
	half := vg.Points(4.5)
	number := p.X.Tick.Label
	number.XAlign, number.YAlign = draw.XLeft, draw.YCenter
	for i, ratio := range b.ratios {
		colour, right := b.theme.faster, x(ratio)
		if ratio < 1 {
			colour, right = b.theme.slower, x(1)
		}
		at := y(float64(i))
		c.FillPolygon(colour, []vg.Point{{X: x(1), Y: at - half}, {X: x(ratio), Y: at - half}, {X: x(ratio), Y: at + half}, {X: x(1), Y: at + half}})
		c.FillText(number, vg.Point{X: right + vg.Points(3), Y: at}, harness.Figure(ratio))
	}
}

// ratioTicks are powers of ten, twice and five times.
func ratioTicks(low, high float64) (ticks []plot.Tick) {
	for power := -3; power <= 6; power++ {
		for _, step := range []float64{1, 2, 5} {
			if v := step * math.Pow10(power); v >= low && v <= high {
				ticks = append(ticks, plot.Tick{Value: v, Label: harness.Figure(v)})
			}
		}
	}
	return ticks
}

func (c chart) file(folder, suffix string, write func(io.Writer) (int64, error)) error {
	f, err := os.Create(filepath.Join(folder, c.name+suffix))
	if err != nil {
		return err
	}
	if _, err := write(f); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
