package pool

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// askFresh is town.get with a preference for connections opened since fresh, and for no address of
// avoid.
func (tn *town) askFresh(tr *Transport, fresh context.Context, avoid ...int) string {
	tn.t.Helper()
	for _, a := range avoid {
		fresh = AvoidAddr(fresh, tn.addr(a))
	}
	req, err := http.NewRequestWithContext(fresh, "GET", "http://example.com:"+tn.port+"/", nil)
	if err != nil {
		tn.t.Fatal(err)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		tn.t.Fatal(err)
	}
	resp.Body.Close()
	return resp.Header.Get("X-Host")
}

// Both preferences together: a dial that has the avoided address behind the others.
func TestPreferFreshElsewhere(t *testing.T) {
	tn := newTown(t, 2, 3)
	tn.serve(2, nil)
	tn.serve(3, nil)
	tr := tn.pool(Config{})
	oneOfEach(t, tn, tr)
	fresh := PreferFresh(t.Context())
	want(t, "a dial elsewhere", tn.askFresh(tr, fresh, 2), "3")
	wantDials(t, tn, 3, 2)
	want(t, "what that has opened", tn.askFresh(tr, fresh, 2), "3")
	want(t, "a dial elsewhere", tn.askFresh(tr, fresh, 3), "2")
	wantDials(t, tn, 2, 2)
	want(t, "both avoided: the newest fresh one", tn.askFresh(tr, fresh, 2, 3), "2")
	wantDials(t, tn, 2, 2)
	wantDials(t, tn, 3, 2)
}

// A server that closes each connection instead of a second answer, as one does that has just been
// told to stop and has not yet closed what is idle: each retry would meet another one of those
// that a burst has left, and no fresh one does.
func TestPreferFreshPassesByWhatIsDying(t *testing.T) {
	const lanes = 5
	var dying atomic.Bool
	var old atomic.Pointer[map[string]bool] // the clients' addresses of the burst
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if m := old.Load(); dying.Load() && (*m)[r.RemoteAddr] {
			hangUp(w, r)
		}
		w.Header().Set("X-Client", r.RemoteAddr)
		io.WriteString(w, "ok") // so that the connection is held until that is read
	}))
	defer srv.Close()
	tr, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	get := func(ctx context.Context) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, "GET", srv.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		return tr.RoundTrip(req)
	}
	clients := map[string]bool{}
	var held []*http.Response
	for range lanes {
		resp, err := get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		clients[resp.Header.Get("X-Client")] = true
		held = append(held, resp)
	}
	for _, resp := range held {
		resp.Body.Close()
	}
	old.Store(&clients)
	dying.Store(true)
	for i := range 2 { // without a preference: one after the other
		if _, err := get(t.Context()); err == nil {
			t.Fatalf("number %d of %d dying connections has answered", i, len(clients))
		}
	}
	resp, err := get(PreferFresh(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if total := tr.Stats().Total; len(clients) != lanes || total.Dials < lanes+1 {
		t.Errorf("%d connections, %d dials", len(clients), total.Dials)
	}
}
