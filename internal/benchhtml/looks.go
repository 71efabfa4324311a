package benchhtml

import (
	"bytes"
	"fmt"
	"html/template"
	"image/color"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"example.com/connwise/bench"
)

// looks gives each client the same look in all plots.
type looks struct{ names []string }

func newLooks(rep bench.Report) looks {
	var l looks
	add := func(name string) {
		if !slices.Contains(l.names, name) {
			l.names = append(l.names, name)
		}
	}
	for _, c := range rep.Clients {
		add(c.Name)
	}
	for _, r := range rep.Results {
		add(r.Client)
	}
	return l
}

func (l looks) of(client string) look { return look(max(0, slices.Index(l.names, client))) }

// A look is a client's: a colour, a dash and a glyph. The three have different periods, so that
// dozens of clients differ, and colour is never the only mark.
type look int

// hues is how many colours the style sheet has for clients.
const hues = 8

var (
	dashes = [][]vg.Length{nil, {6, 3}, {1.5, 2.5}, {8, 3, 1.5, 3}, {3, 2}}
	glyphs = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.BoxGlyph{}, draw.RingGlyph{}, draw.PyramidGlyph{}, draw.CrossGlyph{}}
)

func (l look) color() color.Color { return inkOf(inkClient + int(l)%hues) }

func (l look) line() draw.LineStyle {
	return draw.LineStyle{Color: l.color(), Width: 1.75, Dashes: dashes[int(l)%len(dashes)]}
}

func (l look) glyph() draw.GlyphStyle {
	return draw.GlyphStyle{Color: l.color(), Radius: 3, Shape: glyphs[int(l)%len(glyphs)]}
}

// mark is a small picture of it, for legends; the name beside it says the same to those who
// don't see it.
func (l look) mark() template.HTML {
	const w, h = 30, 10
	c := vgsvg.NewWith(vgsvg.UseWH(w, h))
	d := draw.New(c)
	d.StrokeLine2(l.line(), 1, h/2, w-1, h/2)
	d.DrawGlyph(l.glyph(), vg.Point{X: w / 2, Y: h / 2})
	var b bytes.Buffer
	_, _ = c.WriteTo(&b) // a buffer doesn't fail
	return template.HTML(fmt.Sprintf(`<svg class="mark" viewBox="0 0 %d %d" width="%d" height="%d" aria-hidden="true">%s</svg>`, w, h, w, h, inner(b.String())))
}
