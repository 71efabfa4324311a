package benchhtml

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"strconv"
	"strings"
	"time"

	"example.com/connwise/bench"
)

//go:embed page.gohtml
var pageText string

//go:embed page.css
var styleSheet string

var page = template.Must(template.New("page").Parse(pageText))

// A view is what the template shows.
type view struct {
	Title   string
	Style   template.CSS
	Policy  string // of content
	Command string
	Started string
	Machine []fact
	Clients []clientNote
	Proxies []fact
	Words   []string
	Outcome []outcome
	Table   table
	Errors  []rowError
	Parts   []part
}

// A fact is a name and what it is.
type fact struct{ Name, Value string }

// A clientNote says how a client was configured, beside its mark in the plots.
type clientNote struct {
	Name, Note string
	Mark       template.HTML
}

// A part is a scenario's.
type part struct {
	ID, Name, About string
	Figures         []figure
}

// A rowError is what went wrong first in a row.
type rowError struct {
	Row   string
	Text  string
	Count string
}

// Write writes the page. Its length grows with the report's: some 30 KiB for each scenario and
// protocol. The error is w's.
func Write(w io.Writer, rep bench.Report) error {
	var b bytes.Buffer // whole or not at all
	if err := page.Execute(&b, viewOf(rep)); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

func viewOf(rep bench.Report) view {
	look := newLooks(rep)
	v := view{
		Title:   title(rep, look),
		Style:   template.CSS(styleSheet),
		Policy:  "default-src 'none'; style-src '" + hashOf(styleSheet) + "'; base-uri 'none'; form-action 'none'",
		Command: rep.Command,
		Started: started(rep.Started),
		Machine: machine(rep),
		Words:   words(rep),
		Outcome: outcomes(rep, look),
		Table:   tableOf(rep, look),
		Errors:  errorsOf(rep),
		Parts:   partsOf(rep, look),
	}
	for _, p := range rep.Proxies {
		v.Proxies = append(v.Proxies, fact{p.Name, p.Note})
	}
	for _, c := range rep.Clients {
		v.Clients = append(v.Clients, clientNote{c.Name, noteOf(c), look.of(c.Name).mark()})
	}
	return v
}

// noteOf is a client's note, with its version and with where it has no part.
func noteOf(c bench.ClientNote) string {
	note := c.Note
	if c.Version != "" {
		note += " (" + c.Version + ")"
	}
	if c.Absent != "" {
		note += ". It has no part in: " + c.Absent
	}
	return note
}

// hashOf is how a policy names a style sheet that it allows.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func title(rep bench.Report, look looks) string {
	t := "HTTP clients compared"
	if names := look.names; len(names) > 0 {
		t += ": " + strings.Join(names, ", ")
	}
	if !rep.Started.IsZero() {
		t += " (" + rep.Started.UTC().Format(time.DateOnly) + ")"
	}
	return t
}

func started(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

func machine(rep bench.Report) []fact {
	m := rep.Machine
	cpu := m.CPU
	if cpu == "" {
		cpu = m.Arch
	}
	var facts []fact
	for _, f := range []fact{
		{"CPU", cpu},
		{"Cores used", count(&m.CPUs)},
		{"System", strings.TrimSpace(m.OS + "/" + m.Arch + " " + m.System)},
		{"Go", m.Go},
		{"connwise", m.Version},
		{"Seed of random times", strconv.FormatUint(rep.Seed, 10)},
	} {
		if f.Value != "" && f.Value != "0" && f.Value != "/" {
			facts = append(facts, f)
		}
	}
	return facts
}

func errorsOf(rep bench.Report) []rowError {
	var list []rowError
	for _, r := range rep.Results {
		if r.FirstError != "" {
			bad := r.Failed + r.NotOK
			list = append(list, rowError{Row: rowName(r), Text: r.FirstError, Count: count(&bad)})
		}
	}
	return list
}

// partsOf has a part for each scenario, in the report's order.
func partsOf(rep bench.Report, look looks) []part {
	var parts []part
	for _, s := range scenariosOf(rep) {
		p := part{ID: "s-" + idOf(s.name), Name: s.name, About: s.about()}
		p.Figures = s.figures(look)
		for i := range p.Figures {
			p.Figures[i].ID = p.ID + "-" + count(new(i+1))
		}
		parts = append(parts, p)
	}
	return parts
}

// idOf makes a name fit for an id: those of a report may come from a file.
func idOf(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, name)
}
