package scenario

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A ledger is the worst that an origin can do: it executes a request when it has its request
// line, and counts the bodies that it has whole.
type ledger struct {
	mu     sync.Mutex
	lines  map[string]int
	bodies map[string]int
}

func newLedger() *ledger { return &ledger{lines: make(map[string]int), bodies: make(map[string]int)} }

func (l *ledger) note(in map[string]int, key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	in[key]++
}

// twice are the POSTs of which in has more than one.
func (l *ledger) twice(in map[string]int) (keys []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, n := range in {
		if n > 1 && strings.HasPrefix(key, http.MethodPost) {
			keys = append(keys, fmt.Sprintf("%s: %d", key, n))
		}
	}
	return keys
}

// A hostileConn reads a request in pieces, so that it can do its worst at each.
type hostileConn struct {
	*peerConn
	l   *ledger
	rnd *rand.Rand
	key string
	req textproto.MIMEHeader
}

// head reads a request's head. Each piece is noted at once.
func (c *hostileConn) head() bool {
	line, err := c.br.ReadString('\n')
	if err != nil {
		return false
	}
	c.key = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), "HTTP/1.1"))
	c.l.note(c.l.lines, c.key)
	c.req, err = textproto.NewReader(c.br).ReadMIMEHeader()
	return err == nil
}

// body reads the request's body, to its end if there is no error.
func (c *hostileConn) body() bool {
	if c.req.Get("Transfer-Encoding") == "chunked" {
		for {
			line, err := c.br.ReadString('\n')
			if err != nil {
				return false
			}
			n, err := strconv.ParseInt(strings.TrimSpace(line), 16, 32)
			if err != nil {
				return false
			}
			if _, err := io.CopyN(io.Discard, c.br, n+2); err != nil {
				return false
			}
			if n == 0 {
				break
			}
		}
	} else if n, _ := strconv.ParseInt(c.req.Get("Content-Length"), 10, 32); n > 0 {
		if _, err := io.CopyN(io.Discard, c.br, n); err != nil {
			return false
		}
	}
	c.l.note(c.l.bodies, c.key)
	return true
}

func (c *hostileConn) ok(fields string) {
	c.say("HTTP/1.1 200 OK\r\n%sContent-Length: 2\r\n\r\nok", fields)
}

// end closes the connection in one of the ways that there are.
func (c *hostileConn) end() {
	switch c.rnd.IntN(3) {
	case 0:
		c.Conn.Close()
	case 1:
		c.tcp.SetLinger(0)
		c.tcp.Close()
	case 2:
		c.tcp.CloseWrite()
		c.tcp.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		io.Copy(io.Discard, c.tcp)
	}
}

// hostile plays a peer that ends connections at each moment of an exchange and between two.
func hostile(l *ledger) script {
	return func(pc *peerConn) {
		c := &hostileConn{peerConn: pc, l: l, rnd: rand.New(rand.NewPCG(uint64(pc.num), 7))}
		defer c.end()
		if c.rnd.IntN(12) == 0 {
			return // before anything was said
		}
		for {
			if c.rnd.IntN(4) == 0 { // it idles, and is closed at about the time of the next request
				c.tcp.SetReadDeadline(time.Now().Add(time.Duration(c.rnd.IntN(4000)) * time.Microsecond))
				if _, err := c.br.Peek(1); err != nil {
					if c.rnd.IntN(4) == 0 {
						c.say("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
					}
					return
				}
				c.tcp.SetReadDeadline(time.Time{})
			}
			if c.rnd.IntN(10) == 0 { // in the middle of the head
				io.CopyN(io.Discard, c.br, int64(c.rnd.IntN(12)))
				return
			}
			if !c.head() || !c.play() {
				return
			}
		}
	}
}

// play answers one request, and tells whether the connection goes on.
func (c *hostileConn) play() bool {
	expects := c.req.Get("Expect") != ""
	switch c.rnd.IntN(12) {
	case 0: // executed on its head alone
		return false
	case 1: // consent, and the end
		c.say("HTTP/1.1 100 Continue\r\n\r\n")
		return false
	case 2: // a storm of interim answers
		for range c.rnd.IntN(20) {
			c.say("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
		}
		if c.rnd.IntN(2) == 0 {
			return false
		}
	case 3: // the answer before the body
		c.ok("")
		return c.rnd.IntN(2) == 0 && c.body()
	case 4:
		c.ok("Connection: close\r\n")
		return false
	case 5: // a part of the body
		if expects {
			c.say("HTTP/1.1 100 Continue\r\n\r\n")
		}
		if c.req.Get("Content-Length") != "0" && len(c.req["Content-Length"])+len(c.req["Transfer-Encoding"]) > 0 {
			io.CopyN(io.Discard, c.br, int64(c.rnd.IntN(4)))
		}
		return false
	case 6: // all of it, and no answer
		if expects {
			c.say("HTTP/1.1 100 Continue\r\n\r\n")
		}
		c.body()
		return false
	case 7: // half an answer
		c.say("HTTP/1.1 200 O")
		return false
	}
	if expects {
		c.say("HTTP/1.1 100 Continue\r\n\r\n")
	}
	if !c.body() {
		return false
	}
	if c.rnd.IntN(8) == 0 {
		c.ok("Connection: close\r\n")
		return c.rnd.IntN(2) == 0
	}
	c.ok("")
	return true
}
