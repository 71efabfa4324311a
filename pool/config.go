package pool

import (
	"net/http"
	"time"

	"example.com/connwise/dialer"
)

// A Config says how a Transport behaves. The zero Config works: it uses sound
// defaults, no proxy idle timeout, and no limit on connections. New copies it;
// later changes have no effect.
type Config struct {
	// Base gives what an http.Transport has fields for: TLS, proxy, dial hooks,
	// idle limits, header timeouts. New reads its exported fields and keeps none of
	// its connections. Nil: http.DefaultTransport's settings, but with the dialer's own
	// connect stage and up to 1024 idle connections in all.
	//
	// Its Protocols say what is spoken, as in net/http; UnencryptedHTTP2 without HTTP1 is
	// HTTP/2 by prior knowledge (RFC 9113 section 3.3) with http URLs. Nil: HTTP/1 and,
	// with TLS, HTTP/2 if the server takes the offer. A dial hook or a TLSClientConfig is no
	// reason against it. A TLSNextProto without "h2" is, and GODEBUG=http2client=0 in the
	// environment; and a TLSClientConfig.NextProtos without it, unless ForceAttemptHTTP2 is
	// set. Requests that ask for an Upgrade go by HTTP/1.
	//
	// Of its HTTP2, SendPingTimeout is how long nothing may come on a connection with open
	// streams before a PING is sent, zero: 15 s; PingTimeout how long its answer may take
	// before the connection is given up, zero: 15 s. WriteByteTimeout goes before
	// WriteStallTimeout. With StrictMaxConcurrentRequests requests wait when all streams of
	// the one connection are taken, whatever MaxConnsPerHost allows.
	Base *http.Transport

	// ProxyIdleTimeout is how long the proxy or server in front lets a connection
	// idle before it closes it. A connection is not reused once it has been idle for
	// ProxyIdleTimeout - IdleMargin; or for less, if the server announces less by "Keep-Alive:
	// timeout=N", if the host was seen to close idle connections earlier (a few closes that agree
	// show its timer; see HostStats.LearntIdle), or if Base.IdleConnTimeout is shorter.
	// health.Known has what common proxies and servers come with. Zero: unknown; the others
	// remain, and the look at the socket.
	ProxyIdleTimeout time.Duration
	// IdleMargin is how long before the peer's timeout reuse ends, whether that was configured,
	// announced or learnt. It has to cover the time that a request is under way and the peer's
	// timer jitter. Of a timeout below ProxyIdleTimeout it takes no more than half. Zero: a tenth of
	// the timeout, at least 25 ms and at most 5 s; more where the round trip or the jitter that
	// was seen takes more; and never more than half.
	IdleMargin time.Duration
	// MaxConnAge is how old a connection may grow. Each connection gets an age of its
	// own, up to a tenth shorter, so that they aren't renewed all at once. One that is in use
	// when it comes near its age gets a successor before, if MaxConnsPerHost leaves room, so that
	// no request waits for a dial. Zero: no limit.
	MaxConnAge time.Duration

	// ConfirmAfter is how long a connection may be idle before a request that may not run
	// twice (any method but GET, HEAD, OPTIONS and TRACE; no upgrade) asks the peer for a sign
	// of life. That costs a round trip, on such connections only. Zero: off. A nanosecond: always.
	// A peer that has closed a connection which had been idle for no longer than that, as a proxy
	// does that restarts under load, is asked on every connection for the next 5 s.
	//
	// Over HTTP/2 the peer has to answer a PING before the request leaves, in four round trips
	// (at least 250 ms); requests at the same time share one. Otherwise another connection is
	// taken. As servers punish PINGs that come too often, a connection from which something
	// came in the last 150 ms isn't asked.
	//
	// Over HTTP/1.1 the request itself has "Expect: 100-continue", and its body waits for the
	// answer: for Base.ExpectContinueTimeout, or 1 s if that is zero; then it is sent
	// nevertheless. If the connection ends before, the error has HeadOnly. A 417 (Expectation
	// Failed) to it isn't the caller's: the request is sent again without. A host that didn't
	// answer, or with 417, is asked no more for 5 minutes.
	//
	// Where the peer can't be asked so (a request without a body, or a host that isn't asked),
	// HTTP/1.1 connections that had been idle for longer when they would be taken aren't used:
	// the oldest of them is closed, and another one dialled in its place.
	ConfirmAfter time.Duration

	// MaxIdlePerHost bounds a host's idle connections. Zero: Base.MaxIdleConnsPerHost,
	// and when that is zero too, no bound but Base.MaxIdleConns. (net/http's default of
	// 2 closes most of what a burst opened.)
	MaxIdlePerHost int
	// MinIdlePerHost is how many requests at once to a host in use are to find a connection
	// ready: idle connections over HTTP/1, over HTTP/2 free streams, of which one connection
	// has many. What is missing is opened in the background, from the host's first request (or
	// Warm) on until 5 minutes after its last one. Connections that are about to reach their
	// idle limit, or MaxConnAge, are replaced before, and that is what it costs: so many
	// dials in each of those spans, for connections that nobody may use. It is bounded by twice
	// as many in a second, or 20, by MaxConnsPerHost, and by Base.MaxIdleConns, at which
	// nothing is opened. A lack that connections in use would make up for has to last for 25
	// to 50 ms. A host that refuses dials, or closes unused connections at once, is tried with
	// one at a time, with pauses of 100 ms to 30 s. Zero: none.
	MinIdlePerHost int
	// MaxRequestsPerConn is how many requests a connection carries at most, those on HTTP/2
	// streams included; one that was given to a request counts, even if that couldn't be sent.
	// It has no jitter. Like MaxConnAge it costs no request a dial: if the host is in use (a
	// request in the last 2 s) a connection that is about to reach it gets a successor
	// before, if MaxConnsPerHost leaves room. Zero: no limit.
	MaxRequestsPerConn int
	// MaxConnsPerHost bounds a host's connections: dialing, in use and idle, HTTP/1 and
	// HTTP/2 alike. Zero: Base.MaxConnsPerHost, and when that is zero too, no limit. A
	// connection that was upgraded (101 Switching Protocols) counts until it is closed. If a
	// request needs another protocol than all of them speak, as an Upgrade where HTTP/2 is
	// spoken, the one that has been idle longest makes room, or an HTTP/2 one that is in use
	// when its requests are done. If some of them speak it, but are in use, of the others idle
	// ones make room, but for the last.
	MaxConnsPerHost int
	// MaxWait is the longest that a request waits for capacity: while all connections of
	// MaxConnsPerHost are busy, or as many dials are under way as the host bears (see
	// HostStats.DialWindow). Then it fails with ErrWaitTimeout. Zero: until its context ends.
	// A dial under way for the request is not a wait for capacity; the dialer's limits bound it.
	MaxWait time.Duration
	// MaxWaiters bounds the requests that wait because of MaxConnsPerHost; one more fails at
	// once with ErrTooManyWaiters. Those whose dial is under way or will begin as soon as the
	// host bears it don't count. Zero: no bound.
	MaxWaiters int
	// Hosts overrides settings for single hosts, by "host:port". Plain http through an http
	// proxy goes by the proxy's: its connections are the proxy's.
	Hosts map[string]HostConfig

	// WriteStallTimeout ends a request whose connection accepts no byte for so long
	// while there is something to write; with HTTP/2 the connection and all that is on it.
	// Zero: no limit.
	WriteStallTimeout time.Duration
	// ReadStallTimeout ends an exchange when a Read of the answer's body gets no byte
	// for so long. The answer's head has Base.ResponseHeaderTimeout. Zero: no limit.
	ReadStallTimeout time.Duration

	// Dialer opens connections where Base has no dial hook. Nil: the zero Dialer. New copies it, and
	// gives the copy a dialer.Memory if it has none: an address that has failed to connect, in
	// TLS, or in the first request on a connection, is tried last for 5 s to some minutes.
	//
	// A connection keeps its address: how soon a changed name is followed, MaxConnAge says. With
	// a dialer.CachingResolver as the Resolver, names are looked up every few seconds at most;
	// its TTL comes on top.
	Dialer *dialer.Dialer

	// BeforeSend is called after checkout, before the first byte of the request is
	// written, on the goroutine of RoundTrip. An error vetoes the request: it stays
	// unsent, and RoundTrip returns the error in a *CallerError. It may set headers of
	// a request that it owns, but runs again if the connection has to be replaced.
	BeforeSend func(*http.Request) error

	// Trace is told what becomes of connections and waits. New copies it. Nil: nobody is, at no
	// cost; nothing is ever printed.
	Trace *Trace

	// Jitter returns a number in [0, 1) for MaxConnAge, and for the pauses before a
	// request is sent again or a host dialled that gives connections up. Nil: math/rand/v2.
	Jitter func() float64
}

// A HostConfig overrides a Config for one host. Zero fields keep the Config's value, so what
// the Config sets can be changed for a host, but not switched off. A MinIdlePerHost that is
// kept counts too: New refuses it if MaxConnsPerHost or MaxIdlePerHost is less for the host.
type HostConfig struct {
	ProxyIdleTimeout time.Duration
	IdleMargin       time.Duration
	ConfirmAfter     time.Duration
	MaxIdlePerHost   int
	MinIdlePerHost   int
	MaxConnsPerHost  int
	MaxWait          time.Duration
	MaxWaiters       int

	MaxRequestsPerConn int
}

// A ConfigError is what New returns for a Config that can't be honoured.
type ConfigError struct {
	Field  string // "Config.IdleMargin", "Config.Base.MaxConnsPerHost", ...
	Reason string // what is wrong, and what would be right
}

// Error names the field and the reason.
func (e *ConfigError) Error() string { return "pool: " + e.Field + ": " + e.Reason }
