package probe

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
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

// All connections go to the address that the first went to.
func TestAddressIsKept(t *testing.T) {
	s := startPeer(t, nil, peer.Faults{IdleTimeout: idle})
	_, port, err := net.SplitHostPort(s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	p := hasty(t, quick("http://localhost:"+port+"/"))
	if rep := measured(t, p, 1); rep.Address != s.Addr() || p.addr != s.Addr() {
		t.Errorf("address %q, want %q", rep.Address, s.Addr())
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
