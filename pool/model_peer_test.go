package pool

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"syscall"
	"time"

	"example.com/connwise/internal/fakenet"
)

// A modelDial is a dial under way.
type modelDial struct {
	began time.Time
	ctx   context.Context
	done  chan error
}

// A modelConn is a connection, and its peer.
type modelConn struct {
	m              *model
	client, server *fakenet.Conn
	opened         time.Time
	epoch          int
	spoiled        string // what the peer did to it: no request may come any more
	carried        int    // requests

	// HTTP/1.1, guarded by model.mu.
	cur       *modelReq // the last request whose head came
	complete  bool      // so did its body
	answer    answerState
	parts     bool      // the last answer came in parts: the last is read when the caller reads
	idleSince time.Time // when the last answer's last byte was sent, or read; opened before the first

	sharedPeer
}

type answerState uint8

const (
	answerNone  answerState = iota
	answerBegun             // a part of it is out
	answerWhole
)

func (m *model) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	d := &modelDial{began: time.Now(), ctx: ctx, done: make(chan error, 1)}
	m.mu.Lock()
	m.begun++
	m.dials = append(m.dials, d)
	if n := len(m.living()) + len(m.openConns()); m.cfg.limit > 0 && n > m.cfg.limit {
		m.errorf("%d connections at a time", n)
	}
	m.mu.Unlock()
	var err error
	select {
	case err = <-d.done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dials = slices.DeleteFunc(m.dials, func(x *modelDial) bool { return x == d })
	if err != nil {
		return nil, err
	}
	return m.openLocked().client, nil
}

// living are the dials that the pool hasn't given up.
func (m *model) living() []*modelDial {
	return some(m.dials, func(d *modelDial) bool { return d.ctx.Err() == nil })
}

// openLocked makes a connection and its peer.
func (m *model) openLocked() *modelConn {
	c := &modelConn{m: m, opened: time.Now(), epoch: m.epoch, idleSince: time.Now()}
	c.client, c.server = fakenet.Pipe()
	m.conns = append(m.conns, c)
	if m.cfg.http2 {
		c.startHTTP2()
	} else {
		go c.serve()
	}
	return c
}

// openConns are those that the pool hasn't closed.
func (m *model) openConns() []*modelConn { return some(m.conns, (*modelConn).isOpen) }

func (c *modelConn) isOpen() bool {
	select {
	case <-c.client.Closed():
		return false
	default:
		return true
	}
}

// connOf finds the model's view of c.
func (m *model) connOf(c *conn) *modelConn {
	for _, mc := range m.conns {
		if net.Conn(mc.client) == c.nc {
			return mc
		}
	}
	return nil
}

// serve reads requests. What it answers, the steps say.
func (c *modelConn) serve() {
	br := bufio.NewReader(c.server)
	for {
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		c.arrived(req.Header.Get("X-Id"))
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return
		}
		c.m.mu.Lock()
		c.complete = true
		c.m.mu.Unlock()
	}
}

// arrived notes that a request's head has come on an HTTP/1.1 connection, and checks that it
// should have.
func (c *modelConn) arrived(id string) {
	m := c.m
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.placeLocked(c, id)
	if r == nil {
		return
	}
	if c.cur != nil && c.answer != answerWhole {
		m.errorf("request %d came on a connection on which %d has no answer", r.id, c.cur.id)
	}
	idle := time.Since(c.idleSince)
	if limit := m.cfg.idleLimit(); limit > 0 && idle >= limit {
		m.errorf("request %d came on a connection that was idle for %v, the limit is %v", r.id, idle, limit)
	}
	c.cur, c.complete, c.answer, c.parts = r, false, answerNone, false
}

// placeLocked notes that request id has come on c.
func (m *model) placeLocked(c *modelConn, id string) *modelReq {
	n, err := strconv.Atoi(id)
	if err != nil || n >= len(m.reqs) {
		m.errorf("a request %q", id)
		return nil
	}
	r := m.reqs[n]
	if r.came++; r.came > r.refused+1 {
		m.errorf("request %d came %d times, and was refused %d times", n, r.came, r.refused)
	}
	r.on = c
	m.arrivals = append(m.arrivals, r)
	if c.carried++; m.cfg.requests > 0 && c.carried > m.cfg.requests {
		m.errorf("request %d came as number %d on its connection", n, c.carried)
	}
	if c.spoiled != "" {
		m.errorf("request %d came on a connection after its peer's %s", n, c.spoiled)
	}
	if age := time.Since(c.opened); m.cfg.age > 0 && age >= m.cfg.age {
		m.errorf("request %d came on a connection %v old", n, age)
	}
	if c.epoch != m.epoch && !(r.cautious && m.cfg.http2) {
		m.errorf("request %d came on a connection that was to be retired", n)
	}
	return r
}

// stepOfHTTP1 has the steps of peers of HTTP/1.1.
func (m *model) stepOfHTTP1(s step) func() {
	open := m.openConns()
	sound := some(open, func(c *modelConn) bool { return c.spoiled == "" })
	unanswered := some(sound, func(c *modelConn) bool { return c.busy() && c.answer == answerNone })
	begun := some(sound, func(c *modelConn) bool { return c.busy() && c.answer == answerBegun })
	quiet := some(sound, func(c *modelConn) bool { return !c.busy() })
	// What comes behind an answer that the caller has yet to read can't be seen in time on a
	// connection in memory, where a look is no system call.
	endable := slices.Concat(unanswered, begun, quiet)
	switch s.what {
	case "answer":
		return one(unanswered, s, func(c *modelConn) { c.reply("", []string{"", "x", "answer"}[s.v%3]) })
	case "answer and close":
		return one(unanswered, s, func(c *modelConn) {
			c.spoiled = "Connection: close"
			c.reply("Connection: close\r\n", []string{"", "answer"}[s.v%2])
		})
	case "answer in part":
		return one(unanswered, s, func(c *modelConn) { c.answer, c.parts = answerBegun, true; c.write("", 10, "begun") })
	case "answer the rest":
		return one(begun, s, func(c *modelConn) { c.answer, c.idleSince = answerWhole, time.Now(); io.WriteString(c.server, "ended") })
	case "continue":
		return one(some(unanswered, func(c *modelConn) bool { return !c.complete }), s, func(c *modelConn) {
			io.WriteString(c.server, "HTTP/1.1 100 Continue\r\n\r\n")
		})
	case "fin":
		return one(endable, s, func(c *modelConn) { c.spoiled = "FIN"; c.server.CloseWrite() })
	case "rst":
		return one(endable, s, func(c *modelConn) { c.spoiled = "RST"; c.server.Reset() })
	case "surplus":
		return one(quiet, s, func(c *modelConn) { c.spoiled = "surplus"; io.WriteString(c.server, "HTTP/1.1 200 OK\r\n\r\n") })
	case "write fails":
		return one(quiet, s, func(c *modelConn) { c.spoiled = "failing write"; c.client.FailWriteAfter(0, syscall.EPIPE) })
	}
	return nil
}

// reply sends a whole answer at once.
func (c *modelConn) reply(fields, body string) {
	c.answer, c.idleSince = answerWhole, time.Now()
	c.write(fields, len(body), body)
}

func (c *modelConn) write(fields string, length int, body string) {
	fmt.Fprintf(c.server, "HTTP/1.1 200 OK\r\nX-Id: %d\r\n%sContent-Length: %d\r\n\r\n%s", c.cur.id, fields, length, body)
}

// busy tells whether the connection carries a request.
func (c *modelConn) busy() bool {
	if c.m.cfg.http2 {
		return len(c.held()) > 0
	}
	r := c.cur
	return r != nil && !r.over() && !(r.returned && r.empty)
}

// early tells whether an answer without content came before the request's body had left: the
// connection is busy until it has.
func (c *modelConn) early() bool { return c.cur != nil && !c.cur.over() && c.cur.early }
