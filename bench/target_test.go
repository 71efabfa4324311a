package bench

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestTarget(t *testing.T) {
	var gets, others atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.URL.RequestURI() == "/health?x=secret" {
			gets.Add(1)
		} else {
			others.Add(1)
		}
		if user, password, _ := r.BasicAuth(); user != "me" || password != "secret" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer srv.Close()
	o := smoke()
	o.Target = strings.Replace(srv.URL, "http://", "http://me:secret@", 1) + "/health?x=secret"
	o.Scenarios = []string{"steady", "burst"}
	o.Clients, o.Requests, o.Workers = []Client{NetHTTP()}, 10, 20
	o.Burst = 1000
	rep, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range rep.Results {
		names = append(names, r.Scenario)
		if r.Avoidable != nil || r.ExecutedTwice != nil || r.Lost != nil || r.Dials != nil {
			t.Errorf("%s: columns of a record that nobody keeps: %+v", r.Scenario, r)
		}
		if r.Failed != 0 || r.NotOK != 0 || r.Requests == 0 {
			t.Errorf("%s: %d requests, %d failed, %d not 2xx: %s", r.Scenario, r.Requests, r.Failed, r.NotOK, r.FirstError)
		}
	}
	if !slices.Equal(names, []string{"steady", "burst"}) {
		t.Errorf("ran %v, want steady and burst", names)
	}
	if gets.Load() != 21 || others.Load() != 0 {
		t.Errorf("the target got %d GETs and %d other requests, want 21 GETs only", gets.Load(), others.Load())
	}
	if n := o.TargetNotice(); !strings.Contains(n, "steady with 10 at a time, burst with 10 at a time") || !strings.Contains(n, "at most 20 requests per client (clients: 1) and 21 in all") {
		t.Errorf("notice %q", n)
	}
	if n := o.TargetNotice(); !strings.Contains(n, "/health") || strings.Contains(n, "secret") {
		t.Errorf("notice %q, want the path, no password and nothing of the query", n)
	}
}

func TestTargetDown(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	o := smoke()
	o.Target = strings.Replace(srv.URL, "http://", "http://me:secret@", 1)
	_, err := Run(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "refused") || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v, want the refusal, and no password", err)
	}
}

func TestTargetAnswersThatAreNotOK(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	o := smoke()
	o.Target, o.Scenarios, o.Requests = srv.URL, []string{"steady"}, 20
	o.Clients = []Client{NetHTTP()}
	rep, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r := rep.Results[0]; r.Failed != 0 || r.NotOK != r.Requests || !strings.Contains(r.FirstError, "404") || r.P50 != nil || r.P999 != nil {
		t.Errorf("%d requests, %d failed, %d not 2xx, first: %s; want all of them not 2xx", r.Requests, r.Failed, r.NotOK, r.FirstError)
	}
}

// TestTargetByDefault checks that nothing but steady load is sent unasked, and a
// bounded number of it.
func TestTargetByDefault(t *testing.T) {
	p, err := Options{Target: "http://h/"}.plan()
	if err != nil {
		t.Fatal(err)
	}
	if len(p.scenarios()) != 1 || p.scenarios()[0].name != "steady" || p.Requests != targetRequests {
		t.Errorf("%d scenarios, %d requests; want steady alone with %d", len(p.scenarios()), p.Requests, targetRequests)
	}
}

// TestTargetGetsNoCallTwice runs against a server that ends a connection instead of
// answering its second request, which net/http by itself answers by sending it again.
func TestTargetGetsNoCallTwice(t *testing.T) {
	var mu sync.Mutex
	got := make(map[string]int) // by request id
	var conns sync.Map
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		got[r.Header.Get("X-Request-Id")]++
		mu.Unlock()
		if _, again := conns.LoadOrStore(r.RemoteAddr, true); again {
			panic(http.ErrAbortHandler)
		}
	}))
	defer srv.Close()
	o := smoke()
	o.Target, o.Requests, o.Workers, o.Duration = srv.URL, 60, 1, time.Minute
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
			if n > 1 && id != "1" { // the knock's id too
				t.Errorf("%s: request %s came %d times", c.Name, id, n)
			}
		}
		mu.Unlock()
		if r := rep.Results[0]; total != 61 || r.Requests != 60 || r.Failed == 0 || r.Failed == 60 {
			t.Errorf("%s: the target got %d of %d requests, %d failed; want 61 of 60, half of them failed", c.Name, total, r.Requests, r.Failed)
		}
	}
}

// TestTargetThatHangs answers the first request alone, as a server does that locks up
// under load.
func TestTargetThatHangs(t *testing.T) {
	var n atomic.Int64
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if n.Add(1) > 1 {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
	}))
	defer srv.Close()
	defer close(release)
	o := smoke()
	o.Target, o.Requests, o.CallTimeout = srv.URL, 8, 200*time.Millisecond
	rep, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rep.Results {
		if r.Failed != r.Requests || r.Requests != 8 || r.Succeeded() != 0 || !strings.Contains(r.FirstError, "longer than 200ms") {
			t.Errorf("%s: %d of %d failed, first: %s; want 8, by their deadline", r.Client, r.Failed, r.Requests, r.FirstError)
		}
	}
}

// TestTargetThatNeverAnswers isn't loaded at all.
func TestTargetThatNeverAnswers(t *testing.T) {
	var n atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		n.Add(1)
		<-r.Context().Done()
	}))
	defer srv.Close()
	o := smoke()
	o.Target, o.CallTimeout = srv.URL, 20*time.Millisecond
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "longer than 20ms") || n.Load() > 1 {
		t.Errorf("%d requests, error %v; want one, if it gets there in time, and the limit's", n.Load(), err)
	}
}
