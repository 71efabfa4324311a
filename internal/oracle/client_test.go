package oracle

import (
	"crypto/tls"
	"net/http"
	"sync"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// authority has the certificate of all peers.
var authority = sync.OnceValue(func() *peer.Authority {
	a, err := peer.NewAuthority()
	if err != nil {
		panic(err)
	}
	return a
})

const (
	maxRetries = 4
	backOff    = time.Millisecond
	spread     = 0.5
)

// longestWait is how long the wait behind an attempt may be.
func longestWait(n int) time.Duration {
	return time.Duration((1 + spread) * float64(backOff<<n))
}

// A maker starts one of the clients that are compared.
type maker struct {
	name  string
	start func(*testing.T, *http.Transport) (client, func())
}

var (
	connwise = maker{"connwise", startConnwise}
	netHTTP  = maker{"net/http", startNetHTTP}
)

// A client has calls that are traced, and attempts that are numbered, and such as have no hook
// that comes before the request. The latter see the connection's last look elsewhere.
type client struct{ traced, plain http.RoundTripper }

// base says how connections are made. Those of a watched one count what they accept; the
// others are left as they are, so that what looks at sockets sees what it sees in the field.
func (p proto) base(watch bool) *http.Transport {
	t := &http.Transport{
		TLSClientConfig:       &tls.Config{RootCAs: authority().Roots()},
		Protocols:             new(http.Protocols),
		MaxIdleConnsPerHost:   100,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true,
	}
	t.Protocols.SetHTTP1(!p.h2)
	t.Protocols.SetHTTP2(p.h2 && p.tls)
	t.Protocols.SetUnencryptedHTTP2(p.h2 && !p.tls)
	if watch {
		t.DialContext = p.dialWatched
	}
	return t
}

func startConnwise(t *testing.T, base *http.Transport) (client, func()) {
	tr, err := pool.New(pool.Config{Base: base})
	if err != nil {
		t.Fatal(err)
	}
	over := func(before func(*http.Request, int) error) http.RoundTripper {
		return &retry.Transport{
			Base:          tr,
			Policy:        retry.Policy{MaxRetries: maxRetries, MaxRefused: maxRetries, Interval: backOff, Spread: spread},
			Budget:        &retry.Budget{Share: 1e6, UnprocessedShare: 1e6, Floor: 1 << 30, Part: 1},
			BeforeAttempt: before,
			OnDecision:    decided,
		}
	}
	return client{traced: over(number), plain: over(nil)}, func() { tr.Close() }
}

func startNetHTTP(_ *testing.T, base *http.Transport) (client, func()) {
	rt := noted{base}
	return client{rt, rt}, base.CloseIdleConnections
}

// A noted http.Transport notes each call; what it sends again by itself is part of the attempt.
type noted struct{ *http.Transport }

func (t noted) RoundTrip(req *http.Request) (*http.Response, error) {
	c := callOf(req)
	a := c.now()
	a.made = true
	resp, err := t.Transport.RoundTrip(req)
	if err != nil {
		a.failed(c, err)
	}
	return resp, err
}
