package bench

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

func TestTarget(t *testing.T) {
	var gets, others atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.URL.RequestURI() == "/health?x=1" {
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
	o.Target = strings.Replace(srv.URL, "http://", "http://me:secret@", 1) + "/health?x=1"
	o.Clients, o.Requests = []Client{NetHTTP()}, 40
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
	if gets.Load() == 0 || others.Load() != 0 {
		t.Errorf("the target got %d GETs and %d other requests, want GETs only", gets.Load(), others.Load())
	}
	if n := o.TargetNotice(); !strings.Contains(n, "/health") || strings.Contains(n, "secret") {
		t.Errorf("notice %q, want the path and no password", n)
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
	if r := rep.Results[0]; r.Failed != 0 || r.NotOK != r.Requests || !strings.Contains(r.FirstError, "404") {
		t.Errorf("%d requests, %d failed, %d not 2xx, first: %s; want all of them not 2xx", r.Requests, r.Failed, r.NotOK, r.FirstError)
	}
}
