package bench

import (
	"context"
	"crypto/x509"
	"net"
	"slices"
	"sync"
	"time"
)

// A Proxy is a real proxy that a run can put between the clients and the peer. The package has
// none itself.
type Proxy struct {
	// Name is shown in the rows. Note says which version it is and how it's configured.
	Name string
	Note string
	// Protos are the protocols that it can speak with clients, of ProtoNames. With the peer
	// it has to speak HTTP/1.1, to pass X-Request-Id on and back, and never to send a request
	// twice: the peer's record would blame the client.
	Protos []string
	// Limits are those over which it can end a connection after so many requests.
	Limits []string
	// Reloads says that Front.Reload makes it read its configuration again and let go of
	// the connections that it has.
	Reloads bool
	// Start starts one. It is called for each round, and the Front closed behind it.
	Start func(ProxySetup) (Front, error)
}

// A ProxySetup is what a Proxy is told.
type ProxySetup struct {
	Origin      string        // "host:port" of the peer
	Proto       string        // that clients speak
	IdleTimeout time.Duration // after which it closes a client's connection
	Requests    int           // after so many it does, too; zero: no such limit
	// Delay is by how much each way between the clients and the proxy is made longer, by
	// something that keeps FIN and RST. Zero: not at all.
	Delay time.Duration
}

// A Front is what clients connect to: a Proxy that runs.
type Front interface {
	Addr() string          // "host:port"
	Roots() *x509.CertPool // that clients have to trust; nil without TLS
	Reload() error         // returns when the new configuration is in force; old connections may still be ending
	Close() error          // nothing is passed on any more afterwards
}

// dials notes when a client's connections were made: behind a proxy the peer doesn't see them.
// It counts those of clients that use Setup.Transport's DialContext.
type dials struct {
	mu sync.Mutex
	at []time.Time // at most maxFailedIDs
	n  int64
}

func (d *dials) add() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.n++
	if len(d.at) < maxFailedIDs {
		d.at = append(d.at, time.Now())
	}
}

func (d *dials) total() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.n
}

func (d *dials) times() []time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.at)
}

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// counted is dial with its successes noted.
func (d *dials) counted(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err == nil {
			d.add()
		}
		return c, err
	}
}
