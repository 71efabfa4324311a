package pool

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"example.com/connwise/internal/h2"
)

// The names of the protocols, as ALPN (RFC 7301) and net/http have them.
const (
	alpnHTTP1 = "http/1.1"
	alpnHTTP2 = "h2"
)

// Without settings of the caller's, a connection with open streams from which nothing has
// come for pingAfter is asked for a sign of life, and given up if none comes for pingTimeout.
const (
	pingAfter   = 15 * time.Second
	pingTimeout = 15 * time.Second
)

// protocols are the ones that may be spoken with a scheme's origins. At least one is set
// where there are any; none says that the scheme can't be served.
type protocols struct{ http1, http2 bool }

func (p protocols) none() bool { return !p.http1 && !p.http2 }
func (p protocols) both() bool { return p.http1 && p.http2 }

// offer is the list for ALPN: cfg's own, as far as it is among p, with what p adds. Where
// only HTTP/1 is spoken and the caller offers nothing, nothing is offered.
func (p protocols) offer(own []string) []string {
	list := slices.DeleteFunc(slices.Clone(own), func(name string) bool {
		return name == alpnHTTP2 && !p.http2 || name == alpnHTTP1 && !p.http1
	})
	if p.http2 && !slices.Contains(list, alpnHTTP2) {
		list = slices.Insert(list, 0, alpnHTTP2)
	}
	if p.http2 && p.http1 && !slices.Contains(list, alpnHTTP1) {
		list = append(list, alpnHTTP1)
	}
	return list
}

// protocolsOf says what base speaks with https and with http. Without Base.Protocols that
// is what net/http would speak with ForceAttemptHTTP2: a dial hook or a TLS configuration
// of the caller's is no reason against HTTP/2. What says no is a TLSNextProto without "h2"
// (net/http's old switch), a NextProtos of the caller's without it, or GODEBUG's http2client=0.
func protocolsOf(base *http.Transport) (https, plain protocols) {
	if p := base.Protocols; p != nil {
		// As net/http: with HTTP/1 among them, plain http speaks that.
		two := p.HTTP2() && !(p.HTTP1() && switchedOff(os.Getenv("GODEBUG")))
		return protocols{p.HTTP1(), two}, protocols{p.HTTP1(), p.UnencryptedHTTP2() && !p.HTTP1()}
	}
	return protocols{http1: true, http2: !declinesHTTP2(base) && !switchedOff(os.Getenv("GODEBUG"))}, protocols{http1: true}
}

// switchedOff tells whether net/http's clients are told to keep to HTTP/1.
func switchedOff(godebug string) bool {
	return slices.Contains(strings.Split(godebug, ","), "http2client=0")
}

func declinesHTTP2(base *http.Transport) bool {
	if base.TLSNextProto != nil {
		if _, ok := base.TLSNextProto[alpnHTTP2]; !ok {
			return true
		}
	}
	cfg := base.TLSClientConfig
	return !base.ForceAttemptHTTP2 && cfg != nil && len(cfg.NextProtos) > 0 && !slices.Contains(cfg.NextProtos, alpnHTTP2)
}

// tlsConfig is Base's with an offer of the protocols that may be spoken.
func tlsConfig(base *http.Transport, p protocols) *tls.Config {
	cfg := base.TLSClientConfig.Clone()
	if cfg == nil {
		cfg = &tls.Config{}
	}
	cfg.NextProtos = p.offer(cfg.NextProtos)
	return cfg
}

// http2Options takes what Base and Config have for HTTP/2 connections.
func http2Options(cfg *Config, base *http.Transport) h2.Options {
	own := base.HTTP2
	if own == nil {
		own = &http.HTTP2Config{}
	}
	return h2.Options{
		MaxHeaderBytes:   base.MaxResponseHeaderBytes,
		HeaderTimeout:    base.ResponseHeaderTimeout,
		ContinueTimeout:  base.ExpectContinueTimeout,
		ReadStall:        cfg.ReadStallTimeout,
		WriteStall:       cmp.Or(own.WriteByteTimeout, cfg.WriteStallTimeout),
		PingAfter:        cmp.Or(own.SendPingTimeout, pingAfter),
		PingTimeout:      cmp.Or(own.PingTimeout, pingTimeout),
		MaxReadFrameSize: uint32(own.MaxReadFrameSize),
		DecoderTable:     uint32(own.MaxDecoderHeaderTableSize),
		EncoderTable:     uint32(own.MaxEncoderHeaderTableSize),
		StreamWindow:     int32(own.MaxReceiveBufferPerStream),
		ConnWindow:       int32(own.MaxReceiveBufferPerConnection),
		CountError:       own.CountError,
	}
}

// checkProtocols refuses a Base that asks for what isn't spoken here, or that contradicts
// itself.
func checkProtocols(cfg *Config, base *http.Transport) error {
	if p := base.Protocols; p != nil {
		https, plain := protocolsOf(base)
		if https.none() && plain.none() {
			return &ConfigError{"Config.Base.Protocols", "none of them is spoken here: HTTP1, HTTP2 and UnencryptedHTTP2 are"}
		}
	}
	for proto := range base.TLSNextProto {
		if !slices.Contains(ownProtos, proto) {
			return &ConfigError{"Config.Base.TLSNextProto", fmt.Sprintf("the protocol %q can't be handed over", proto)}
		}
	}
	if base.HTTP2 == nil {
		return nil
	}
	return checkHTTP2(cfg, base.HTTP2)
}

// ownProtos are what net/http itself puts into TLSNextProto when a transport is first used.
var ownProtos = []string{alpnHTTP2, "unencrypted_http2", alpnHTTP1}

// checkHTTP2 refuses values that net/http would replace by a default in silence.
func checkHTTP2(cfg *Config, own *http.HTTP2Config) error {
	const most = 4<<20 - 1
	for _, f := range []struct {
		name      string
		n         int
		low, high int
	}{
		{"MaxConcurrentStreams", own.MaxConcurrentStreams, 0, 0},
		{"MaxDecoderHeaderTableSize", own.MaxDecoderHeaderTableSize, 1, most},
		{"MaxEncoderHeaderTableSize", own.MaxEncoderHeaderTableSize, 1, most},
		{"MaxReadFrameSize", own.MaxReadFrameSize, 16 << 10, 16<<20 - 1},
		{"MaxReceiveBufferPerConnection", own.MaxReceiveBufferPerConnection, 64<<10 - 1, most},
		{"MaxReceiveBufferPerStream", own.MaxReceiveBufferPerStream, 1, most},
	} {
		switch field := "Config.Base.HTTP2." + f.name; {
		case f.n != 0 && f.high == 0:
			return &ConfigError{field, fmt.Sprintf("is %d, but it is a server's setting: the server says how many streams it takes", f.n)}
		case f.n != 0 && (f.n < f.low || f.n > f.high):
			return &ConfigError{field, fmt.Sprintf("is %d, not within %d and %d; zero is the default", f.n, f.low, f.high)}
		}
	}
	for _, f := range []struct {
		name string
		d    time.Duration
	}{
		{"SendPingTimeout", own.SendPingTimeout},
		{"PingTimeout", own.PingTimeout},
		{"WriteByteTimeout", own.WriteByteTimeout},
	} {
		field := "Config.Base.HTTP2." + f.name
		if f.d < 0 {
			return &ConfigError{field, fmt.Sprintf("is negative (%v); zero is the default", f.d)}
		}
		if err := checkUnit(field, f.d); err != nil {
			return err
		}
	}
	if a, b := own.WriteByteTimeout, cfg.WriteStallTimeout; a != 0 && b != 0 && a != b {
		return &ConfigError{"Config.WriteStallTimeout", fmt.Sprintf("is %v, but Base.HTTP2.WriteByteTimeout is %v: set one of them", b, a)}
	}
	return nil
}

// errNoProtocol is for a request whose scheme no protocol of Base.Protocols is spoken with.
func errNoProtocol(scheme string) error {
	want := "SetHTTP1 or SetUnencryptedHTTP2"
	if scheme == "https" {
		want = "SetHTTP1 or SetHTTP2"
	}
	return fmt.Errorf("pool: nothing in Base.Protocols is spoken with %s URLs: use %s", scheme, want)
}
