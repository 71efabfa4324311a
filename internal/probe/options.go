package probe

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// The protocols, by the names that bench has for them.
const (
	H1  = "h1"  // HTTP/1.1 without TLS
	H1S = "h1s" // HTTP/1.1 over TLS
	H2  = "h2"  // HTTP/2 over TLS
	H2C = "h2c" // HTTP/2 without TLS, by prior knowledge
)

// What Options are when they say nothing, and their bounds.
const (
	DefaultConns    = 6
	DefaultMax      = 5 * time.Minute
	DefaultRequests = 1100 // nginx and lighttpd end a connection after 1000
	DefaultTimeout  = 10 * time.Second
	DefaultSpread   = time.Second // some servers look at their timers once a second

	maxConns    = 32
	maxRequests = 100_000
	maxWatch    = 24 * time.Hour
	maxHeader   = 8 << 10 // bytes of Options.Header; HTTP/2 puts them into one frame
)

// Options say what to measure, and how much may be sent for it.
type Options struct {
	// URL is asked, and nothing else: redirects aren't followed. A user and password in it
	// are sent as Basic authentication, as net/http does.
	URL string
	// Protos are the protocols to measure: H1 and H2C for http, H1S and H2 for https. Empty:
	// H1 for http, and for https what ALPN agrees on, with H1S beside H2 if the server
	// takes both.
	Protos []string
	// Method is GET, HEAD or OPTIONS, which change nothing on the server. Empty: GET.
	Method string
	// Header is added to each request. It never shows in a Report or in an error.
	Header http.Header
	// RootCAs are trusted to sign the server's certificate. Nil: the system's.
	RootCAs *x509.CertPool
	// Insecure takes any certificate.
	Insecure bool

	// Conns is how many connections of each protocol idle behind an answer. Zero: 6. At
	// most 32.
	Conns int
	// Max is the longest that a connection is watched. Zero: 5 minutes. At most a day.
	Max time.Duration
	// Requests is how many requests at most are sent on one connection of each protocol, one
	// behind the other and for Max at most, to see how many the peer takes. Zero: 1100.
	// Negative: they aren't counted.
	Requests int
	// Timeout bounds each stage of opening a connection, and each answer. Zero: 10 s.
	Timeout time.Duration
	// Spread is the time over which the idle connections are opened, so that a timer
	// which the peer looks at now and then shows itself. Zero: 1 s. Negative: none.
	Spread time.Duration
	// Verify opens as many connections again, and sends a second request on each at an
	// age of its own, up to Max. It finds connections that are dropped without a word.
	Verify bool

	// Progress is told what is known so far, whenever that changes; one call at a time.
	// It must not block. May be nil.
	Progress func(Progress)
}

// A UsageError is an option that makes no sense.
type UsageError struct{ text string }

// Error says what is wrong, and what would be right.
func (e *UsageError) Error() string { return "probe: " + e.text }

func usage(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

// fill puts the defaults in and refuses what makes no sense.
func (o *Options) fill() (*url.URL, error) {
	o.Method = cmp.Or(o.Method, http.MethodGet)
	o.Conns = cmp.Or(o.Conns, DefaultConns)
	o.Max = cmp.Or(o.Max, DefaultMax)
	o.Requests = max(cmp.Or(o.Requests, DefaultRequests), 0)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.Spread = max(cmp.Or(o.Spread, DefaultSpread), 0)
	if err := o.checkBounds(); err != nil {
		return nil, err
	}
	if err := checkHeader(o.Header); err != nil {
		return nil, err
	}
	return o.checkURL()
}

func (o *Options) checkBounds() error {
	switch {
	case !slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions}, o.Method):
		return usage("method %q: must be GET, HEAD or OPTIONS, which change nothing", o.Method)
	case o.Conns < 1 || o.Conns > maxConns:
		return usage("%d connections: must be 1 to %d", o.Conns, maxConns)
	case o.Max < 0 || o.Max > maxWatch:
		return usage("max %v: must be more than 0, and %v at most", o.Max, maxWatch)
	case o.Requests > maxRequests:
		return usage("%d requests: must be %d at most", o.Requests, maxRequests)
	case o.Timeout < 0:
		return usage("timeout %v: must be more than 0", o.Timeout)
	}
	return nil
}

func (o *Options) checkURL() (*url.URL, error) {
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, usage("that is no URL; give one like https://host:port/path")
	}
	if u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, usage("%s: give a URL like https://host:port/path", u.Redacted())
	}
	for _, proto := range o.Protos {
		if fits := protosOf(u.Scheme); !slices.Contains(fits, proto) {
			return nil, usage("protocol %q: with %s it must be %s", proto, u.Scheme, strings.Join(fits, " or "))
		}
	}
	slices.Sort(o.Protos)
	o.Protos = slices.Compact(o.Protos)
	return u, nil
}

func protosOf(scheme string) []string {
	if scheme == "https" {
		return []string{H1S, H2}
	}
	return []string{H1, H2C}
}

// ownFields are those by which a probe measures.
var ownFields = []string{
	"Connection", "Content-Length", "Expect", "Keep-Alive", "Proxy-Connection", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade",
}

// checkHeader names fields, and never shows what is in them.
func checkHeader(h http.Header) error {
	size := 0
	for name, values := range h {
		if !httpguts.ValidHeaderFieldName(name) {
			return usage("header field %q: that is no valid name", name)
		}
		if slices.Contains(ownFields, http.CanonicalHeaderKey(name)) {
			return usage("header field %s: the probe sets it itself", name)
		}
		for _, v := range values {
			if !httpguts.ValidHeaderFieldValue(v) {
				return usage("header field %s: its value has characters that can't be sent", name)
			}
			size += len(name) + len(v)
		}
	}
	if size > maxHeader {
		return usage("header fields of %d bytes: must be %d at most", size, maxHeader)
	}
	return nil
}

// ParseHeader reads a field as a command line has it, "Name: value". Its error doesn't
// show the value.
func ParseHeader(s string) (name, value string, err error) {
	name, value, ok := strings.Cut(s, ":")
	if name = strings.TrimSpace(name); !ok || !httpguts.ValidHeaderFieldName(name) {
		return "", "", usage("a header field must be like 'Name: value'")
	}
	return name, strings.TrimSpace(value), nil
}
