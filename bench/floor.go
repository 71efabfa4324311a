package bench

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"

	"example.com/connwise/internal/peer"
)

// Floor is no client: it writes the bytes of a request and reads those of the answer, and
// does nothing else. What it costs is the system's share, below which no client gets. It
// is in the rows of steady over HTTP/1.1.
func Floor() Client {
	return Client{
		Name:   "floor",
		Note:   "no client: writes the request's bytes and reads as many as an answer has; what the system itself costs. In steady over HTTP/1.1 only",
		Native: func(s Setup) (Caller, error) { return &floor{roots: s.Roots}, nil },
		Has:    func(scenario, proto string) bool { return scenario == "steady" && (proto == "h1" || proto == "h1s") },
	}
}

// A floor keeps the connections that aren't in use.
type floor struct {
	roots *x509.CertPool

	mu   sync.Mutex
	idle []*bare
}

// Call gets the URL.
func (f *floor) Call(ctx context.Context, e *Exchange) error {
	c, err := f.take(ctx, e)
	if err != nil {
		return err
	}
	if err := c.exchange(e); err != nil {
		return errors.Join(err, c.conn.Close())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.idle = append(f.idle, c)
	return nil
}

// take returns the connection that was used last, or a new one.
func (f *floor) take(ctx context.Context, e *Exchange) (*bare, error) {
	f.mu.Lock()
	if n := len(f.idle); n > 0 {
		c := f.idle[n-1]
		f.idle = f.idle[:n-1]
		f.mu.Unlock()
		return c, nil
	}
	f.mu.Unlock()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", e.URL.Host)
	if err != nil {
		return nil, err
	}
	if e.URL.Scheme == "https" {
		conn = tls.Client(conn, &tls.Config{RootCAs: f.roots, ServerName: e.URL.Hostname()})
	}
	return newBare(conn, e.URL.Host), nil
}

// Close closes the connections, none of which may be in use.
func (f *floor) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for _, c := range f.idle {
		errs = append(errs, c.conn.Close())
	}
	f.idle = nil
	return errors.Join(errs...)
}

// A bare is a connection with the bytes of the request, which are those that connwise and
// net/http write, and room for the answer.
type bare struct {
	conn    net.Conn
	request []byte // but for the id and what is behind it
	head    int    // its length
	answer  []byte
}

const answerID = "\r\n" + peer.HeaderID + ": "

func newBare(conn net.Conn, host string) *bare {
	head := "GET / HTTP/1.1\r\nHost: " + host + "\r\nUser-Agent: Go-http-client/1.1" + answerID
	return &bare{conn: conn, request: []byte(head), head: len(head), answer: make([]byte, 0, 1024)}
}

func (c *bare) exchange(e *Exchange) error {
	c.request = append(c.request[:c.head], e.ID...)
	c.request = append(c.request, "\r\nAccept-Encoding: gzip\r\n\r\n"...)
	if _, err := c.conn.Write(c.request); err != nil {
		return err
	}
	c.answer = c.answer[:0]
	for {
		n, err := c.conn.Read(c.answer[len(c.answer):cap(c.answer)])
		c.answer = c.answer[:len(c.answer)+n]
		if end := bytes.Index(c.answer, []byte("\r\n\r\n")); end >= 0 && len(c.answer) == end+4+smallBody {
			break
		}
		if err != nil || n == 0 {
			return fmt.Errorf("bench: floor: no whole answer: %w", err)
		}
	}
	return c.read(e)
}

// read tells what there is to say of the answer.
func (c *bare) read(e *Exchange) error {
	const status = len("HTTP/1.1 ")
	code, err := strconv.Atoi(string(c.answer[status : status+3]))
	if err != nil {
		return fmt.Errorf("bench: floor: %w", err)
	}
	e.Status, e.Proto, e.Read = code, "HTTP/1.1", smallBody
	if i := bytes.Index(c.answer, []byte(answerID+e.ID+"\r\n")); i >= 0 {
		e.AnswerID = e.ID
	}
	return nil
}
