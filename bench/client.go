package bench

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A Client makes the RoundTrippers that are compared. Each round uses a new one, some
// scenarios one for each caller, and burst one for each wave.
type Client struct {
	// Name is shown in the rows. Note says in a sentence how the client is configured;
	// it is printed above the table.
	Name string
	Note string
	// Module is the path of the module that the client is from, where it's another's: reports
	// have the version of it that was built in. Empty: the standard library, or this module.
	Module string
	// New makes a RoundTripper for the given circumstances. When the round is over, or a
	// wave of burst, its Close is called, or its CloseIdleConnections if it has none. A
	// method Warm like pool.Transport's is called before burst-warm.
	New func(Setup) (http.RoundTripper, error)
	// Native is set in place of New where the client isn't an http.RoundTripper. What it
	// makes is closed and warmed like New's. In a run against a target it is left out.
	Native func(Setup) (Caller, error)
	// Has says in which rows the client is. Nil: in all.
	Has func(scenario, proto string) bool
}

func (c Client) has(s scenario, q proto) bool { return c.Has == nil || c.Has(s.name, q.name) }

// build makes what is to be called: an http.RoundTripper or a Caller.
func (c Client) build(s Setup) (any, error) {
	if c.Native != nil {
		return c.Native(s)
	}
	return c.New(s)
}

// A Caller makes calls with types of its own, for many goroutines at the same time.
type Caller interface {
	// Call makes the call and reads the answer to its end. An error means that the call
	// failed, in whatever way. What e says of the answer is set without one.
	Call(ctx context.Context, e *Exchange) error
}

// An Exchange is a call of a Caller's: GET or POST of the URL with a header X-Request-Id.
type Exchange struct {
	Method string
	URL    *url.URL
	ID     string // of the header
	Body   []byte // nil with GET
	// Chunked says that the body's length isn't to be told before: over HTTP/1.1 it is
	// sent in chunks.
	Chunked bool
	// Sink, where it isn't nil, is to get the answer's body, best as it comes in.
	Sink io.Writer

	Status   int    // of the answer
	AnswerID string // of its header X-Request-Id
	Proto    string // its protocol, like "HTTP/1.1"
	Read     int64  // bytes of its body
}

// A Setup is what a client may know of the peer.
type Setup struct {
	Proto   string         // of ProtoNames
	Callers int            // the most requests at a time
	Roots   *x509.CertPool // the peer's authority; nil: the system's
	// IdleTimeout is what the peer's documentation says; zero: nothing.
	IdleTimeout time.Duration
	// CallTimeout is the most time that each call has; its context ends then. Zero: no limit.
	CallTimeout time.Duration
	// MaxConns is the most connections that the client may have, and MaxWait the longest
	// that a call may wait for one of them; zero: no limit.
	MaxConns int
	MaxWait  time.Duration
	// Ready is for how many requests at once connections are wanted ready at any time;
	// zero: nothing is said.
	Ready int
	// Size is what the scenario's rows differ by, where they do: the idle connections of
	// idle-conns, the hosts of hosts. Zero otherwise.
	Size int
	// Resolver is to be asked for the names of the peer, where they are names: it knows
	// more than the system's. Nil: the system's.
	Resolver *net.Resolver
	// dials counts those of Transport; nil: nobody does.
	dials *dials
	// Target is set where the peer is a server of somebody's (Options.Target): what is
	// sent to it is bounded, and a client must not send a call again by itself.
	Target bool
}

// DefaultClients are Connwise, NetHTTP and, in the rows that they have, NetHTTPTold and Floor.
func DefaultClients() []Client { return []Client{Connwise(), NetHTTP(), NetHTTPTold(), Floor()} }

// NetHTTP is net/http as people run it, with its limit on idle connections raised
// so that it isn't handicapped by it. It keeps them for 90 s, http.DefaultTransport's
// IdleConnTimeout: what Setup.IdleTimeout says it isn't told.
func NetHTTP() Client {
	return Client{
		Name: "net/http",
		Note: "http.DefaultTransport.Clone() with the protocol of the row, MaxIdleConnsPerHost = callers and the idle ones of idle-conns, MaxIdleConns = no limit, IdleConnTimeout = 90 s as it comes, MaxConnsPerHost as given; before burst-warm a wave of as many requests as connwise warms connections",
		New:  func(s Setup) (http.RoundTripper, error) { return s.Transport(), nil },
	}
}

// NetHTTPTold is NetHTTP with an IdleConnTimeout below the server's idle timeout, in the rows
// where the clients may know that one: what a setting of net/http's can do for them.
func NetHTTPTold() Client {
	return Client{
		Name: "net/http-told",
		Note: "net/http with IdleConnTimeout below the server's idle timeout, by connwise's margin, as the manuals of load balancers ask for. In idle-race and silent over h1 and h2 only",
		New: func(s Setup) (http.RoundTripper, error) {
			t := s.Transport()
			t.IdleConnTimeout = s.IdleLimit()
			return t, nil
		},
		Has: func(scenario, proto string) bool {
			return (scenario == "idle-race" || scenario == silent.name) && (proto == "h1" || proto == "h2")
		},
	}
}

// Connwise is retry.Transport over pool.Transport, both with their defaults; with a
// target nothing is retried.
func Connwise() Client {
	return Client{
		Name: "connwise",
		Note: "retry.Transport (default policy, off with a target) over pool.Transport; Base as net/http's here, ProxyIdleTimeout = the peer's idle timeout where it has one; in burst-warm MinIdlePerHost = what a burst and 100 ms of the rate need, and Warm of as many before; MaxConnsPerHost and MaxWait as given; in hosts and deadaddr Dialer has the Resolver that knows the names, in place of Base.DialContext",
		New: func(s Setup) (http.RoundTripper, error) {
			cfg := pool.Config{Base: s.Transport(), ProxyIdleTimeout: s.IdleTimeout, MaxWait: s.MaxWait, MinIdlePerHost: s.Ready}
			if s.Resolver != nil {
				cfg.Base.DialContext, cfg.Dialer = nil, &dialer.Dialer{Resolver: s.Resolver}
			}
			p, err := pool.New(cfg)
			if err != nil {
				return nil, err
			}
			policy := retry.Default()
			if s.Target {
				policy = retry.Off()
			}
			return &connwise{Transport: &retry.Transport{Base: p, Policy: policy}, pool: p}, nil
		},
	}
}

type connwise struct {
	*retry.Transport
	pool *pool.Transport
}

// Warm opens connections for n requests at once.
func (c *connwise) Warm(ctx context.Context, url string, n int) error {
	return c.pool.Warm(ctx, url, n)
}

// Close closes the pool.
func (c *connwise) Close() error { return c.pool.Close() }

// IdleLimit is how long a connection may be idle and still be used where the server closes it
// after IdleTimeout: a tenth less, at least 25 ms and at most 5 s less, but no less than half.
// It's connwise's own margin, so that nobody has a better one. Zero: nothing is known.
func (s Setup) IdleLimit() time.Duration {
	margin := min(max(s.IdleTimeout/10, 25*time.Millisecond), 5*time.Second)
	return s.IdleTimeout - min(margin, s.IdleTimeout/2)
}

// Transport returns the settings that all clients share, as net/http's Transport.
func (s Setup) Transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = s.Callers
	t.MaxIdleConns = 0
	t.MaxConnsPerHost = s.MaxConns
	t.Protocols = protoNamed(s.Proto).protocols()
	t.ForceAttemptHTTP2 = t.Protocols.HTTP2()
	t.TLSClientConfig = &tls.Config{RootCAs: s.Roots}
	if !s.Target {
		t.Proxy = nil // of the environment: nothing is to leave this machine, and it doesn't know the peer's names
	}
	if s.Resolver != nil {
		t.DialContext = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, Resolver: s.Resolver}).DialContext
	}
	if s.dials != nil {
		t.DialContext = s.dials.counted(t.DialContext)
	}
	return t
}

// closeClient ends a client's connections. One that has a Close isn't asked to close the
// idle ones before: it might open others in their place.
func closeClient(rt any) error {
	if c, ok := rt.(interface{ Close() error }); ok {
		return c.Close()
	}
	if c, ok := rt.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
	return nil
}

// ClientsNamed returns those of the known clients that have these names, each once; all
// of them without names. An unknown name gives a *UsageError.
func ClientsNamed(known []Client, names ...string) ([]Client, error) {
	if len(names) == 0 {
		return known, nil
	}
	var cs []Client
	var errs []error
	for _, name := range names {
		i := slices.IndexFunc(known, func(c Client) bool { return c.Name == name })
		if i < 0 {
			errs = append(errs, &UsageError{Option: "client", Value: name, Reason: "unknown", Known: namesOf(known, func(c Client) string { return c.Name })})
			continue
		}
		if !slices.ContainsFunc(cs, func(c Client) bool { return c.Name == name }) {
			cs = append(cs, known[i])
		}
	}
	return cs, errors.Join(errs...)
}
