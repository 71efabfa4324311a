package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
)

// A server that never ends a connection is watched for Max, and the advice claims no more.
func TestServerThatNeverCloses(t *testing.T) {
	t.Parallel()
	s := startPeer(t, nil, peer.Faults{})
	o := quick("http://" + s.Addr() + "/")
	o.Max = 700 * time.Millisecond
	rep := measured(t, hasty(t, o), 1)
	p := rep.Protocols[0]
	if e := p.Idle; e.Ended != 0 || e.Conns != o.Conns || len(e.How) != 0 || e.Min != 0 || e.OpenFor.Duration() < o.Max-slack || e.OpenFor.Duration() > o.Max+slack {
		t.Errorf("idle %+v, want none ended in %v", e, o.Max)
	}
	if a := rep.Advice; a == nil || a.Measured || a.ProxyIdleTimeout.Duration() > o.Max+20*time.Millisecond {
		t.Errorf("advice %+v", a)
	}
	if rep.Cut || rep.Took.Duration() < o.Max {
		t.Errorf("took %v, interrupted %v", rep.Took, rep.Cut)
	}
}

// What a probe sends is what its plan said, and what is measured counts the same.
func TestPlanIsKept(t *testing.T) {
	for _, verify := range []bool{false, true} {
		s := startPeer(t, nil, peer.Faults{})
		o := quick("http://" + s.Addr() + "/")
		o.Max, o.Verify = idle, verify
		p := hasty(t, o)
		plan := p.Plan()
		measured(t, p, 1)
		s.Close()
		r := s.Report()
		if r.Accepted != plan.Connections || r.Requests != uint64(plan.Total) {
			t.Errorf("verify %v: %d connections and %d requests, the plan is %d and %d", verify, r.Accepted, r.Requests, plan.Connections, plan.Total)
		}
		slices.Sort(r.Conns)
		want := []int{0, 0, 1, 1, 1, 1}
		if verify {
			want = append(want, 2, 2, 2, 2)
		}
		if want = append(want, 30); !slices.Equal(r.Conns, want) {
			t.Errorf("verify %v: requests of the connections %v, want %v", verify, r.Conns, want)
		}
	}
}

// Requests in sequence are not sent faster than the plan says.
func TestPaceIsKept(t *testing.T) {
	t.Parallel()
	s := startPeer(t, nil, peer.Faults{IdleTimeout: idle})
	p := hasty(t, quick("http://"+s.Addr()+"/"))
	rep := measured(t, p, 1)
	if least := 29 * pace; rep.Took.Duration() < least {
		t.Errorf("30 requests took %v, less than %v", rep.Took, least)
	}
}

// When the context ends, what is known by then comes back.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	s := startPeer(t, nil, peer.Faults{MaxRequests: 5, Announce: true})
	o := quick("http://" + s.Addr() + "/")
	o.Max = time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	o.Progress = func(pr Progress) {
		if pr.Open == o.Conns+unusedConns && slices.Contains(pr.Known, "h1 5 requests") {
			cancel()
		}
	}
	rep, err := hasty(t, o).Run(ctx)
	if !errors.Is(err, context.Canceled) || !rep.Cut {
		t.Fatalf("error %v, interrupted %v", err, rep.Cut)
	}
	p := rep.Protocols[0]
	if p.Requests.Served != 5 || p.Idle.Conns != o.Conns || p.Idle.Ended != 0 || p.Idle.OpenFor <= 0 {
		t.Errorf("protocol %+v, idle %+v", p, p.Idle)
	}
	if rep.Advice != nil {
		t.Errorf("advice %+v from connections that might have lived for hours", rep.Advice)
	}
}

// Nobody there is an error of Run, with the stage in it.
func TestNobodyThere(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	rep, err := hasty(t, quick("http://me:secret@"+ln.Addr().String()+"/")).Run(t.Context())
	if !errors.Is(err, syscall.ECONNREFUSED) || len(rep.Protocols) != 0 {
		t.Errorf("error %v, report %+v", err, rep)
	}
	if strings.Contains(err.Error()+rep.URL, "secret") {
		t.Errorf("the password shows in %q or %q", err, rep.URL)
	}
}

// A certificate that nobody vouches for is refused, unless that was asked for.
func TestCertificateIsVerified(t *testing.T) {
	a := newAuthority(t)
	s := startPeer(t, a, peer.Faults{IdleTimeout: idle})
	o := quick("https://" + s.Addr() + "/")
	if _, err := hasty(t, o).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("error %v, want one of the certificate", err)
	}
	o.Insecure = true
	p := hasty(t, o)
	measured(t, p, 1)
	if !strings.Contains(p.Plan().String(), "WARNING") {
		t.Errorf("no warning in the plan:\n%s", p.Plan())
	}
}

// The header fields are sent with each request, and show nowhere.
func TestHeaderIsSentAndNotShown(t *testing.T) {
	var plain, odd atomic.Int64
	url := script(t, nil, func(c *scripted, _ int) {
		for wait := time.Duration(0); ; wait = idle {
			req := c.next(wait)
			if req == nil {
				return
			}
			user, password, _ := req.BasicAuth()
			if req.Method == "HEAD" && req.URL.RequestURI() == "/a?b=c" && req.Header.Get("X-Key") == "hush" && req.Host == "front.example" &&
				user == "me" && password == "secret" {
				plain.Add(1)
			} else {
				odd.Add(1)
			}
			c.say("HTTP/1.1 200 OK\nContent-Length: 7\n\n")
		}
	})
	o := quick(strings.Replace(url, "http://", "http://me:secret@", 1) + "a?b=c")
	o.Method, o.Header = http.MethodHead, http.Header{"x-key": {"hush"}, "Host": {"front.example"}}
	p := hasty(t, o)
	rep := measured(t, p, 1)
	if n := int(plain.Load()); odd.Load() != 0 || n != p.Plan().Total {
		t.Errorf("%d requests as they should be, %d others; want %d", n, odd.Load(), p.Plan().Total)
	}
	text, err := json.Marshal(rep)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"secret", "hush"} {
		if strings.Contains(string(text)+p.Plan().String(), secret) {
			t.Errorf("%q shows in the report or the plan", secret)
		}
	}
	var back Report
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if again, _ := json.Marshal(back); !bytes.Equal(again, text) {
		t.Errorf("the report doesn't survive JSON:\n%s\n%s", text, again)
	}
	if reflect.DeepEqual(back, Report{}) {
		t.Error("an empty report")
	}
}

// A server that asks for less is sent no more.
func TestCountStopsWhenTheServerIsTired(t *testing.T) {
	for _, status := range []string{"429 Too Many Requests", "503 Service Unavailable"} {
		var sent atomic.Int64
		url := script(t, nil, func(c *scripted, nth int) {
			for n := 1; c.next(idle) != nil; n++ {
				if nth > 0 || n < 4 {
					c.say(ok)
					continue
				}
				sent.Store(int64(n))
				c.say("HTTP/1.1 " + status + "\nContent-Length: 0\n\n")
			}
		})
		p := measured(t, hasty(t, quick(url)), 1).Protocols[0]
		if r := p.Requests; r.Served != 4 || r.Limited || r.By != "status "+status[:3] || sent.Load() != 4 {
			t.Errorf("%s: requests %+v, the server saw %d", status, r, sent.Load())
		}
	}
}

// An answer without end is not read to its end.
func TestLongAnswerIsRefused(t *testing.T) {
	for _, head := range []string{"HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nX: ", "HTTP/1.1 102 Processing\r\nX: "} {
		url := script(t, nil, func(c *scripted, _ int) {
			c.next(0)
			_, _ = io.WriteString(c, head)
			for b := make([]byte, 64<<10); ; {
				if _, err := c.Write(b); err != nil {
					return
				}
			}
		})
		if _, err := hasty(t, quick(url)).Run(t.Context()); err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%q: error %v", head, err)
		}
	}
}

// What is dropped without a FIN is found by using it again.
func TestSilentDropIsFoundByVerifying(t *testing.T) {
	t.Parallel()
	url := script(t, nil, func(c *scripted, _ int) {
		last := time.Now()
		for c.next(0) != nil {
			if time.Since(last) > 2*idle {
				c.untilClosed() // as if a firewall had forgotten the connection
				return
			}
			c.say(ok)
			last = time.Now()
		}
	})
	o := quick(url)
	o.Verify, o.Max, o.Timeout, o.Requests = true, 4*idle, idle, -1
	rep := measured(t, hasty(t, o), 1)
	var got []string
	for _, c := range rep.Protocols[0].Checks {
		got = append(got, c.Result)
	}
	// At idle/2, idle, 2*idle (too near to tell) and 4*idle.
	if len(got) != 4 || got[0] != resultAnswered || got[1] != resultAnswered || got[3] != resultSilent {
		t.Fatalf("checks %v", got)
	}
	if a := rep.Advice.ProxyIdleTimeout.Duration(); a != idle && a != 2*idle {
		t.Errorf("advice %v, want the last age at which the connection worked", a)
	}
}

// A restart ends connections of all ages at once; that's no timeout.
func TestRestartIsRemarked(t *testing.T) {
	t.Parallel()
	s := startPeer(t, nil, peer.Faults{})
	o := quick("http://" + s.Addr() + "/")
	o.Spread = 400 * time.Millisecond
	var once sync.Once
	var wg sync.WaitGroup
	o.Progress = func(pr Progress) {
		if pr.Open == o.Conns+unusedConns {
			once.Do(func() { wg.Go(func() { s.Drop(peer.Drop{}) }) })
		}
	}
	p := measured(t, hasty(t, o), 1).Protocols[0]
	wg.Wait()
	if !slices.ContainsFunc(p.Notes, func(n string) bool { return strings.HasPrefix(n, "idle: all connections ended at the same moment") }) {
		t.Errorf("notes %q, idle %+v", p.Notes, p.Idle)
	}
}
