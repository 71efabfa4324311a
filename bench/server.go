package bench

import (
	"cmp"
	"time"

	"example.com/connwise/internal/peer"
)

// smallBody is the length of the peer's answers, and of a POST's body.
const smallBody = 128

// maxStreams is how many streams a connection to the peer may have open, nginx's
// default. A burst needs more than that, a connection of each in HTTP/1.1's place not.
const maxStreams = 128

// goAwayEvery is how many requests goaway's peer takes on a connection.
const goAwayEvery = 100

// goAwayGrace is the time between the two GOAWAYs of goaway. Proxies take 1 or 2 s; a
// client that does nothing with the first one sends on all the same.
const goAwayGrace = 20 * time.Millisecond

// faults are what a scenario wants of the peer, whatever it speaks.
type faults struct {
	delay   time.Duration // of each answer
	streams int           // that a connection over HTTP/2 may have open; zero: maxStreams
	body    int           // length of an answer's body; zero: smallBody
	upload  int           // length of a POST's body, which the peer looks at; zero: smallBody, and it doesn't
	idle    time.Duration // closes a connection that is idle for so long; zero: never
	perConn int           // announces the end of a connection with so many requests; zero: never
	// more1 and more2 change what comes of these for one version of HTTP; nil: nothing.
	more1 func(*peer.Faults)
	more2 func(*peer.H2Faults)
}

// checked says whether bodies are compared, byte for byte.
func (f faults) checked() bool { return f.body > 0 || f.upload > 0 }

func (f faults) http1() peer.Faults {
	h := peer.Faults{
		BodySize: cmp.Or(f.body, smallBody), Upload: int64(f.upload),
		Delay: f.delay, IdleTimeout: f.idle,
		MaxRequests: f.perConn, Announce: true,
	}
	if f.more1 != nil {
		f.more1(&h)
	}
	return h
}

func (f faults) http2() peer.H2Faults {
	h := peer.H2Faults{
		BodySize: cmp.Or(f.body, smallBody), Upload: int64(f.upload),
		Delay: f.delay, MaxStreams: cmp.Or(f.streams, maxStreams),
		IdleTimeout: f.idle, StreamsPerConn: f.perConn,
		GoAway: peer.H2GoAway{Grace: goAwayGrace},
	}
	if f.idle > 0 {
		h.GoAway = peer.H2GoAway{Quiet: true} // the kind that proves nothing
	}
	if f.more2 != nil {
		f.more2(&h)
	}
	return h
}

// A server is the peer's of one round: one of the two is set.
type server struct {
	faults faults
	h1     *peer.Remote
	h2     *peer.RemoteH2
}

// listen starts a server for q in the child.
func listen(c *peer.Child, q proto, f faults) (*server, error) {
	s := &server{faults: f}
	var err error
	if q.h2 {
		s.h2, err = c.ListenH2(q.tls, f.http2())
	} else {
		s.h1, err = c.Listen(q.tls, f.http1())
	}
	return s, err
}

func (s *server) addr() string {
	if s.h2 != nil {
		return s.h2.Addr()
	}
	return s.h1.Addr()
}

// count returns the connections so far.
func (s *server) count() (peer.Count, error) {
	if s.h2 != nil {
		return s.h2.Count()
	}
	return s.h1.Count()
}

// close closes the server and returns its final report, and what it has seen of the
// client against the protocol, which only a server for HTTP/2 looks for.
func (s *server) close() (rep peer.Report, violations []string, err error) {
	if s.h2 == nil {
		rep, err = s.h1.Close()
		return rep, nil, err
	}
	h, err := s.h2.Close()
	return h.Report, h.Violations, err
}
