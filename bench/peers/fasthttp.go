package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"example.com/connwise/bench"
	"example.com/connwise/internal/peer"
)

// fastHTTP calls with types of its own, and knows no context: nothing can be cancelled.
func fastHTTP() bench.Client {
	return bench.Client{
		Name:   "fasthttp",
		Module: "github.com/valyala/fasthttp",
		Note:   "github.com/valyala/fasthttp with its own types: Client as in its example (no User-Agent, names and paths as they are, a TCPDialer with 4096 dials at a time that caches names for an hour), requests and responses used again as its best practices say, MaxConnsPerHost = callers and waiting for one of them, MaxIdleConnDuration below the server's idle timeout as its maintainers advise; timeouts where a scenario limits calls. By default it repeats GET, HEAD and PUT up to 4 times at once and no POST. It has no HTTP/2, and no call of it can be cancelled: it isn't in h2, h2c and cancel, nor with --target",
		Native: func(s bench.Setup) (bench.Caller, error) { return newFast(s), nil },
		Has: func(scenario, proto string) bool {
			return (proto == "h1" || proto == "h1s") && scenario != "cancel"
		},
	}
}

// A fast is a Client with requests and responses to use again.
type fast struct {
	client *fasthttp.Client
	limit  time.Duration // of a call; zero: none
	calls  sync.Pool     // of *fastCall
}

func newFast(s bench.Setup) *fast {
	d := &fasthttp.TCPDialer{Concurrency: 4096, DNSCacheDuration: time.Hour}
	if s.Resolver != nil {
		d.Resolver = s.Resolver
	}
	return &fast{
		client: &fasthttp.Client{
			NoDefaultUserAgentHeader:      true,
			DisableHeaderNamesNormalizing: true,
			DisablePathNormalizing:        true,
			TLSConfig:                     &tls.Config{RootCAs: s.Roots},
			MaxConnsPerHost:               cmp.Or(s.MaxConns, s.Callers),
			MaxConnWaitTimeout:            cmp.Or(s.MaxWait, time.Hour), // zero would mean not to wait
			MaxIdleConnDuration:           s.IdleLimit(),                // zero: 10 s
			ReadTimeout:                   s.CallTimeout,
			WriteTimeout:                  s.CallTimeout,
			DialTimeout: func(addr string, limit time.Duration) (net.Conn, error) {
				return d.DialTimeout(addr, cmp.Or(limit, fasthttp.DefaultDialTimeout))
			},
		},
		limit: s.CallTimeout,
		calls: sync.Pool{New: func() any { return new(fastCall) }},
	}
}

// Call makes the call, whatever becomes of ctx: a call ends with its answer, with its
// connection or at the scenario's limit.
func (f *fast) Call(_ context.Context, e *bench.Exchange) error {
	c := f.calls.Get().(*fastCall)
	defer f.calls.Put(c)
	c.prepare(e)
	if err := f.do(c); err != nil {
		return err
	}
	return c.read(e)
}

// Hold is Call, but the connection is in use until end is called.
func (f *fast) Hold(_ context.Context, e *bench.Exchange) (end func() error, err error) {
	c := f.calls.Get().(*fastCall)
	c.prepare(e)
	c.resp.StreamBody = true
	if err := f.do(c); err != nil {
		f.calls.Put(c)
		return nil, err
	}
	return func() error {
		defer f.calls.Put(c)
		return c.read(e)
	}, nil
}

func (f *fast) do(c *fastCall) error {
	if f.limit > 0 {
		return f.client.DoTimeout(&c.req, &c.resp, f.limit)
	}
	return f.client.Do(&c.req, &c.resp)
}

// Close closes the idle connections. The goroutines that look for such end when they find
// none, 10 s or an idle limit later.
func (f *fast) Close() error {
	f.client.CloseIdleConnections()
	return nil
}

// A fastCall is what a call needs, and what its request has from the last one.
type fastCall struct {
	req    fasthttp.Request
	resp   fasthttp.Response
	url    *url.URL
	method string
}

// prepare makes the request. It starts anew with another method, as a body's length would
// stay in the header.
func (c *fastCall) prepare(e *bench.Exchange) {
	if c.url != e.URL || c.method != e.Method {
		c.req.Reset()
		c.req.SetRequestURI(e.URL.String())
		c.req.Header.SetMethod(e.Method)
		c.url, c.method = e.URL, e.Method
	}
	c.req.Header.Set(peer.HeaderID, e.ID)
	if e.Chunked {
		c.req.SetBodyStream(bytes.NewReader(e.Body), -1)
	} else if e.Body != nil {
		c.req.SetBodyRaw(e.Body)
	}
	c.resp.StreamBody = e.Sink != nil
}

// read takes the answer. Its body has been read, but for one that is streamed.
func (c *fastCall) read(e *bench.Exchange) error {
	e.Status, e.Proto = c.resp.StatusCode(), "HTTP/1.1"
	if id := c.resp.Header.Peek(peer.HeaderID); string(id) == e.ID {
		e.AnswerID = e.ID
	} else {
		e.AnswerID = string(id)
	}
	if !c.resp.StreamBody {
		e.Read = int64(len(c.resp.Body()))
		return nil
	}
	var err error
	e.Read, err = io.Copy(cmp.Or(e.Sink, io.Discard), c.resp.BodyStream())
	return errors.Join(err, c.resp.CloseBodyStream())
}
