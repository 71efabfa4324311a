package pool

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestStatsOf checks what is told of HTTP/1 connections: of one that a request has, nothing
// that only the request may know.
func TestStatsOf(t *testing.T) {
	arrived, answer := make(chan struct{}), make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/held" {
			arrived <- struct{}{}
			<-answer
		}
	}))
	defer srv.Close()
	tr, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	get := func(path string) {
		resp, err := (&http.Client{Transport: tr}).Get(srv.URL + path)
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	host := strings.TrimPrefix(srv.URL, "http://")

	get("/")
	get("/")
	conns := connsOf(t, tr, host)
	if len(conns) != 1 {
		t.Fatalf("connections %+v, want one", conns)
	}
	c := conns[0]
	if c.State != "idle" || c.Requests != 2 || c.Streams != 0 || c.Idle <= 0 || c.Age < c.Idle || c.Addr != host || c.Proto != "HTTP/1.1" {
		t.Errorf("an idle connection is %+v", c)
	}

	done := make(chan struct{}, 2)
	for range 2 {
		go func() {
			get("/held")
			done <- struct{}{}
		}()
		<-arrived
	}
	conns = connsOf(t, tr, host)
	if len(conns) != 2 || conns[0].Age < conns[1].Age {
		t.Fatalf("connections %+v, want two, the oldest first", conns)
	}
	for _, c := range conns {
		if c.State != "in use" || c.Requests != -1 || c.Streams != 1 || c.Idle != 0 {
			t.Errorf("a connection in use is %+v", c)
		}
	}
	if conns := tr.Stats().Hosts[0].Conns; conns != nil {
		t.Errorf("Stats has HTTP/1 connections: %+v", conns)
	}
	close(answer)
	<-done
	<-done

	if s := tr.StatsOf("other.example:80"); s.Hosts == nil || len(s.Hosts) > 0 || s.Total.ClosedBy == nil {
		t.Errorf("StatsOf of a host that isn't there: %+v", s)
	}
}

func connsOf(t *testing.T, tr *Transport, host string) []ConnStats {
	t.Helper()
	s := tr.StatsOf(host)
	if len(s.Hosts) != 1 || s.Hosts[0].Host != host {
		t.Fatalf("StatsOf(%q) has hosts %+v", host, s.Hosts)
	}
	return s.Hosts[0].Conns
}

// TestStatsOfIsBounded checks that a host with very many connections lists some of them.
func TestStatsOfIsBounded(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		const n = mostConns + 10
		trips := make([]*trip, n)
		for i := range trips {
			trips[i] = s.get()
		}
		peers := make([]*peerConn, n)
		for i := range peers {
			peers[i] = s.wantDial().finish()
		}
		for _, p := range peers {
			p.serve("")
		}
		for _, tp := range trips {
			tp.wantBody("")
		}
		if st := s.tr.StatsOf(s.stats().Host).Hosts[0]; st.Open != n || len(st.Conns) != mostConns {
			t.Errorf("%d connections of %d are listed, want %d of %d", len(st.Conns), st.Open, mostConns, n)
		}
	})
}

// TestStatsOfAGuard looks at its connections between and in requests.
func TestStatsOfAGuard(t *testing.T) {
	arrived, answer := make(chan struct{}), make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/held" {
			close(arrived)
			<-answer
		}
	}))
	defer srv.Close()
	g, err := NewGuard(GuardConfig{})
	if err != nil {
		t.Fatal(err)
	}
	base := &http.Transport{DialContext: g.DialContext}
	defer base.CloseIdleConnections()
	get := func(path string) {
		resp, err := (&http.Client{Transport: base}).Get(srv.URL + path)
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	host := strings.TrimPrefix(srv.URL, "http://")
	look := func() ConnStats {
		s := g.StatsOf(host)
		if len(s.Hosts) != 1 || len(s.Hosts[0].Conns) != 1 || s.Total.Opened != 1 {
			t.Fatalf("%+v", s)
		}
		return s.Hosts[0].Conns[0]
	}
	get("/")
	if c := look(); c.State != "idle" || c.Proto != "HTTP/1.1" || c.Addr != host || c.Requests != -1 || c.Idle <= 0 || c.Age < c.Idle {
		t.Errorf("an idle connection is %+v", c)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		get("/held")
	}()
	<-arrived
	if c := look(); c.State != "in use" || c.Idle != 0 {
		t.Errorf("a connection in use is %+v", c)
	}
	close(answer)
	<-done
	if s := g.StatsOf("other.example:80"); s.Hosts == nil || len(s.Hosts) > 0 {
		t.Errorf("StatsOf of a host that isn't there: %+v", s)
	}
}
