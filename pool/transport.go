package pool

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"

	"example.com/connwise/internal/wire"
)

// A Transport is an http.RoundTripper with a connection pool of its own in place of
// http.Transport's. It makes one attempt at a request, but sends it again silently, a few
// times, if a reused connection took no byte of it or an HTTP/2 peer said that it did not
// process it; package retry does the rest. It is safe
// for concurrent use. Make one with New, share it, and end it with Close or Shutdown.
type Transport struct {
	set *settings

	// ctx ends with Close, and the dials with it; Close waits for them.
	ctx    context.Context
	cancel context.CancelFunc
	dials  sync.WaitGroup
	state  atomic.Int32  // lifecycle state, only ever raised
	quiet  chan struct{} // a host has come to rest; Shutdown looks again

	idle    atomic.Int64 // idle connections of all hosts
	idlers  idleHosts
	bells   sync.Pool // of *bell
	resting restList

	aliases *aliasTable // changed under mu only

	// mu guards what follows. It is taken before any host.mu, and before idlers.mu. No request
	// takes it but the first ones to a host.
	mu        sync.RWMutex
	hosts     map[hostKey]*host
	mostHosts int          // that were in hosts, since that was made
	unused    []unusedHost // the one that has been unused longest first; see unused.go
	forgotten Totals
}

// New returns a Transport that behaves as cfg says. The error is a *ConfigError: a
// setting contradicts another, or a field of Base can't be honoured.
func New(cfg Config) (*Transport, error) {
	set, err := newSettings(cfg)
	if err != nil {
		return nil, err
	}
	t := &Transport{
		set:     set,
		quiet:   make(chan struct{}, 1),
		hosts:   make(map[hostKey]*host),
		aliases: newAliasTable(),
	}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	return t, nil
}

// Attempt is RoundTrip, but leaves a request that the peer refused by REFUSED_STREAM (an
// overloaded server's way to say "later") to its caller, who may have a better idea of how
// often and how soon it should be sent again. Package retry uses it.
func (t *Transport) Attempt(req *http.Request) (*http.Response, error) { return t.send(req, true) }

// RoundTrip sends req and returns the answer once its head is there. Any error is an
// *Error, also from Body.Read afterwards (but for io.EOF and http.ErrBodyReadAfterClose).
// After 101 Switching Protocols the body is the connection, with its own errors.
// The caller has to close the body. The request's body is closed in any case, and not
// read any more once RoundTrip has failed or the answer's body was closed.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) { return t.send(req, false) }

func (t *Transport) send(req *http.Request, once bool) (*http.Response, error) {
	if err := checkRequest(req); err != nil {
		closeBody(req)
		return nil, callerError("", CallerRequest, err)
	}
	if req.Context().Err() != nil {
		closeBody(req)
		return nil, &Error{Phase: PhaseWait, Host: canonicalAddr(req.URL.Scheme, req.URL.Host), Err: wire.Ended(req.Context())}
	}
	if t.set.protocols(req.URL.Scheme).none() {
		closeBody(req)
		return nil, callerError(canonicalAddr(req.URL.Scheme, req.URL.Host), CallerRequest, errNoProtocol(req.URL.Scheme))
	}
	c := newCall(t, req)
	c.once = once
	return c.run()
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}

func callerError(host string, from CallerSource, err error) *Error {
	return &Error{Phase: PhaseUnsent, Host: host, Err: &CallerError{Source: from, Err: err}}
}
