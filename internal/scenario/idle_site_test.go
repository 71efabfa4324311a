package scenario

import (
	"maps"
	"slices"
	"sync"
	"time"

	"example.com/connwise/internal/peer"

	"golang.org/x/net/http2"
)

// A speech is what client and server talk.
type speech struct {
	mode
	h2 bool
}

var speeches = []speech{
	{mode{"h1", false}, false},
	{mode{"h1 over TLS", true}, false},
	{mode{"h2c", false}, true},
	{mode{"h2", true}, true},
}

// A site is a server of any protocol whose connections a test ends while they are idle.
type site struct {
	speech
	url, addr string
	h1        *rawPeer // nil with HTTP/2
	p2        *h2Peer  // nil with HTTP/1
	how       manners
	crowd     *gathering

	mu   sync.Mutex
	live map[*siteConn]struct{}
}

// A siteConn is one of a site's open connections; h1 or h2 is nil.
type siteConn struct {
	h1 *peerConn
	h2 *peer.H2Conn
	// mu is held for an answer: a TLS connection that is closed before its last Write has
	// returned says no close_notify.
	mu     sync.Mutex
	busy   bool      // a request has begun to come
	after  *farewell // it ends so behind its answer
	served int
}

func (c *siteConn) end(f farewell) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLocked(f)
}

func (c *siteConn) endLocked(f farewell) {
	if c.h2 != nil {
		f.h2(c.h2)
	} else {
		f.h1(c.h1)
	}
}

// begin is called at the first byte of a request.
func (c *siteConn) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = true
}

// answering writes an answer, and ends the connection behind it if that was decided.
func (c *siteConn) answering(how *manners, answer func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := answer()
	c.busy = false
	if c.served++; c.served == how.requests {
		c.after = &how.by
	}
	if c.after != nil {
		c.endLocked(*c.after)
	}
	return err
}

// leave ends the connection now if it is idle, else behind its answer.
func (c *siteConn) leave(f farewell) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy {
		c.after = &f
	} else {
		c.endLocked(f)
	}
}

// manners are how a site serves. The zero manners answer at once and end no connection.
type manners struct {
	crowd    int                  // so many first requests are answered together
	timeout  func() time.Duration // for each time that a connection is idle; nil: never
	requests int                  // so many on each connection; zero: no limit
	by       farewell             // how these two end it; the zero farewell: by FIN
	fields   []string             // more lines of HTTP/1.1's answers
}

// site starts a server. Over HTTP/2 each of its connections takes one stream at a time, so
// that as many are needed as with HTTP/1.
func (r *rig) site(sp speech, how manners) *site {
	r.t.Helper()
	if how.by.name == "" {
		how.by = farewells[0]
	}
	s := &site{speech: sp, how: how, crowd: newGathering(how.crowd), live: make(map[*siteConn]struct{})}
	own := r.mode
	r.mode = sp.mode
	defer func() { r.mode = own }()
	if sp.h2 {
		s.p2 = r.h2peer(peer.H2Options{Handler: s.serveH2})
		s.url, s.addr = s.p2.url, s.p2.Addr()
	} else {
		s.h1 = r.peer(s.serveH1)
		s.url, s.addr = s.h1.url, s.h1.addr
	}
	return s
}

func (s *site) enter(c *siteConn) (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[c] = struct{}{}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.live, c)
	}
}

// rest has c ended when it has been idle for long enough. The caller calls stop at the
// first byte of a request.
func (s *site) rest(c *siteConn) (stop func()) {
	if s.how.timeout == nil {
		return func() {}
	}
	t := time.AfterFunc(s.how.timeout(), func() { c.end(s.how.by) })
	return func() { t.Stop() }
}

func (s *site) serveH1(c *peerConn) {
	sc := &siteConn{h1: c}
	defer s.enter(sc)()
	for stop := func() {}; c.arrives(); {
		stop()
		sc.begin()
		q, err := c.request()
		if err != nil {
			return
		}
		s.crowd.wait(c.peer.over)
		if sc.answering(&s.how, func() error { return c.answer(q, s.how.fields...) }) != nil {
			return
		}
		stop = s.rest(sc)
		defer stop()
	}
}

func (s *site) serveH2(c *peer.H2Conn) {
	sc := &siteConn{h2: c}
	defer s.enter(sc)()
	if c.Settings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1}) != nil {
		return
	}
	stop := func() {}
	for f, err := c.Read(); err == nil && c.Respond(f) == nil; f, err = c.Read() {
		if f.Type == http2.FrameHeaders {
			stop()
			sc.begin()
		}
		if f.Request == nil {
			continue
		}
		s.crowd.wait(c.Done())
		if sc.answering(&s.how, func() error { return c.Answer(f.Request) }) != nil {
			return
		}
		stop = s.rest(sc)
		defer stop()
	}
}

// part ends all open connections in the way of f, and returns how many there were.
func (s *site) part(f farewell) int {
	cs := s.all()
	for _, c := range cs {
		c.end(f)
	}
	return len(cs)
}

// reload ends them in the way of f, those that are busy behind their answer.
func (s *site) reload(f farewell) {
	for _, c := range s.all() {
		c.leave(f)
	}
}

func (s *site) all() []*siteConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.live))
}

// conns is how many connections were accepted, received how many complete requests came on
// them, and count how often the one with this id came.
func (s *site) conns() int {
	if s.h2 {
		return s.p2.conns()
	}
	return s.h1.conns()
}

func (s *site) received() int {
	if s.h2 {
		return int(s.p2.Report().Requests)
	}
	return s.h1.received()
}

func (s *site) count(id string) int {
	if s.h2 {
		return s.p2.count(id)
	}
	return s.h1.count(id)
}

// twice is how many requests came more than once.
func (s *site) twice() int {
	if s.h2 {
		return len(s.p2.twice())
	}
	return len(s.h1.twice())
}

// once checks that n requests have come in all, and none of them twice.
func (s *site) once(t tester, n int) {
	t.Helper()
	if got, twice := s.received(), s.twice(); got != n || twice > 0 {
		t.Errorf("the server got %d requests, want %d, and %d of them more than once", got, n, twice)
	}
}
