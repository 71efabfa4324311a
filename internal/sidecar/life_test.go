package sidecar

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// slow is an upstream whose answers to /slow wait for finish; began tells that one does.
func slow(t *testing.T) (url string, began, finish chan struct{}) {
	began, finish = make(chan struct{}, 1), make(chan struct{})
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			began <- struct{}{}
			<-finish
		}
		_, _ = io.WriteString(w, "done")
	})
	return up.URL, began, finish
}

// TestDrainWaits checks that a request under way has its answer when the sidecar is told to end,
// and that nothing new is accepted.
func TestDrainWaits(t *testing.T) {
	t.Run("HTTP/1.1", func(t *testing.T) { drainWaits(t, newClient(t)) })
	t.Run("HTTP/2", func(t *testing.T) {
		c := newClient(t)
		c.Transport.(*http.Transport).Protocols = onlyH2C()
		drainWaits(t, c)
	})
}

func drainWaits(t *testing.T, client *http.Client) {
	up, began, finish := slow(t)
	r := start(t, "upstream="+up, "admin=127.0.0.1:0")
	got := make(chan string, 1)
	go func() {
		var body []byte
		resp, err := client.Post(r.url+"/slow", "", strings.NewReader("x"))
		if err == nil {
			body, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		got <- fmt.Sprintf("%s, %v", body, err)
	}()
	<-began
	r.end()
	for accepted := true; accepted; {
		resp, err := newClient(t).Get(r.url)
		if accepted = err == nil; accepted {
			resp.Body.Close()
		}
	}
	resp, err := newClient(t).Get(r.admin + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("healthz while draining: %s", resp.Status)
	}
	close(finish)
	if body := <-got; body != "done, <nil>" {
		t.Errorf("the request that was under way got %q", body)
	}
	if err := r.stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
}

// TestDrainCuts checks that what hasn't ended by then is cut, and that Run says so.
func TestDrainCuts(t *testing.T) {
	up, began, finish := slow(t)
	r := start(t, "upstream="+up, "drain=50ms")
	got := make(chan error, 1)
	go func() {
		resp, err := newClient(t).Get(r.url + "/slow")
		if err == nil {
			resp.Body.Close()
		}
		got <- err
	}()
	<-began
	cut, ok := errors.AsType[*CutError](r.stop())
	if !ok || cut.Requests != 1 {
		t.Errorf("Run: %v, want one request cut", cut)
	}
	if err := <-got; err == nil {
		t.Error("the request that was cut has an answer")
	}
	close(finish)
	if !strings.Contains(r.log.String(), "ended with requests under way") {
		t.Error("the log doesn't tell")
	}
}

// settingsFile writes a file of settings.
func settingsFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestReloadUnderLoad sends requests all the time while the upstream is changed to and fro, and
// some of them are under way during each reload.
func TestReloadUnderLoad(t *testing.T) {
	var served [2]atomic.Int64
	handler := func(i int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			served[i].Add(1)
			b, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%d %s", i, b)
		}
	}
	ups := []string{origin(t, handler(0)).URL, origin(t, handler(1)).URL}
	file := filepath.Join(t.TempDir(), "proxy.yml")
	settingsFile(t, file, "upstream: "+ups[0])
	r := startFrom(t, Source{File: file, Flags: flagsOf(nil)})

	var wg sync.WaitGroup
	done := make(chan struct{})
	var answered atomic.Int64
	for i := range 8 {
		wg.Go(func() {
			client := newClient(t)
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				want := fmt.Sprintf("%d-%d", i, n)
				resp, err := client.Post(r.url, "text/plain", unsized(want))
				if err != nil {
					t.Errorf("request %s: %v", want, err)
					return
				}
				b, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if resp.StatusCode != 200 || err != nil || string(b[2:]) != want {
					t.Errorf("request %s: %s, %q, %v", want, resp.Status, b, err)
					return
				}
				answered.Add(1)
			}
		})
	}
	for n := 1; n <= 40 && !t.Failed(); n++ {
		settingsFile(t, file, "upstream: "+ups[n%2])
		before := served[n%2].Load()
		if err := r.reload(); err != nil {
			t.Errorf("reload: %v", err)
		}
		for served[n%2].Load() == before && !t.Failed() { // the new upstream has requests
			r.do("GET", "/", nil)
		}
	}
	close(done)
	wg.Wait()
	if n := served[0].Load() + served[1].Load(); n < answered.Load() {
		t.Errorf("%d requests were served, and %d answered", n, answered.Load())
	}
	if answered.Load() == 0 {
		t.Error("there was no load")
	}
}

// TestReloadKeepsRequests checks that a request under way during a reload ends by the old settings,
// with the old pool, which is closed behind it; and that a file with a mistake changes nothing.
func TestReloadKeepsRequests(t *testing.T) {
	up, began, finish := slow(t)
	other := origin(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "other") })
	file := filepath.Join(t.TempDir(), "proxy.yml")
	settingsFile(t, file, "upstream: "+up)
	r := startFrom(t, Source{File: file, Flags: flagsOf(nil)})
	old := r.p.current.Load().up
	got := make(chan string, 1)
	go func() {
		_, body := r.do("POST", "/slow", strings.NewReader("x"))
		got <- body
	}()
	<-began

	settingsFile(t, file, "upstream: "+other.URL+"\npool:\n  max_cons: 1\n")
	err := r.reload()
	if err == nil || !strings.Contains(err.Error(), file+":3: pool.max_cons: is no setting; did you mean pool.max_conns?") {
		t.Errorf("a file with a mistake: %v", err)
	}
	if _, body := r.do("GET", "/", nil); body != "done" {
		t.Errorf("after that an answer is %q", body)
	}
	settingsFile(t, file, "upstream: "+other.URL+"\ndrain: 7s\n")
	if err := r.reload(); err != nil {
		t.Fatal(err)
	}
	if _, body := r.do("GET", "/", nil); body != "other" {
		t.Errorf("after a reload an answer is %q", body)
	}
	if !strings.Contains(r.log.String(), "setting=drain") {
		t.Error("the log doesn't tell that drain is as it was")
	}
	select {
	case <-old.gone:
		t.Error("the old pool was closed with a request on it")
	default:
	}
	close(finish)
	if body := <-got; body != "done" {
		t.Errorf("the request that was under way got %q", body)
	}
	<-old.gone
}

// TestReloadOfTheSame keeps the pool with its connections and what it has learnt, and a changed
// policy the budget.
func TestReloadOfTheSame(t *testing.T) {
	up := origin(t, func(http.ResponseWriter, *http.Request) {})
	file := filepath.Join(t.TempDir(), "proxy.yml")
	settingsFile(t, file, "upstream: "+up.URL)
	r := startFrom(t, Source{File: file, Flags: flagsOf(nil)})
	first := r.p.current.Load().up
	settingsFile(t, file, "upstream: "+up.URL+"\nforward:\n  via: other\n")
	if err := r.reload(); err != nil || r.p.current.Load().up != first {
		t.Errorf("a reload that changes nothing of the pool has made another one (error %v)", err)
	}
	if r.p.Settings().Via != "other" {
		t.Error("the reload had no effect")
	}
	settingsFile(t, file, "upstream: "+up.URL+"\nretry:\n  policy: once\n")
	if err := r.reload(); err != nil {
		t.Fatal(err)
	}
	second := r.p.current.Load().up
	if second == first || second.transport.Budget != first.transport.Budget {
		t.Error("a new policy goes by the old pool, or has a new budget")
	}
	if p := second.transport.Policy; p.MaxRetries != 1 {
		t.Errorf("the new policy has %d retries", p.MaxRetries)
	}
	<-first.gone
}
