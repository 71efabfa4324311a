package scenario

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/health"
	"example.com/connwise/pool"
)

// A town is a name whose addresses are 127.44.0.N on one port, with a server at some of them
// that says its N and repeats a request's id. It knows how many connections are open in all.
type town struct {
	r    *rig
	url  string
	port string

	mu       sync.Mutex
	names    []string // what the name resolves to
	open     map[net.Conn]bool
	most     int               // were open at a time
	lastOpen map[int]time.Time // when host N accepted a connection
	dials    map[string]int
}

func (r *rig) town() *town {
	r.t.Helper()
	ln, err := net.Listen("tcp", "127.44.0.99:0") // held, so that no other town has the port; the network is its own
	if err != nil {
		r.t.Fatal(err)
	}
	r.onEnd(func() { ln.Close() })
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return &town{
		r: r, port: port, url: "http://town.test:" + port + "/", open: make(map[net.Conn]bool),
		lastOpen: make(map[int]time.Time), dials: make(map[string]int),
	}
}

func (tn *town) addr(n int) string { return fmt.Sprintf("127.44.0.%d:%s", n, tn.port) }

// resolvesTo sets the name's addresses.
func (tn *town) resolvesTo(hosts ...int) {
	tn.mu.Lock()
	defer tn.mu.Unlock()
	tn.names = nil
	for _, n := range hosts {
		tn.names = append(tn.names, fmt.Sprintf("127.44.0.%d", n))
	}
}

func (tn *town) LookupHost(context.Context, string) ([]string, error) {
	tn.mu.Lock()
	defer tn.mu.Unlock()
	return tn.names, nil
}

// control counts dials.
func (tn *town) control(_, addr string, _ syscall.RawConn) error {
	tn.mu.Lock()
	defer tn.mu.Unlock()
	tn.dials[addr]++
	return nil
}

func (tn *town) dialled(n int) int {
	tn.mu.Lock()
	defer tn.mu.Unlock()
	return tn.dials[tn.addr(n)]
}

// inhabit starts a server at host n. first is called with each request before it is answered.
func (tn *town) inhabit(n int, first http.HandlerFunc) {
	tn.r.t.Helper()
	ln, err := net.Listen("tcp", tn.addr(n))
	if err != nil {
		tn.r.t.Fatal(err)
	}
	srv := &http.Server{Protocols: new(http.Protocols)}
	srv.Protocols.SetHTTP1(true)
	srv.Protocols.SetUnencryptedHTTP2(true)
	srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if first != nil {
			first(w, req)
		}
		w.Header().Set("X-Host", fmt.Sprint(n))
		io.WriteString(w, req.Header.Get(idHeader))
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		srv.Serve(&gate{Listener: ln, tn: tn, n: n})
	}()
	tn.r.onEnd(func() { srv.Close(); <-done })
}

// A gate counts a server's connections.
type gate struct {
	net.Listener
	tn *town
	n  int
}

func (g *gate) Accept() (net.Conn, error) {
	c, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tn := g.tn
	tn.mu.Lock()
	defer tn.mu.Unlock()
	for o := range tn.open {
		if v, _ := health.Socket(o); v == health.Dead {
			delete(tn.open, o) // its FIN has come, though its server has yet to read it
		}
	}
	tn.open[c] = true
	tn.most = max(tn.most, len(tn.open))
	tn.lastOpen[g.n] = time.Now()
	return c, nil
}

// resolver has the town's names, and Control counts its dials.
func (tn *town) dialer(over func(dialer.Resolver) dialer.Resolver) *dialer.Dialer {
	d := &dialer.Dialer{Resolver: tn, Control: tn.control}
	if over != nil {
		d.Resolver = over(tn)
	}
	return d
}

// A visit is a request to a town: when it began, and who has answered.
type visit struct {
	began time.Time
	host  string
}

// visit sends a request, and reads its answer.
func (tn *town) visit(do doer, method string) (visit, error) {
	c := newCall(tn.r.t.Context(), method, tn.url, noBody)
	v := visit{began: time.Now()}
	resp, err := do(c.Request)
	if err != nil {
		return v, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != http.StatusOK || string(b) != c.id) {
		err = &wrongAnswerError{c.id, resp.StatusCode, string(b)}
	}
	v.host = resp.Header.Get("X-Host")
	return v, err
}

// A name's addresses change while requests go on. Within MaxConnAge, and what a cache adds,
// all of them go to the new one; none is lost, and the limit holds for both together.
func TestAChangedNameIsFollowed(t *testing.T) {
	const age, ttl = 500 * time.Millisecond, 200 * time.Millisecond
	cached := func(r dialer.Resolver) dialer.Resolver { return &dialer.CachingResolver{Resolver: r, TTL: ttl} }
	tests := []struct {
		name  string
		h2    bool
		limit int
		over  func(dialer.Resolver) dialer.Resolver
		adds  time.Duration
	}{
		{name: "h1"},
		{name: "h1 under a limit", limit: 3},
		{name: "h1 with a cache", over: cached, adds: ttl},
		{name: "h2c", h2: true},
		{name: "h2c under a limit", h2: true, limit: 1},
	}
	var cases []func()
	for _, tt := range tests {
		cases = append(cases, func() {
			t.Run(tt.name, func(t *testing.T) {
				tn := newPart(t, mode{}).town()
				tn.inhabit(1, nil)
				tn.inhabit(2, nil)
				cfg := pool.Config{MaxConnAge: age, MaxConnsPerHost: tt.limit, Dialer: tn.dialer(tt.over), Base: &http.Transport{}}
				if tt.h2 {
					cfg.Base.Protocols = new(http.Protocols)
					cfg.Base.Protocols.SetUnencryptedHTTP2(true)
				}
				tn.followed(tn.r.pool(cfg).RoundTrip, age, tt.adds)
				if tt.limit > 0 && tn.most > tt.limit {
					t.Errorf("%d connections were open at a time, with a limit of %d", tn.most, tt.limit)
				}
			})
		})
	}
	side(t, cases)
}

// followed sends requests all the time, changes the name from host 1 to host 2, and looks who
// answers.
func (tn *town) followed(do doer, age, adds time.Duration) {
	tn.resolvesTo(1)
	const workers = 4
	stop := make(chan struct{})
	visits := make([][]visit, workers)
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Millisecond):
				}
				v, err := tn.visit(do, http.MethodPost)
				if err != nil {
					tn.r.t.Error(err)
				}
				visits[i] = append(visits[i], v)
			}
		})
	}
	pause(age + age/2)
	tn.resolvesTo(2)
	changed := time.Now().Add(adds)
	pause(adds + 2*age)
	close(stop)
	wg.Wait()
	tn.mu.Lock()
	defer tn.mu.Unlock()
	if late := tn.lastOpen[1].Sub(changed); late > age {
		tn.r.t.Errorf("the old address got its last connection %v after the change", late)
	} else if late > 0 { // it was looked up before
		changed = changed.Add(late)
	}
	before, after := 0, 0
	for _, v := range flat(visits) {
		switch {
		case v.began.After(changed.Add(age * 12 / 10)):
			after++
			if v.host != "2" {
				tn.r.t.Errorf("%v after the change host %s has answered", v.began.Sub(changed), v.host)
			}
		case v.host == "1":
			before++
		}
	}
	if before == 0 || after == 0 {
		tn.r.t.Errorf("%d requests went to the old address, and %d were made late enough", before, after)
	}
}

func flat[T any](of [][]T) (all []T) {
	for _, some := range of {
		all = append(all, some...)
	}
	return all
}
