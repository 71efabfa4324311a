package benchhtml

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"example.com/connwise/bench"
)

// TestPageIsSelfContained holds that nothing in the page loads anything or runs, and that its own
// policy allows the style sheet and nothing else.
func TestPageIsSelfContained(t *testing.T) {
	d := pageOf(t, sample("connwise"))
	for n := range d.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if slices.Contains([]string{"script", "link", "img", "image", "iframe", "object", "embed", "base", "form", "use"}, n.Data) {
			t.Errorf("the page has <%s>", n.Data)
		}
		for _, a := range n.Attr {
			if a.Key == "style" || strings.HasPrefix(a.Key, "on") || a.Key == "src" || a.Key == "href" && !strings.HasPrefix(a.Val, "#") || strings.Contains(a.Val, "://") {
				t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
			}
		}
	}
	styles := d.all("style")
	if len(styles) != 1 || strings.Contains(styles[0].FirstChild.Data, "url(") || strings.Contains(styles[0].FirstChild.Data, "@import") {
		t.Fatalf("%d style sheets, want one that loads nothing", len(styles))
	}
	policy := d.all("meta")[1].attr("content")
	for _, want := range []string{"default-src 'none'", "style-src '" + hashOf(styles[0].FirstChild.Data) + "'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("policy %q lacks %q", policy, want)
		}
	}
}

// TestPlotsCanBeReadAloud holds that each plot has a title and a text with its figures, and that
// no id is there twice.
func TestPlotsCanBeReadAloud(t *testing.T) {
	d := pageOf(t, sample("connwise"))
	ids := map[string]bool{}
	for n := range d.Descendants() {
		if id := (doc{n}).attr("id"); id != "" && ids[id] {
			t.Errorf("id %q is there twice", id)
		} else {
			ids[id] = true
		}
	}
	var titles []string
	for _, f := range d.all("figure") {
		svg := f.all("svg")[len(f.all("svg"))-1]
		titles = append(titles, svg.all("title")[0].text())
		if svg.attr("role") != "img" || f.all("figcaption")[0].text() != svg.all("title")[0].text() {
			t.Errorf("plot %q is no named picture", titles)
		}
		for id := range strings.FieldsSeq(svg.attr("aria-labelledby")) {
			if named := d.byID(id); named.Node == nil || named.text() == "" {
				t.Errorf("plot %q is named by %q, which isn't there or says nothing", titles, id)
			}
		}
		for _, client := range []string{"connwise", "net/http"} {
			if !strings.Contains(svg.all("desc")[0].text(), client) {
				t.Errorf("the text of %q lacks %s", titles, client)
			}
		}
	}
	want := []string{
		"restart: CPU time per request", "restart over h2: latency by percentile", "restart over h2: answers, failures and dials in time",
		"hosts over h1: CPU time per request as the work grows",
	}
	if !slices.Equal(titles, want) {
		t.Errorf("plots %q, want %q", titles, want)
	}
	for _, svg := range d.all("svg") {
		if svg.attr("role") != "img" && svg.attr("aria-hidden") != "true" {
			t.Error("a picture is neither named nor hidden")
		}
	}
	for _, table := range d.all("table") {
		if len(table.all("caption")) != 1 {
			t.Error("a table has no caption")
		}
	}
}

// TestFiguresAreTheReports compares what the page shows with the report, in tables and words.
func TestFiguresAreTheReports(t *testing.T) {
	d := pageOf(t, sample("connwise"))
	cells := map[string]string{}
	for _, table := range d.all("table") {
		if table.attr("class") != "all" {
			continue
		}
		var heads []string
		for _, h := range table.all("thead")[0].all("th") {
			heads = append(heads, h.text())
		}
		first := table.all("tbody")[0].all("tr")[1]
		for i, cell := range first.all("td") {
			cells[heads[i+1]] = cell.text()
		}
	}
	for head, want := range map[string]string{
		"requests": "1,234,567", "failed": "12", "avoidable": "3", "twice": "0", "dials": "77", "p50 ms": "0.123", "p99 ms": "2.346", "p99.9 ms": "34.568",
		"rate req/s": "4,568", "CPU µs/req": "12.3", "CPU ratio": "0.50 (0.44–0.56)", "allocs per req": "16.0",
	} {
		if cells[head] != want {
			t.Errorf("%s: %q, want %q", head, cells[head], want)
		}
	}
	if _, ok := cells["waves"]; ok {
		t.Error("a column without a figure is there")
	}
	whole := d.text()
	for _, want := range []string{
		"connwise bench --scenario 'a b'", "some CPU", "go1.26", "v1.2.3", "as it comes",
		"connwise needed 0.50 times the CPU per request of net/http (median of 1 row, 0.50 to 0.50).",
		"The 99th percentile of connwise was lower than that of net/http by a tenth or more in 1 of 1 row, and higher in 0.",
		"From 1 to 10,000 hosts over h1, the dearest size needed so many times the CPU per request of the cheapest: connwise 1.50, net/http 2.00.",
		"connwise: p50 123 µs, p99 2.35 ms, p99.9 34.6 ms", "connwise: 17 answers, at most 7 at once; 9 failed, at most 9 at once; 5 dials, at most 3 at once",
		"restart h2 connwise 12 something broke",
	} {
		if !strings.Contains(whole, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestEveryFigureHasAColumn sets the fields of a row, one after the other, and wants to see each.
func TestEveryFigureHasAColumn(t *testing.T) {
	elsewhere := []string{
		"Scenario", "Proto", "Client", "Size", "Load", "Proxy", "Partial", "CPURatioTo", // beside the figures
		"Percentiles", "Timeline", "Samples", // in plots
		"NotOK", "FirstError", // among the errors
	}
	for f := range reflect.TypeFor[bench.Result]().Fields() {
		if slices.Contains(elsewhere, f.Name) {
			continue
		}
		var r bench.Result
		v := reflect.ValueOf(&r).Elem().FieldByIndex(f.Index)
		if f.Type.Kind() == reflect.Pointer {
			v.Set(reflect.New(f.Type.Elem()))
			v = v.Elem()
		}
		switch v.Kind() {
		case reflect.Int64:
			v.SetInt(7 << 20)
		case reflect.Float64:
			v.SetFloat(7)
		case reflect.Struct:
		default:
			t.Fatalf("%s is a %v: where does the page show it?", f.Name, v.Kind())
		}
		if !slices.ContainsFunc(columns, func(c column) bool { return c.cell(r) != c.cell(bench.Result{}) }) {
			t.Errorf("no column of the page has %s", f.Name)
		}
	}
}

// TestNamesAreEscaped holds that no name from a report becomes part of the page's code.
func TestNamesAreEscaped(t *testing.T) {
	const name = `<script>alert("x")</script>&amp;"'`
	rep := sample(name)
	rep.Command, rep.Results[0].FirstError, rep.Clients[0].Note, rep.Machine.CPU = name, name, name, name
	rep.Results[0].Scenario, rep.Results[0].Proto, rep.Results[0].Proxy, rep.Results[0].Load = name, name, name, name
	d := pageOf(t, rep)
	if n := len(d.all("script")); n != 0 {
		t.Errorf("%d scripts", n)
	}
	whole := strings.Count(d.text(), name)
	if whole < 20 { // of the tables, notes, legends, titles and texts
		t.Errorf("the name shows %d times", whole)
	}
}
