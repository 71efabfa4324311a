package benchhtml

import (
	"fmt"
	"html"
	"image/color"
	"regexp"
	"strconv"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// Inks are what the plots draw with: colours that stand for classes of the style sheet, as a
// page in the reader's light or dark can't have colours that are fixed.
const (
	inkText = iota
	inkAxis
	inkGrid
	inkPaper
	inkClient // and the others of the clients
)

// inkStep keeps the inks apart: the drawing library rounds colours.
const inkStep = 8

func inkOf(n int) color.Color {
	return color.NRGBA{R: 16, G: 32, B: uint8(n*inkStep + inkStep/2), A: 255}
}

// inkClass returns the class that a colour in the drawing stands for: k0, k1, ...; empty if it
// stands for none.
func inkClass(hex string) string {
	var r, g, b int
	if _, err := fmt.Sscanf(hex, "#%2x%2x%2x", &r, &g, &b); err != nil || max(r-16, 16-r, g-32, 32-g) > 1 {
		return ""
	}
	return fmt.Sprintf("k%d", b/inkStep)
}

// face is the font of all texts, by whose widths they are placed. The reader's may be wider.
var face = font.Font{Typeface: "Liberation", Variant: "Sans"}

var (
	textTag   = regexp.MustCompile(`(?s)<text([^>]*) font-size="([0-9.]+)"([^>]*)>([^<]*)</text>`)
	styleAttr = regexp.MustCompile(`\s+style="([^"]*)"`)
	anyTag    = regexp.MustCompile(`(?s)^.*?<svg\b[^>]*>`)
	spaces    = regexp.MustCompile(`>\s+<`)
)

// inner returns what is between the tags of an svg element that the drawing library wrote, with
// classes in place of styles, which the page's policy forbids.
func inner(svg string) string {
	svg = anyTag.ReplaceAllString(svg, "")
	svg = strings.TrimSuffix(strings.TrimSpace(svg), "</svg>")
	svg = styleAttr.ReplaceAllStringFunc(svg, func(attr string) string {
		return attributes(styleAttr.FindStringSubmatch(attr)[1])
	})
	svg = textTag.ReplaceAllStringFunc(svg, fitted)
	return spaces.ReplaceAllString(svg, "><")
}

// fitted gives a text the width that it was placed by, in whatever font it's shown. A blank one
// is left out.
func fitted(tag string) string {
	m := textTag.FindStringSubmatch(tag)
	text := html.UnescapeString(m[4])
	size, err := strconv.ParseFloat(m[2], 64)
	if err != nil || strings.TrimSpace(text) == "" {
		return ""
	}
	f := font.DefaultCache.Lookup(face, vg.Length(size))
	width := f.Width(text)
	return fmt.Sprintf(`<text%s font-size="%s"%s textLength="%.1f" lengthAdjust="spacingAndGlyphs">%s</text>`,
		m[1], m[2], m[3], width.Points(), m[4])
}

// attributes makes presentation attributes and classes of a style.
func attributes(style string) string {
	var b strings.Builder
	var classes []string
	for decl := range strings.SplitSeq(style, ";") {
		name, value, _ := strings.Cut(decl, ":")
		switch class := inkClass(value); {
		case (name == "fill" || name == "stroke") && class != "":
			classes = append(classes, name[:1]+class)
		case strings.HasPrefix(name, "font-") && name != "font-size":
			// The style sheet has the family for all texts.
		case name == "font-size":
			fmt.Fprintf(&b, ` %s="%s"`, name, strings.TrimSuffix(value, "px"))
		case value != "":
			fmt.Fprintf(&b, ` %s="%s"`, name, value)
		}
	}
	if len(classes) > 0 {
		fmt.Fprintf(&b, ` class="%s"`, strings.Join(classes, " "))
	}
	return b.String()
}
