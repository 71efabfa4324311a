package benchhtml

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/net/html"

	"example.com/connwise/bench"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A doc is a page as a browser's parser sees it.
type doc struct{ *html.Node }

func pageOf(t interface {
	Helper()
	Fatal(...any)
}, rep bench.Report) doc {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, rep); err != nil {
		t.Fatal(err)
	}
	n, err := html.Parse(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return doc{n}
}

// all returns the elements of a name.
func (d doc) all(name string) []doc {
	var list []doc
	for n := range d.Descendants() {
		if n.Type == html.ElementNode && n.Data == name {
			list = append(list, doc{n})
		}
	}
	return list
}

// text is what is written in the element, spaces as one.
func (d doc) text() string {
	var b strings.Builder
	for n := range d.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func (d doc) attr(name string) string {
	for _, a := range d.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// byID finds an element; it has no node if there is none.
func (d doc) byID(id string) doc {
	for n := range d.Descendants() {
		if n.Type == html.ElementNode && (doc{n}).attr("id") == id {
			return doc{n}
		}
	}
	return doc{}
}

// sample is a report with all kinds of rows, in which a client is called name.
func sample(name string) bench.Report {
	rep := bench.Report{
		Command: "connwise bench --scenario 'a b'", Machine: bench.Machine{OS: "linux", Arch: "amd64", CPUs: 2, CPU: "some CPU", Go: "go1.26", Version: "v1.2.3"},
		Clients: []bench.ClientNote{{Name: name, Note: "as it comes"}, {Name: "net/http", Note: "the default"}},
	}
	for i, client := range []string{name, "net/http"} {
		f := float64(i + 1)
		rep.Results = append(rep.Results, bench.Result{
			Scenario: "restart", Proto: "h2", Client: client, Requests: 1234567, Failed: 12, Avoidable: new(int64(3)), ExecutedTwice: new(int64(0)), Lost: new(int64(0)), Dials: new(int64(77)),
			P50: new(123.4 * f), P99: new(2345.6 * f), P999: new(34567.8 * f), RPS: 4567.8, CPUPerRequest: new(12.34 * f), AllocsPerRequest: 16.04,
			Percentiles: []bench.Percentile{{Percent: 0, Micros: 90}, {Percent: 50, Micros: 123.4 * f}, {Percent: 99, Micros: 2345.6 * f}, {Percent: 100, Micros: 40000 * f}},
			Timeline:    &bench.Timeline{BinMillis: 4, Done: []int64{5, 5, 0, 7}, Failed: []int64{0, 0, 9, 0}, Dials: []int64{3, 0, 0, 2}},
			Samples:     []bench.Sample{{CPUPerRequest: new(11.5 * f)}, {CPUPerRequest: new(13.1 * f)}},
		})
		for _, n := range []int64{1, 100, 10000} {
			rep.Results = append(rep.Results, bench.Result{Scenario: "hosts", Proto: "h1", Client: client, Size: &n, Requests: 10, CPUPerRequest: new(20 + f*float64(n)/1000)})
		}
	}
	rep.Results[0].CPURatio = &bench.Ratio{Median: 0.5, Low: 0.44, High: 0.56}
	rep.Results[0].CPURatioTo = "net/http"
	rep.Results[0].FirstError = "something broke"
	return rep
}
