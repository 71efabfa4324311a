package bench

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"example.com/connwise/internal/peer"
)

// TestTargetOverHTTP2 loads a server that speaks both, over both, and counts.
func TestTargetOverHTTP2(t *testing.T) {
	var mu sync.Mutex
	got := make(map[string]int) // by protocol
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got[r.Proto]++
	}))
	srv.Config.Protocols = new(http.Protocols)
	srv.Config.Protocols.SetHTTP1(true)
	srv.Config.Protocols.SetUnencryptedHTTP2(true)
	srv.Start()
	defer srv.Close()
	o := smoke()
	o.Target, o.Clients, o.Requests = srv.URL, []Client{NetHTTP()}, 10
	o.Protos = []string{"h1", "h2c"}
	rep, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rep.Results {
		if r.Requests != 10 || r.Succeeded() != 10 {
			t.Errorf("%s: %d of %d succeeded, first error: %s", r.Proto, r.Succeeded(), r.Requests, r.FirstError)
		}
	}
	if len(rep.Results) != 2 || got["HTTP/1.1"] != 11 || got["HTTP/2.0"] != 11 {
		t.Errorf("%d rows, the target got %v; want 2, and 11 over each", len(rep.Results), got)
	}
	n := o.TargetNotice()
	for _, want := range []string{"2 to see that it's there", "over h1 and h2c", "at most 20 requests per client (clients: 1) and 22 in all"} {
		if !strings.Contains(n, want) {
			t.Errorf("notice lacks %q:\n%s", want, n)
		}
	}
}

// TestTargetWithoutTheProtocol asks a server for HTTP/2 that chooses HTTP/1.1.
func TestTargetWithoutTheProtocol(t *testing.T) {
	srv := httptest.NewTLSServer(http.NotFoundHandler())
	defer srv.Close()
	q := protoNamed("h2")
	setup := Setup{Proto: q.name, Callers: 1, Target: true}
	setup.Roots = srv.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	p, err := Options{Target: srv.URL, Protos: []string{q.name}}.plan()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{client: setup.Transport(), proto: q, urls: []*url.URL{p.target}, callTimeout: p.CallTimeout}
	defer r.cool()
	_, err = r.caller().roundTrip(t.Context(), http.MethodGet, 1)
	if err == nil || !strings.Contains(err.Error(), "by HTTP/1.1 in place of HTTP/2 over TLS") {
		t.Errorf("error %v, want it to name both protocols", err)
	}
}

// TestTargetWithHTTP2ByDefault pins that HTTP/2 isn't spoken to a target unasked.
func TestTargetWithHTTP2ByDefault(t *testing.T) {
	for target, want := range map[string]string{"http://h/": "h1", "https://h/": "h1s"} {
		p, err := Options{Target: target}.plan()
		if err != nil {
			t.Fatal(err)
		}
		if names := namesOf(p.protos(), func(q proto) string { return q.name }); !slices.Equal(names, []string{want}) {
			t.Errorf("%s: over %v, want %s alone", target, names, want)
		}
	}
}

// TestTargetGetsNoStreamTwice runs against a server that sends a GOAWAY in place of its
// second answer, with a last id which says that the stream was not processed. net/http
// by itself sends such a request again.
func TestTargetGetsNoStreamTwice(t *testing.T) {
	var mu sync.Mutex
	got := make(map[uint64]int) // by request id
	srv, err := peer.StartH2(peer.H2Options{Handler: func(c *peer.H2Conn) {
		if c.Settings() != nil {
			return
		}
		for n := 0; ; n++ {
			q, err := c.Request()
			if err != nil {
				return
			}
			mu.Lock()
			got[q.ID]++
			mu.Unlock()
			if n > 0 {
				_ = c.GoAway(q.Stream-2, http2.ErrCodeNo)
				c.Linger()
				return
			}
			if c.Answer(q) != nil {
				return
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	o := smoke()
	o.Target, o.Protos = "http://"+srv.Addr(), []string{"h2c"}
	o.Requests, o.Workers, o.Duration = 60, 1, time.Minute
	for _, c := range []Client{NetHTTP(), Connwise()} {
		mu.Lock()
		clear(got)
		mu.Unlock()
		o.Clients = []Client{c}
		rep, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		total := 0
		for id, n := range got {
			total += n
			if n > 1 && id != 1 { // the knock's id too
				t.Errorf("%s: request %d came %d times", c.Name, id, n)
			}
		}
		mu.Unlock()
		r := rep.Results[0]
		if total != 61 || r.Requests != 60 || r.Failed == 0 || r.Failed == 60 || !strings.Contains(r.FirstError, errSentAgain.Error()) {
			t.Errorf("%s: the target got %d of %d requests, %d failed, first: %s; want 61 of 60, half of them failed", c.Name, total, r.Requests, r.Failed, r.FirstError)
		}
	}
}
