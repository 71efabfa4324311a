package pool

import (
	"crypto/tls"
	"net/http"
	"slices"
	"testing"
)

func TestProtocols(t *testing.T) {
	protos := func(set ...func(*http.Protocols, bool)) *http.Protocols {
		p := new(http.Protocols)
		for _, f := range set {
			f(p, true)
		}
		return p
	}
	one, two, plain := (*http.Protocols).SetHTTP1, (*http.Protocols).SetHTTP2, (*http.Protocols).SetUnencryptedHTTP2
	offer := func(names ...string) *tls.Config { return &tls.Config{NextProtos: names} }
	off := map[string]func(string, *tls.Conn) http.RoundTripper{}
	for _, tt := range []struct {
		name         string
		base         *http.Transport
		https, plain protocols
		offer        []string
	}{
		{"zero", &http.Transport{}, protocols{true, true}, protocols{true, false}, []string{"h2", "http/1.1"}},
		{"a TLS configuration", &http.Transport{TLSClientConfig: offer()}, protocols{true, true}, protocols{true, false}, []string{"h2", "http/1.1"}},
		{"an offer of the caller's", &http.Transport{TLSClientConfig: offer("http/1.1")}, protocols{true, false}, protocols{true, false}, []string{"http/1.1"}},
		{"the same, forced", &http.Transport{TLSClientConfig: offer("http/1.1"), ForceAttemptHTTP2: true}, protocols{true, true}, protocols{true, false}, []string{"h2", "http/1.1"}},
		{"another protocol", &http.Transport{TLSClientConfig: offer("x", "h2")}, protocols{true, true}, protocols{true, false}, []string{"x", "h2", "http/1.1"}},
		{"net/http's old switch", &http.Transport{TLSNextProto: off}, protocols{true, false}, protocols{true, false}, nil},
		{"HTTP/1 only", &http.Transport{Protocols: protos(one), TLSClientConfig: offer("h2", "http/1.1")}, protocols{true, false}, protocols{true, false}, []string{"http/1.1"}},
		{"HTTP/2 only", &http.Transport{Protocols: protos(two)}, protocols{false, true}, protocols{}, []string{"h2"}},
		{"prior knowledge", &http.Transport{Protocols: protos(plain)}, protocols{}, protocols{false, true}, nil},
		{"prior knowledge and HTTP/1", &http.Transport{Protocols: protos(plain, one)}, protocols{true, false}, protocols{true, false}, nil},
		{"prior knowledge and HTTP/2", &http.Transport{Protocols: protos(plain, two)}, protocols{false, true}, protocols{false, true}, []string{"h2"}},
	} {
		https, plain := protocolsOf(tt.base)
		if https != tt.https || plain != tt.plain {
			t.Errorf("%s: %+v with https and %+v with http, want %+v and %+v", tt.name, https, plain, tt.https, tt.plain)
		}
		if got := tlsConfig(tt.base, https).NextProtos; !slices.Equal(got, tt.offer) {
			t.Errorf("%s: the offer is %q, want %q", tt.name, got, tt.offer)
		}
	}
}

func TestTLSConfigIsACopy(t *testing.T) {
	base := &http.Transport{TLSClientConfig: &tls.Config{NextProtos: []string{"h2", "http/1.1"}}}
	if got := tlsConfig(base, protocols{http1: true}).NextProtos; len(got) != 1 {
		t.Errorf("the offer is %q", got)
	}
	if len(base.TLSClientConfig.NextProtos) != 2 {
		t.Error("the caller's configuration was changed")
	}
}
