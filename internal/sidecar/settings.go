package sidecar

import (
	"cmp"
	"io/fs"
	"net/http"
	"net/url"
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// Settings are all that a sidecar can be told. Defaults and Load make them; they don't change
// after that.
type Settings struct {
	Upstream       string // http://host, https://host, either with a path; or unix:/path
	Listen, Admin  string // host:port or unix:/path. Admin empty: none
	ListenAnywhere bool   // TCP addresses that aren't loopback are allowed
	SocketMode     fs.FileMode
	Drain          time.Duration // how long requests may take to end at SIGTERM

	LogFormat, LogLevel string
	LogRequests         bool

	ReplayBody   int64         // the largest request body that is kept to be sent again
	ReplayMemory int64         // of all such bodies together
	ReplayWait   time.Duration // how long a body of unknown length may take to prove small

	Host       string // the Host field that the upstream sees: "upstream", "client", or a name
	XForwarded string // append, replace or keep
	Via        string // the name in Via; empty: no Via
	RetryAfter time.Duration

	Client ClientSettings
	TLS    TLSSettings

	Pool       pool.Config
	Base       *http.Transport
	Dialer     *dialer.Dialer
	Resolver   *dialer.CachingResolver
	Cached     time.Duration // Resolver's TTL; zero: it isn't used
	LocalAddr  string
	ProxyURL   string // "environment", empty for none, or a URL
	Protocols  string
	KeepAlive  KeepAliveSettings
	PolicyName string
	Policy     retry.Policy
	Budget     *retry.Budget

	target *url.URL // Upstream's; its Host is "localhost" for a socket
	socket string   // Upstream's path, if it is a socket
	files  tlsFiles
}

// ClientSettings are about the connections of the sidecar's clients.
type ClientSettings struct {
	ReadHeaderTimeout, IdleTimeout time.Duration
	MaxHeaderBytes                 int64
}

// TLSSettings are about TLS with the upstream.
type TLSSettings struct {
	CAFile, CertFile, KeyFile, ServerName string
	MinVersion                            uint16
	InsecureSkipVerify                    bool
}

// KeepAliveSettings are TCP's keep-alive probes. Idle zero: the dialer's choice. Negative: off.
type KeepAliveSettings struct {
	Idle, Interval time.Duration
	Count          int
}

// Defaults are the settings of a sidecar that is told nothing but its upstream.
func Defaults() *Settings {
	s := bare()
	s.fill()
	return s
}

// bare has the defaults, but for those that depend on other settings.
func bare() *Settings {
	return &Settings{
		Listen:       "127.0.0.1:8080",
		SocketMode:   0o600,
		Drain:        30 * time.Second,
		LogFormat:    "text",
		LogLevel:     "info",
		ReplayBody:   64 << 10,
		ReplayMemory: 64 << 20,
		ReplayWait:   100 * time.Millisecond,
		Host:         hostUpstream,
		XForwarded:   forwardedAppend,
		Via:          "connwise",
		RetryAfter:   time.Second,
		Client: ClientSettings{
			// A client's connection idles in the client's pool, and nothing is gained by closing it.
			ReadHeaderTimeout: time.Minute,
			IdleTimeout:       time.Hour,
			MaxHeaderBytes:    1 << 20,
		},
		TLS:  TLSSettings{MinVersion: tls12},
		Pool: pool.Config{MaxIdlePerHost: 1024},
		Base: &http.Transport{
			IdleConnTimeout:        90 * time.Second,
			ExpectContinueTimeout:  time.Second,
			MaxResponseHeaderBytes: 1 << 20,
			// What the upstream sends goes to the client as it is.
			DisableCompression: true,
			HTTP2:              &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
		},
		Dialer:     new(dialer.Dialer),
		Resolver:   new(dialer.CachingResolver),
		ProxyURL:   proxyEnvironment,
		Protocols:  protocolsAuto,
		PolicyName: retry.Names()[0],
		Budget:     new(retry.Budget),
	}
}

// fill puts in what the libraries say of zero, so that what is printed is what is in force.
func (s *Settings) fill() {
	fillPolicy(&s.Policy)
	d := s.Dialer
	d.ResolveTimeout = cmp.Or(d.ResolveTimeout, 10*time.Second)
	d.ConnectTimeout = cmp.Or(d.ConnectTimeout, 10*time.Second)
	d.ProxyTimeout = cmp.Or(d.ProxyTimeout, 30*time.Second)
	d.TLSTimeout = cmp.Or(d.TLSTimeout, 10*time.Second)
	d.FallbackDelay = cmp.Or(d.FallbackDelay, 250*time.Millisecond)
	b := s.Budget
	b.Share = cmp.Or(b.Share, 0.1)
	b.UnprocessedShare = cmp.Or(b.UnprocessedShare, 1)
	b.Floor = cmp.Or(b.Floor, 100)
	b.Window = cmp.Or(b.Window, 10*time.Second)
	b.TimeoutCost = cmp.Or(b.TimeoutCost, 2)
	b.Part = cmp.Or(b.Part, 0.2)
}

// fillPolicy goes by what retry.Policy's fields say of zero; a test holds it against what
// the policy does.
func fillPolicy(p *retry.Policy) {
	if p.MaxRetries == 0 {
		p.MaxRetries = 2
		p.MaxRefused = cmp.Or(p.MaxRefused, 3)
	}
	p.MaxRefused = cmp.Or(p.MaxRefused, p.MaxRetries)
	p.MaxUnsent = cmp.Or(p.MaxUnsent, p.MaxRetries)
	p.MaxMaybeSent = cmp.Or(p.MaxMaybeSent, p.MaxRetries)
	p.Interval = cmp.Or(p.Interval, 100*time.Millisecond)
	p.MaxInterval = cmp.Or(p.MaxInterval, 10*time.Second)
	p.Spread = cmp.Or(p.Spread, 0.5)
	p.MaxRetryAfter = cmp.Or(p.MaxRetryAfter, 30*time.Second)
	if p.Repeatable == nil {
		p.Repeatable = []string{http.MethodGet, http.MethodHead, http.MethodOptions}
	}
}
