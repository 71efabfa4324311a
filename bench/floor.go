package bench

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strconv"
	"sync"

	"example.com/connwise/internal/peer"
)

// Floor is no client: it writes the bytes of a request and reads those of the answer, and
// does nothing else. What it costs is the system's share, below which no client gets. It
// is in the rows over HTTP/1.1 of steady, idle-conns and hosts.
func Floor() Client {
	return Client{
		Name: "floor",
		Note: "no client: writes the request's bytes and reads as many as an answer has; what the system itself costs. In steady, idle-conns and hosts over HTTP/1.1 only",
		Native: func(s Setup) (Caller, error) {
			return &floor{roots: s.Roots, dialer: net.Dialer{Resolver: s.Resolver}, idle: make(map[*url.URL]*bareStack)}, nil
		},
		Has: func(scenario, proto string) bool {
			return slices.Contains([]string{"steady", idleConns.name, manyHosts.name}, scenario) && (proto == "h1" || proto == "h1s")
		},
	}
}

// A floor keeps the connections that aren't in use.
type floor struct {
	roots  *x509.CertPool
	dialer net.Dialer

	mu   sync.Mutex
	idle map[*url.URL]*bareStack // the URLs are the rig's, one for each host
}

// A bareStack has the idle ones of a host. Its mutex is the floor's.
type bareStack []*bare

// Call gets the URL.
func (f *floor) Call(ctx context.Context, e *Exchange) error {
	c, err := f.get(ctx, e)
	if err == nil {
		f.put(c)
	}
	return err
}

// Hold gets the URL, and end gives the connection back.
func (f *floor) Hold(ctx context.Context, e *Exchange) (end func() error, err error) {
	c, err := f.get(ctx, e)
	if err != nil {
		return nil, err
	}
	return func() error { f.put(c); return nil }, nil
}

func (f *floor) get(ctx context.Context, e *Exchange) (*bare, error) {
	c, err := f.take(ctx, e)
	if err != nil {
		return nil, err
	}
	if err := c.exchange(e); err != nil {
		return nil, errors.Join(err, c.conn.Close())
	}
	return c, nil
}

// take returns the connection to the URL's host that was used last, or a new one.
func (f *floor) take(ctx context.Context, e *Exchange) (*bare, error) {
	f.mu.Lock()
	s := f.idle[e.URL]
	if s == nil {
		s = &bareStack{}
		f.idle[e.URL] = s
	}
	if n := len(*s); n > 0 {
		c := (*s)[n-1]
		*s = (*s)[:n-1]
		f.mu.Unlock()
		return c, nil
	}
	f.mu.Unlock()
	conn, err := f.dialer.DialContext(ctx, "tcp", e.URL.Host)
	if err != nil {
		return nil, err
	}
	if e.URL.Scheme == "https" {
		conn = tls.Client(conn, &tls.Config{RootCAs: f.roots, ServerName: e.URL.Hostname()})
	}
	c := newBare(conn, e.URL.Host)
	c.home = s
	return c, nil
}

func (f *floor) put(c *bare) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*c.home = append(*c.home, c)
}

// Close closes the connections, none of which may be in use.
func (f *floor) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for _, s := range f.idle {
		for _, c := range *s {
			errs = append(errs, c.conn.Close())
		}
	}
	f.idle = nil
	return errors.Join(errs...)
}

// A bare is a connection, and the bytes of a request on it up to the id: those that connwise
// and net/http write.
type bare struct {
	home *bareStack
	conn net.Conn
	head string
}

const answerID = "\r\n" + peer.HeaderID + ": "

func newBare(conn net.Conn, host string) *bare {
	return &bare{conn: conn, head: "GET / HTTP/1.1\r\nHost: " + host + "\r\nUser-Agent: Go-http-client/1.1" + answerID}
}

// scratch has room for a request and its answer. It's used again by whichever connection
// comes next: with thousands of them it's in the processor's cache then.
type scratch struct{ request, answer []byte }

var scratches = sync.Pool{New: func() any { return &scratch{make([]byte, 0, 512), make([]byte, 0, 1024)} }}

func (c *bare) exchange(e *Exchange) error {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	s.request = append(s.request[:0], c.head...)
	s.request = append(s.request, e.ID...)
	s.request = append(s.request, "\r\nAccept-Encoding: gzip\r\n\r\n"...)
	if _, err := c.conn.Write(s.request); err != nil {
		return err
	}
	s.answer = s.answer[:0]
	for {
		n, err := c.conn.Read(s.answer[len(s.answer):cap(s.answer)])
		s.answer = s.answer[:len(s.answer)+n]
		if end := bytes.Index(s.answer, []byte("\r\n\r\n")); end >= 0 && len(s.answer) == end+4+smallBody {
			break
		}
		if err != nil || n == 0 { // n is 0 without an error where the answer is longer than there is room
			return fmt.Errorf("bench: floor: no answer of %d bytes: %w", smallBody, cmp.Or(err, io.ErrShortBuffer))
		}
	}
	return s.read(e)
}

// read tells what there is to say of the answer.
func (s *scratch) read(e *Exchange) error {
	const status = len("HTTP/1.1 ")
	code, err := strconv.Atoi(string(s.answer[status : status+3]))
	if err != nil {
		return fmt.Errorf("bench: floor: %w", err)
	}
	e.Status, e.Proto, e.Read = code, "HTTP/1.1", smallBody
	if bytes.Contains(s.answer, []byte(answerID+e.ID+"\r\n")) {
		e.AnswerID = e.ID
	}
	return nil
}
