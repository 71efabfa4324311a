package bench

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"slices"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A Client makes the RoundTrippers that are compared. Each round uses a new one, and
// idle-race one for each caller.
type Client struct {
	// Name is shown in the rows. Note says in a sentence how the client is configured;
	// it is printed above the table.
	Name string
	Note string
	// New makes a RoundTripper for the given circumstances. When the round is over, or a
	// wave of burst, its Close is called, or its CloseIdleConnections if it has none. A
	// method Warm like pool.Transport's is called before burst-warm.
	New func(Setup) (http.RoundTripper, error)
}

// A Setup is what a client may know of the peer.
type Setup struct {
	Proto   string         // of ProtoNames
	Callers int            // the most requests at a time
	Roots   *x509.CertPool // the peer's authority; nil: the system's
	// IdleTimeout is what the peer's documentation says; zero: nothing.
	IdleTimeout time.Duration
	// MaxConns is the most connections that the client may have, and MaxWait the longest
	// that a call may wait for one of them; zero: no limit.
	MaxConns int
	MaxWait  time.Duration
	// Ready is for how many requests at once connections are wanted ready at any time;
	// zero: nothing is said.
	Ready int
	// Target is set where the peer is a server of somebody's (Options.Target): what is
	// sent to it is bounded, and a client must not send a call again by itself.
	Target bool
}

// NetHTTP is net/http as people run it, with its limit on idle connections raised
// so that it isn't handicapped by it.
func NetHTTP() Client {
	return Client{
		Name: "net/http",
		Note: "http.DefaultTransport.Clone() with the protocol of the row, MaxIdleConnsPerHost = callers, MaxIdleConns = no limit, MaxConnsPerHost as given; before burst-warm a wave of as many requests as connwise warms connections",
		New:  func(s Setup) (http.RoundTripper, error) { return s.Transport(), nil },
	}
}

// Connwise is retry.Transport over pool.Transport, both with their defaults; with a
// target nothing is retried.
func Connwise() Client {
	return Client{
		Name: "connwise",
		Note: "retry.Transport (default policy, off with a target) over pool.Transport; Base as net/http's here, ProxyIdleTimeout = the peer's idle timeout where it has one; in burst-warm MinIdlePerHost = what a burst and 100 ms of the rate need, and Warm of as many before; MaxConnsPerHost and MaxWait as given",
		New: func(s Setup) (http.RoundTripper, error) {
			p, err := pool.New(pool.Config{Base: s.Transport(), ProxyIdleTimeout: s.IdleTimeout, MaxWait: s.MaxWait, MinIdlePerHost: s.Ready})
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

// Transport returns the settings that all clients share, as net/http's Transport.
func (s Setup) Transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = s.Callers
	t.MaxIdleConns = 0
	t.MaxConnsPerHost = s.MaxConns
	t.Protocols = protoNamed(s.Proto).protocols()
	t.ForceAttemptHTTP2 = t.Protocols.HTTP2()
	t.TLSClientConfig = &tls.Config{RootCAs: s.Roots}
	return t
}

// closeClient ends a client's connections. One that has a Close isn't asked to close the
// idle ones before: it might open others in their place.
func closeClient(rt http.RoundTripper) error {
	if c, ok := rt.(interface{ Close() error }); ok {
		return c.Close()
	}
	if c, ok := rt.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
	return nil
}

// ClientsNamed returns the clients of these names, each once; they are known as
// "connwise" and "net/http". An unknown name gives a *UsageError.
func ClientsNamed(names ...string) ([]Client, error) {
	known := []Client{Connwise(), NetHTTP()}
	var cs []Client
	var errs []error
	for _, name := range names {
		i := slices.IndexFunc(known, func(c Client) bool { return c.Name == name })
		if i < 0 {
			errs = append(errs, &UsageError{Option: "client", Value: name, Reason: "unknown", Known: []string{"connwise", "net/http"}})
			continue
		}
		if !slices.ContainsFunc(cs, func(c Client) bool { return c.Name == name }) {
			cs = append(cs, known[i])
		}
	}
	return cs, errors.Join(errs...)
}
