package pool

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/health"
	"example.com/connwise/internal/fakenet"
)

// A guarded plays a client and its server over a Guard's connections in memory.
type guarded struct {
	*testing.T
	g       *Guard
	servers chan *fakenet.Conn
	refuse  error // of the next dials
}

// guardBubble runs f in a bubble. At the end all gauges have to be zero.
func guardBubble(t *testing.T, cfg GuardConfig, f func(*guarded)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &guarded{T: t, servers: make(chan *fakenet.Conn, 1000)}
		cfg.DialContext = func(context.Context, string, string) (net.Conn, error) {
			if s.refuse != nil {
				return nil, s.refuse
			}
			c, server := fakenet.Pipe()
			s.servers <- server
			return c, nil
		}
		var err error
		if s.g, err = NewGuard(cfg); err != nil {
			t.Fatal(err)
		}
		f(s)
		synctest.Wait()
		checkGuardBooks(t, s.g)
	})
}

// checkGuardBooks wants all gauges zero and all counters to add up.
func checkGuardBooks(t *testing.T, g *Guard) {
	t.Helper()
	st := g.Stats()
	for _, h := range st.Hosts {
		if h.Open+h.Idle+h.InUse+h.Dialing+h.Waiting != 0 {
			t.Errorf("%s at the end: %d open, %d idle, %d in use, %d dialing, %d waiting", h.Host, h.Open, h.Idle, h.InUse, h.Dialing, h.Waiting)
		}
		if n := g.hosts[h.Host].slots; n != 0 {
			t.Errorf("%s at the end: %d slots are taken", h.Host, n)
		}
	}
	var sum uint64
	for _, n := range st.Total.ClosedBy {
		sum += n
	}
	if tot := st.Total; tot.Opened != tot.Closed || tot.Closed != sum || tot.Dials != tot.Opened+tot.DialsFailed {
		t.Errorf("the books don't add up: %+v", tot)
	}
	wantSplit(t, &st.Total)
}

// A guardPair is a guarded connection and its server's end.
type guardPair struct {
	*guarded
	net.Conn
	server *fakenet.Conn
	br     *bufio.Reader
}

func (s *guarded) open() *guardPair {
	s.Helper()
	c, err := s.g.DialContext(s.Context(), "tcp", "a.test:80")
	if err != nil {
		s.Fatal(err)
	}
	return &guardPair{s, c, <-s.servers, bufio.NewReader(c)}
}

// send writes p, which the guard has to pass.
func (p *guardPair) send(text string) {
	p.Helper()
	before, _ := Accepted(p.Conn)
	n, err := io.WriteString(p.Conn, text)
	if after, ok := Accepted(p.Conn); err != nil || n != len(text) || !ok || after != before+int64(n) {
		p.Fatalf("wrote %d, %v; accepted %d after %d", n, err, after, before)
	}
}

// wantRefused writes text, of which the guard must not accept a byte.
func (p *guardPair) wantRefused(text string, why error) *GuardError {
	p.Helper()
	before, _ := Accepted(p.Conn)
	unread := p.server.Unread()
	n, err := io.WriteString(p.Conn, text)
	e, ok := errors.AsType[*GuardError](err)
	if n != 0 || !ok || !errors.Is(err, why) {
		p.Fatalf("wrote %d, %v; want %v", n, err, why)
	}
	if after, _ := Accepted(p.Conn); after != before {
		p.Errorf("%d bytes were accepted of a refused write", after-before)
	}
	if more := p.server.Unread() - unread; more != 0 {
		p.Errorf("%d bytes of a refused write arrived", more)
	}
	return e
}

// exchange sends a request and reads its answer.
func (p *guardPair) exchange() {
	p.Helper()
	p.send(getHead)
	p.respond(okAnswer)
}

// respond has the server read all and answer, and reads that.
func (p *guardPair) respond(text string) {
	p.Helper()
	if n := p.server.Unread(); n > 0 {
		io.ReadFull(p.server, make([]byte, n))
	}
	io.WriteString(p.server, text)
	got := make([]byte, len(text))
	if _, err := io.ReadFull(p.Conn, got); err != nil || string(got) != text {
		p.Fatalf("read %q, %v", got, err)
	}
}

func TestGuardRefusesBehindTheIdleLimit(t *testing.T) {
	cfg := GuardConfig{ProxyIdleTimeout: 60 * time.Second, IdleMargin: 6 * time.Second}
	guardBubble(t, cfg, func(s *guarded) {
		c := s.open()
		c.exchange()
		time.Sleep(54*time.Second - 1)
		c.exchange() // a nanosecond too early
		time.Sleep(54 * time.Second)
		e := c.wantRefused(getHead, ErrIdleLimit)
		if e.Idle != 54*time.Second || e.Limit != e.Idle || !e.Reused || e.Host != "a.test:80" || e.Addr != c.RemoteAddr().String() {
			t.Errorf("%+v", e)
		}
		c.wantRefused("x", ErrIdleLimit) // and for good
		if n, err := c.server.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("the server reads %d, %v", n, err)
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, ErrIdleLimit) {
			t.Errorf("the reader is told %v", err)
		}
		c.Close()
		c.Close()
		if got := s.g.Stats().Total; got.ClosedBy[ReasonIdleLimit] != 1 || got.Sent != 2 || got.Reused != 1 {
			t.Errorf("%+v", got)
		}
	})
}

// A suspended machine's monotonic clock stands still; its wall clock doesn't. The bubble has
// one clock for both, so the last byte's time is put back by hand.
func TestGuardAgesByTheWallClock(t *testing.T) {
	guardBubble(t, GuardConfig{ProxyIdleTimeout: 60 * time.Second}, func(s *guarded) {
		c := s.open()
		c.exchange()
		gc := c.Conn.(*guardConn)
		gc.sense.last = gc.sense.last.Round(0).Add(-time.Hour) // no monotonic part
		c.wantRefused(getHead, ErrIdleLimit)
	})
}

func TestGuardUnusedConnections(t *testing.T) {
	guardBubble(t, GuardConfig{ProxyIdleTimeout: 60 * time.Second}, func(s *guarded) {
		young, old := s.open(), s.open()
		time.Sleep(50 * time.Second)
		young.exchange()
		time.Sleep(10 * time.Second)
		if e := old.wantRefused(getHead, ErrIdleLimit); e.Reused || e.Idle != 60*time.Second {
			t.Errorf("%+v", e)
		}
		young.Close()
	})
}

func TestGuardNeverRefusesInMidRequest(t *testing.T) {
	const long = 10 * time.Minute
	guardBubble(t, GuardConfig{ProxyIdleTimeout: time.Minute}, func(s *guarded) {
		for _, answers := range []string{"", continueAnswer, hintsAnswer, hintsAnswer + continueAnswer} {
			c := s.open()
			c.send(postHead)
			c.respond(answers)
			for range 3 {
				time.Sleep(long)
				c.send("0123")
			}
			c.respond(okAnswer)
			time.Sleep(long)
			c.send("0123") // the rest of an upload that was answered early
			time.Sleep(long)
			c.wantRefused(getHead, ErrIdleLimit)
		}
		c := s.open()
		c.send(getHead)
		c.respond(switchAnswer)
		for range 3 {
			time.Sleep(long)
			c.send(getHead) // whatever this is, it's no request of HTTP
			time.Sleep(long)
			c.respond(okAnswer)
		}
		c.Close()
		if n := s.g.Stats().Total.ClosedBy[ReasonUpgraded]; n != 1 {
			t.Errorf("closed by: %v", s.g.Stats().Total.ClosedBy)
		}
	})
}

func TestGuardLearnsFromCloses(t *testing.T) {
	guardBubble(t, GuardConfig{}, func(s *guarded) {
		closeIdle := func(after time.Duration) {
			c := s.open()
			c.exchange()
			time.Sleep(after)
			c.server.Close()
			if _, err := c.Read(make([]byte, 1)); err != io.EOF {
				t.Fatal(err)
			}
			c.Close()
		}
		limit := func() HostStats { return s.g.Stats().Hosts[0] }
		closeIdle(20 * time.Second)
		closeIdle(20 * time.Second)
		if h := limit(); h.IdleLimit != 0 || h.IdleLimitSource != "none" {
			t.Errorf("after two closes: %v, %s", h.IdleLimit, h.IdleLimitSource)
		}
		closeIdle(20 * time.Second)
		h := limit()
		if h.IdleLimit != 18*time.Second || h.IdleLimitSource != "learnt" || h.LearntIdle != 20*time.Second || h.UnusedLimit != 18*time.Second || h.LearntUnused != 0 {
			t.Errorf("after three: limit %v, %s; learnt %v; unused %v", h.IdleLimit, h.IdleLimitSource, h.LearntIdle, h.UnusedLimit)
		}
		if h.IdleCloses["fin"] != 3 || h.ClosedBy[ReasonPeerClosed] != 3 {
			t.Errorf("%v, %v", h.IdleCloses, h.ClosedBy)
		}
		c := s.open()
		c.exchange()
		time.Sleep(18 * time.Second)
		c.wantRefused(getHead, ErrIdleLimit)

		// A connection that outlives what was learnt disproves it.
		c = s.open()
		c.exchange()
		time.Sleep(30 * time.Second)
		c.exchange()
		if h := limit(); h.IdleLimit != 0 {
			t.Errorf("what was disproved is kept: %v", h.IdleLimit)
		}
		c.Close()
		for range 3 {
			closeIdle(20 * time.Second)
			time.Sleep(time.Second)
		}
		if h := limit(); h.IdleLimit == 0 {
			t.Error("nothing was learnt anew")
		}
		c = s.open() // the host isn't to be forgotten
		time.Sleep(time.Hour)
		if h := limit(); h.IdleLimit != 0 {
			t.Errorf("what is old is kept: %v", h.IdleLimit)
		}
		c.Close()
	})
}

// A machine that was asleep hasn't seen whether the peer closed the connection: that it looks
// alive disproves nothing, and it's too old.
func TestGuardWakesUpWithItsLimit(t *testing.T) {
	guardBubble(t, GuardConfig{}, func(s *guarded) {
		c := s.open()
		c.exchange()
		h := c.Conn.(*guardConn).h
		for range fewAgree {
			h.noteIdleClose(health.CauseFIN, true, 20*time.Second, time.Now())
			time.Sleep(time.Second)
		}
		woken := &sense{kind: kindHTTP1, started: true, last: time.Now().Add(-5 * time.Second)}
		if limit := h.limitFor(woken, time.Hour, time.Now()); limit != 18*time.Second {
			t.Errorf("limit %v after a sleep, want 18s", limit)
		}
		c.Close()
	})
}

// What this host's kernel ends says nothing of the peer.
func TestGuardLearnsNothingFromOwnEnds(t *testing.T) {
	guardBubble(t, GuardConfig{}, func(s *guarded) {
		for range fewAgree {
			c := s.open()
			c.exchange()
			gc := c.Conn.(*guardConn)
			gc.Conn = localEnd{gc.Conn}
			time.Sleep(2 * time.Minute)
			c.server.Close()
			if _, err := c.Read(make([]byte, 1)); err != syscall.ETIMEDOUT {
				t.Fatal(err)
			}
			c.Close()
		}
		if h := s.g.Stats().Hosts[0]; h.LearntIdle != 0 || h.IdleCloses["unknown"] != fewAgree {
			t.Errorf("learnt %v from %v", h.LearntIdle, h.IdleCloses)
		}
	})
}

// What a peer does to connections in use says nothing of its timer.
func TestGuardLearnsNothingFromOtherCloses(t *testing.T) {
	guardBubble(t, GuardConfig{}, func(s *guarded) {
		for range 10 {
			c := s.open()
			c.send(getHead)
			time.Sleep(20 * time.Second)
			c.server.Close()
			io.ReadAll(c)
			c.Close()
			c = s.open()
			c.exchange()
			time.Sleep(20 * time.Second)
			c.Close() // by this side
		}
		h := s.g.Stats().Hosts[0]
		if h.LearntIdle != 0 || len(h.IdleCloses) != 0 || h.ClosedBy[ReasonPeerAborted] != 10 || h.ClosedBy[ReasonIdleClosed] != 10 {
			t.Errorf("learnt %v from %v, closed by %v", h.LearntIdle, h.IdleCloses, h.ClosedBy)
		}
	})
}

func TestGuardUnasked408(t *testing.T) {
	guardBubble(t, GuardConfig{}, func(s *guarded) {
		for range 3 {
			c := s.open()
			time.Sleep(10 * time.Second)
			io.WriteString(c.server, "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n")
			c.server.Close()
			io.ReadAll(c)
			c.Close()
		}
		h := s.g.Stats().Hosts[0]
		if h.IdleCloses["408"] != 3 || h.ClosedBy[ReasonUnsolicited] != 3 || h.LearntUnused != 10*time.Second || h.UnusedLimit != 9*time.Second || h.IdleLimit != 0 {
			t.Errorf("%v, %v, %v, %v", h.IdleCloses, h.ClosedBy, h.LearntUnused, h.UnusedLimit)
		}
	})
}

// The count is never too low while a Write is under way, and exact behind it.
func TestAcceptedCountsBeforeTheWrite(t *testing.T) {
	guardBubble(t, GuardConfig{}, func(s *guarded) {
		c := s.open()
		c.Conn.(*guardConn).Conn.(*fakenet.Conn).SetBuffer(5)
		done := make(chan error)
		go func() {
			n, err := io.WriteString(c, getHead)
			if n != 5 {
				t.Errorf("wrote %d", n)
			}
			done <- err
		}()
		synctest.Wait()
		if n, _ := Accepted(c.Conn); n != int64(len(getHead)) {
			t.Errorf("during a Write that hangs %d bytes count", n)
		}
		c.Close()
		if err := <-done; !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		if n, _ := Accepted(c.Conn); n != 5 {
			t.Errorf("%d bytes count behind a Write that took 5", n)
		}
	})
}

func TestAcceptedKnowsItsOwn(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if _, ok := Accepted(a); ok {
		t.Error("a foreign connection has a count")
	}
	if _, ok := Accepted(nil); ok {
		t.Error("no connection has a count")
	}
	guardBubble(t, GuardConfig{}, func(s *guarded) {
		c := s.open()
		if _, ok := Accepted(struct{ net.Conn }{c.Conn}); ok {
			t.Error("a wrapper, which may hold bytes back, has a count")
		}
		c.Close()
	})
}

func TestGuardConfigErrors(t *testing.T) {
	for field, cfg := range map[string]GuardConfig{
		"GuardConfig.ProxyIdleTimeout":                    {ProxyIdleTimeout: 60},
		"GuardConfig.IdleMargin":                          {ProxyIdleTimeout: time.Second, IdleMargin: time.Second},
		"GuardConfig.MaxConnsPerHost":                     {MaxConnsPerHost: -1},
		"GuardConfig.MaxWait":                             {MaxWait: -1},
		"GuardConfig.MaxWaiters":                          {MaxWaiters: -1},
		`GuardConfig.Hosts["a"]`:                          {Hosts: map[string]GuardHost{"a": {}}},
		`GuardConfig.Hosts["A.test:80"]`:                  {Hosts: map[string]GuardHost{"A.test:80": {}, "a.test:80": {}}},
		`GuardConfig.Hosts["a.test:80"].MaxWait`:          {Hosts: map[string]GuardHost{"a.test:80": {MaxWait: -1}}},
		`GuardConfig.Hosts["a.test:80"].ProxyIdleTimeout`: {Hosts: map[string]GuardHost{"a.test:80": {ProxyIdleTimeout: 5}}},
		`GuardConfig.Hosts["a.test:80"].IdleMargin`:       {IdleMargin: time.Second, Hosts: map[string]GuardHost{"a.test:80": {ProxyIdleTimeout: time.Second}}},
	} {
		g, err := NewGuard(cfg)
		e, ok := errors.AsType[*ConfigError](err)
		if g != nil || !ok || !strings.HasPrefix(e.Field, strings.SplitAfter(field, "Hosts[")[0]) {
			t.Errorf("%s: %v", field, err)
		}
		if ok && !strings.Contains(field, "A.test") && e.Field != field {
			t.Errorf("%s: the error names %s", field, e.Field)
		}
	}
}

func TestGuardHostsOverride(t *testing.T) {
	cfg := GuardConfig{ProxyIdleTimeout: time.Minute, Hosts: map[string]GuardHost{"A.test:80": {ProxyIdleTimeout: 10 * time.Second}}}
	guardBubble(t, cfg, func(s *guarded) {
		c := s.open()
		c.exchange()
		time.Sleep(9 * time.Second)
		c.wantRefused(getHead, ErrIdleLimit)
	})
}

// A dial's failure leaves no slot behind, and is a *dialer.Error whoever dialled.
func TestGuardDialErrors(t *testing.T) {
	guardBubble(t, GuardConfig{MaxConnsPerHost: 1, MaxWait: time.Second}, func(s *guarded) {
		s.refuse = errWireCut
		for range 3 {
			_, err := s.g.DialContext(s.Context(), "tcp", "a.test:80")
			if e, ok := errors.AsType[*dialer.Error](err); !ok || e.Stage != dialer.StageConnect || !errors.Is(err, errWireCut) {
				t.Errorf("%v", err)
			}
			_, err = s.g.DialTLSContext(s.Context(), "tcp", "a.test:80")
			if _, ok := errors.AsType[*dialer.Error](err); !ok {
				t.Errorf("%v", err)
			}
		}
		s.refuse = nil
		s.open().Close()
	})
}

var errWireCut = errors.New("the wire is cut")

// Hosts without connections are forgotten: late ones by Stats, and all when there are many.
func TestGuardForgetsHosts(t *testing.T) {
	guardBubble(t, GuardConfig{}, func(s *guarded) {
		kept := s.open()
		for i := range 5 * manyHosts {
			c, err := s.g.DialContext(s.Context(), "tcp", fmt.Sprintf("h%d.test:80", i))
			if err != nil {
				t.Fatal(err)
			}
			c.Close()
			(<-s.servers).Close()
			time.Sleep(time.Second / 10)
		}
		if n := len(s.g.hosts); n > 2*manyHosts {
			t.Errorf("%d hosts are remembered", n)
		}
		time.Sleep(forgetAfter)
		st := s.g.Stats()
		if len(st.Hosts) != 1 || st.Hosts[0].Host != "a.test:80" {
			t.Errorf("%d hosts are left", len(st.Hosts))
		}
		if st.Total.Opened != 5*manyHosts+1 || st.Total.Closed != 5*manyHosts {
			t.Errorf("%d opened, %d closed", st.Total.Opened, st.Total.Closed)
		}
		kept.Close()
	})
}

// It fits where it is meant to be used.
var (
	_ StatsSource = (*Guard)(nil)
	_             = http.Transport{DialContext: (*Guard)(nil).DialContext, DialTLSContext: (*Guard)(nil).DialTLSContext}
)
