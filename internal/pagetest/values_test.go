package pagetest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/connwise/pool"
)

// An oracle is a server that counts what it sees.
type oracle struct {
	*httptest.Server
	requests, opened atomic.Int64
	answer           chan struct{} // what the end of the answer to /held waits for
}

func newOracle(t *testing.T, start func(*httptest.Server), h http.HandlerFunc) *oracle {
	o := &oracle{answer: make(chan struct{})}
	o.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.requests.Add(1)
		if r.URL.Path == "/held" {
			_ = http.NewResponseController(w).Flush()
			<-o.answer
		}
		h(w, r)
	}))
	o.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			o.opened.Add(1)
		}
	}
	start(o.Server)
	t.Cleanup(o.Close)
	return o
}

func (o *oracle) host() string { return o.Listener.Addr().String() }

// TestThePageAgreesWithTheOracle sends requests by a real pool to three servers, and compares
// what the page says of it with what they have counted.
func TestThePageAgreesWithTheOracle(t *testing.T) {
	plain := newOracle(t, (*httptest.Server).Start, func(http.ResponseWriter, *http.Request) {})
	h2 := newOracle(t, func(s *httptest.Server) {
		s.EnableHTTP2 = true
		s.StartTLS()
	}, func(http.ResponseWriter, *http.Request) {})
	closing := newOracle(t, (*httptest.Server).Start, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") })
	roots := h2.Client().Transport.(*http.Transport).TLSClientConfig
	tr, err := pool.New(pool.Config{Base: &http.Transport{TLSClientConfig: roots, ForceAttemptHTTP2: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	get := func(url string, n int) {
		for range n {
			resp, err := (&http.Client{Transport: tr}).Get(url)
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
	get(plain.URL, 7)
	get(h2.URL, 5)
	get(closing.URL, 3)
	held, err := (&http.Client{Transport: tr}).Get(plain.URL + "/held")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Body.Close()
	defer close(plain.answer)

	p := open(t, pool.StatsHandler(tr), look{fragment: "#open=" + "http%3A%2F%2F" + plain.host()})
	p.shows(3)
	p.until("document.querySelector('.detail .box table tbody tr')")
	// What follows from the script, where the server can't count it, is written out.
	for _, want := range []struct {
		o     *oracle
		cells map[string]string
	}{
		{plain, map[string]string{"protocol": "HTTP/1.1", "open": "1", "idle": "0", "in use": "1", "reused": "7", "closed mostly for": "-"}},
		{h2, map[string]string{"protocol": "HTTP/2.0", "open": "1", "idle": "1", "in use": "0", "reused": "4", "closed mostly for": "-"}},
		{closing, map[string]string{"protocol": "HTTP/1.1", "open": "0", "idle": "0", "in use": "0", "reused": "0", "closed mostly for": "not kept alive"}},
	} {
		opened, closed := want.o.opened.Load(), int64(0)
		if want.o == closing {
			closed = opened // the pool's doing; the server notices later
		}
		maps.Copy(want.cells, map[string]string{
			"sent": fmt.Sprint(want.o.requests.Load()), "dials": fmt.Sprint(opened), "closed": fmt.Sprint(closed),
			"failed": "0", "dial errors": "0", "waiting": "0", "dialing": "0", "replaced": "0", "stale": "0",
		})
		got := p.cells(want.o.URL)
		for name, v := range want.cells {
			if got[name] != v {
				t.Errorf("%s: %s is %q, want %q", want.o.URL, name, got[name], v)
			}
		}
	}
	total := eval[map[string]string](p, `Object.fromEntries([...document.querySelectorAll("#total dl > div")].map((d) => [d.firstChild.textContent, d.lastChild.textContent]))`)
	sent := plain.requests.Load() + h2.requests.Load() + closing.requests.Load()
	opened := plain.opened.Load() + h2.opened.Load() + closing.opened.Load()
	for name, v := range map[string]int64{"hosts": 3, "open": 2, "in use": 1, "sent": sent, "opened": opened, "closed": closing.opened.Load(), "reused": 11} {
		if total[name] != fmt.Sprint(v) {
			t.Errorf("in all: %s is %q, want %d", name, total[name], v)
		}
	}
	if got := eval[string](p, `document.querySelector(".detail table tbody tr").innerText`); !strings.HasPrefix(got, plain.host()+"\tHTTP/1.1\tin use\t") {
		t.Errorf("the connection in use is %q", got)
	}
	p.shoot("oracle")
}

// cells are the cells of a host's row, by the names of their columns.
func (p *tab) cells(host string) map[string]string {
	p.t.Helper()
	return eval[map[string]string](p, fmt.Sprintf(`(() => {
		const names = [...document.querySelectorAll("#hosts > thead th")].map((th) => th.textContent);
		const row = [...document.querySelectorAll("#hosts > tbody > tr:not(.detail)")].find((tr) => tr.cells[0].textContent === %q);
		return Object.fromEntries(names.map((n, i) => [n, row.cells[i].textContent]));
	})()`, host))
}

// A filler sets fields to values that occur once.
type filler struct {
	next   uint64
	values []string
}

// fill sets v: numbers are beyond what JavaScript's are exact for, and text would be markup.
func (f *filler) fill(v reflect.Value) {
	f.next++
	n := 7_000_000_000_000_000_000 + f.next*1_000_003
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(n))
		f.values = append(f.values, fmt.Sprint(n))
	case reflect.Uint64:
		v.SetUint(n)
		f.values = append(f.values, fmt.Sprint(n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString(fmt.Sprintf("<b onclick='x%d'>&amp;\"\u2028</b>", n))
		f.values = append(f.values, v.String())
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key)
			f.fill(value)
			v.SetMapIndex(key, value)
		}
	default:
		panic(v.Kind())
	}
}

// TestEveryFieldIsShown checks that each value of the JSON is somewhere on the page, as text or
// as a title, to the last digit, and that none becomes markup.
func TestEveryFieldIsShown(t *testing.T) {
	f := &filler{}
	src := &source{}
	f.fill(reflect.ValueOf(&src.s).Elem())
	for _, tot := range []*pool.Totals{&src.s.Total, &src.s.Hosts[0].Totals, &src.s.Hosts[1].Totals} {
		tot.IdleAges = agesOf(f, tot) // which stand beside the counts of the same reasons
	}
	p := open(t, injecting(pool.StatsHandler(src), `"hosts": [`, `"news": {"of": 7777777777777777777}, "hosts": [`), look{})
	p.shows(2)
	eval[bool](p, `(document.querySelectorAll("#hosts > tbody th button").forEach((b) => b.click()), true)`)
	p.until(`document.querySelectorAll(".detail .box:first-child tbody tr").length === 4`)
	shown := eval[string](p, `[...document.querySelectorAll("body *")].flatMap((e) => [e.title ?? "", e.children.length ? "" : e.textContent]).join("\n")`)
	numbers := map[string]bool{}
	for _, n := range regexp.MustCompile(`\d+`).FindAllString(shown, -1) {
		numbers[n] = true
	}
	for _, v := range append(f.values, "7777777777777777777") {
		if !numbers[v] && !strings.Contains(shown, v) {
			t.Errorf("%s isn't shown", v)
		}
	}
	if n := eval[int](p, `document.querySelectorAll("body b, body [onclick]").length`); n > 0 {
		t.Errorf("%d names became markup", n)
	}
	p.shoot("full")
}

// agesOf are idle ages of the reasons for which tot has counts, of values that f has noted.
func agesOf(f *filler, tot *pool.Totals) map[pool.CloseReason]pool.IdleAges {
	for reason, a := range tot.IdleAges {
		f.values = slices.DeleteFunc(f.values, func(v string) bool {
			return v == string(reason) || v == fmt.Sprint(a.Count) || v == fmt.Sprint(int64(a.Sum))
		})
	}
	ages := map[pool.CloseReason]pool.IdleAges{}
	for reason := range tot.ClosedBy {
		var a pool.IdleAges
		f.fill(reflect.ValueOf(&a).Elem())
		ages[reason] = a
	}
	return ages
}

// injecting changes what h answers as JSON.
func injecting(h http.Handler, old, text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		maps.Copy(w.Header(), rec.Header())
		body := rec.Body.String()
		if rec.Header().Get("Content-Type") == "application/json" {
			body = strings.Replace(body, old, text, 1)
			if !json.Valid([]byte(body)) {
				panic(body)
			}
		}
		_, _ = io.WriteString(w, body)
	})
}
