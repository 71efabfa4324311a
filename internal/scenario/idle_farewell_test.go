package scenario

import (
	"testing"

	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"

	"golang.org/x/net/http2"
)

// A farewell is how a server ends an idle connection.
type farewell struct {
	name   string
	tls    bool // only there it differs from another
	cause  string
	causeT string // over TLS, if that is another
	h1     func(*peerConn)
	h2     func(*peer.H2Conn)
}

// farewells, of which those without a function for a protocol don't exist there.
var farewells = []farewell{
	{name: "FIN", cause: "fin", causeT: "close_notify", h1: func(c *peerConn) { c.Conn.Close() }, h2: func(c *peer.H2Conn) { c.Close(peer.FIN) }},
	{name: "bare FIN", cause: "fin", tls: true, h1: func(c *peerConn) { c.tcp.Close() }, h2: func(c *peer.H2Conn) { c.Close(peer.BareFIN) }},
	{name: "RST", cause: "reset", h1: func(c *peerConn) { c.tcp.SetLinger(0); c.tcp.Close() }, h2: func(c *peer.H2Conn) { c.Close(peer.RST) }},
	{name: "close_notify alone", cause: "close_notify", tls: true, h1: (*peerConn).notify, h2: (*peer.H2Conn).CloseNotify},
	{name: "408 and FIN", cause: "408", h1: func(c *peerConn) { c.say(text408, "close"); c.Conn.Close() }},
	{name: "408 alone", cause: "408", h1: func(c *peerConn) { c.say(text408, "keep-alive") }},
	{name: "GOAWAY and FIN", cause: "goaway", h2: func(c *peer.H2Conn) { _ = c.GoAway(1<<31-1, http2.ErrCodeNo); c.Close(peer.FIN) }},
	{name: "GOAWAY alone", cause: "goaway", h2: func(c *peer.H2Conn) { _ = c.GoAway(1<<31-1, http2.ErrCodeNo) }},
}

const text408 = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: %s\r\n\r\n"

// notify sends a close_notify and leaves the socket open.
func (c *peerConn) notify() {
	if t, ok := c.Conn.(interface{ CloseWrite() error }); ok && c.Conn != c.tcp {
		t.CloseWrite()
	}
}

// in tells whether sp has this farewell.
func (f farewell) in(sp speech) bool {
	if f.tls && !sp.tls {
		return false
	}
	return sp.h2 && f.h2 != nil || !sp.h2 && f.h1 != nil
}

// causeOver is what the statistics call it.
func (f farewell) causeOver(sp speech) string {
	if sp.tls && f.causeT != "" {
		return f.causeT
	}
	return f.cause
}

// wantGone waits for the pool to have noticed, without a request that asks it to.
func (f farewell) wantGone(t *testing.T, tr *pool.Transport) {
	t.Helper()
	if !within(restTime, func() bool { return gauges(tr) == (counts{}) }) {
		t.Errorf("%v after the %s: %+v", restTime, f.name, gauges(tr))
	}
}

// eachFarewell runs test with each protocol and each way to end a connection there.
func eachFarewell(t *testing.T, test func(*testing.T, *rig, speech, farewell)) {
	t.Helper()
	for _, sp := range speeches {
		for _, f := range farewells {
			if f.in(sp) {
				t.Run(sp.name+"/"+f.name, func(t *testing.T) { test(t, newRig(t, sp.mode), sp, f) })
			}
		}
	}
}
