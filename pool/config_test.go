package pool

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"example.com/connwise/dialer"
)

func TestNewRefusesWhatItCannotHonour(t *testing.T) {
	dial := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("unused") }
	for _, tt := range []struct {
		field string
		cfg   Config
	}{
		{"Config.ProxyIdleTimeout", Config{ProxyIdleTimeout: -1}},
		{"Config.IdleMargin", Config{IdleMargin: -time.Second}},
		{"Config.IdleMargin", Config{ProxyIdleTimeout: time.Second, IdleMargin: time.Second}},
		{"Config.MaxConnAge", Config{MaxConnAge: -1}},
		{"Config.MaxIdlePerHost", Config{MaxIdlePerHost: -1}},
		{"Config.MaxConnsPerHost", Config{MaxConnsPerHost: -1}},
		{"Config.MaxWait", Config{MaxWait: -1}},
		{"Config.MaxWaiters", Config{MaxWaiters: -1}},
		{"Config.WriteStallTimeout", Config{WriteStallTimeout: -1}},
		{"Config.ReadStallTimeout", Config{ReadStallTimeout: -1}},
		{"Config.ProxyIdleTimeout", Config{ProxyIdleTimeout: 60}}, // the unit is missing
		{"Config.MaxConnAge", Config{MaxConnAge: 60}},
		{`Config.Hosts["a:1"].ProxyIdleTimeout`, Config{Hosts: map[string]HostConfig{"a:1": {ProxyIdleTimeout: 60}}}},
		{`Config.Hosts["a:http"]`, Config{Hosts: map[string]HostConfig{"a:http": {}}}},
		{`Config.Hosts["a:99999"]`, Config{Hosts: map[string]HostConfig{"a:99999": {}}}},
		{`Config.Hosts["*.a:80"]`, Config{Hosts: map[string]HostConfig{"*.a:80": {}}}},
		{`Config.Hosts["u@a:80"]`, Config{Hosts: map[string]HostConfig{"u@a:80": {}}}},
		{`Config.Hosts["a"]`, Config{Hosts: map[string]HostConfig{"a": {}}}},
		{`Config.Hosts["a:1"].MaxWait`, Config{Hosts: map[string]HostConfig{"a:1": {MaxWait: -1}}}},
		{`Config.Hosts["a:1"].IdleMargin`, Config{ProxyIdleTimeout: time.Second, Hosts: map[string]HostConfig{"a:1": {IdleMargin: 2 * time.Second}}}},
		{"Config.Dialer", Config{Dialer: &dialer.Dialer{}, Base: &http.Transport{DialContext: dial}}},
		{"Config.MaxConnsPerHost", Config{MaxConnsPerHost: 1, Base: &http.Transport{MaxConnsPerHost: 2}}},
		{"Config.MaxIdlePerHost", Config{MaxIdlePerHost: 1, Base: &http.Transport{MaxIdleConnsPerHost: 2}}},
		{"Config.Base.MaxIdleConnsPerHost", Config{Base: &http.Transport{MaxIdleConnsPerHost: -1}}},
		{`Config.Hosts["bücher.test:1"].MaxWait`, Config{Hosts: map[string]HostConfig{"bücher.test:1": {MaxWait: -1}}}},
		{"Config.Dialer.TLSTimeout", Config{Dialer: &dialer.Dialer{TLSTimeout: 1}, Base: &http.Transport{TLSHandshakeTimeout: 2}}},
		{"Config.Base.IdleConnTimeout", Config{Base: &http.Transport{IdleConnTimeout: -1}}},
		{"Config.Base.Protocols", Config{Base: &http.Transport{Protocols: new(http.Protocols)}}},
		{"Config.Base.HTTP2.MaxReadFrameSize", Config{Base: &http.Transport{HTTP2: &http.HTTP2Config{MaxReadFrameSize: 1000}}}},
		{"Config.Base.HTTP2.MaxConcurrentStreams", Config{Base: &http.Transport{HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 10}}}},
		{"Config.Base.HTTP2.MaxReceiveBufferPerStream", Config{Base: &http.Transport{HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 1 << 30}}}},
		{"Config.Base.HTTP2.SendPingTimeout", Config{Base: &http.Transport{HTTP2: &http.HTTP2Config{SendPingTimeout: 5}}}},
		{"Config.Base.HTTP2.PingTimeout", Config{Base: &http.Transport{HTTP2: &http.HTTP2Config{PingTimeout: -time.Second}}}},
		{"Config.WriteStallTimeout", Config{WriteStallTimeout: time.Second, Base: &http.Transport{HTTP2: &http.HTTP2Config{WriteByteTimeout: time.Minute}}}},
		{"Config.MaxWait", Config{MaxWait: 2}},
		{"Config.ReadStallTimeout", Config{ReadStallTimeout: 30}},
		{`Config.Hosts["a:1"].MaxWait`, Config{Hosts: map[string]HostConfig{"a:1": {MaxWait: 2}, "b:1": {MaxWait: -1}}}},
		{"Config.MinIdlePerHost", Config{MinIdlePerHost: -1}},
		{"Config.MaxRequestsPerConn", Config{MaxRequestsPerConn: -1}},
		{"Config.MinIdlePerHost", Config{MinIdlePerHost: 3, MaxIdlePerHost: 2}},
		{"Config.MinIdlePerHost", Config{MinIdlePerHost: 3, MaxConnsPerHost: 2}},
		{"Config.MinIdlePerHost", Config{MinIdlePerHost: 3, Base: &http.Transport{MaxIdleConns: 2}}},
		{"Config.MinIdlePerHost", Config{MinIdlePerHost: 3, Base: &http.Transport{MaxIdleConnsPerHost: 2}}},
		{"Config.MinIdlePerHost", Config{MinIdlePerHost: 3, Base: &http.Transport{DisableKeepAlives: true}}},
		{"Config.MinIdlePerHost", Config{MinIdlePerHost: 1025}}, // of the default Base's MaxIdleConns
		{`Config.Hosts["a:1"].MinIdlePerHost`, Config{MinIdlePerHost: 3, Hosts: map[string]HostConfig{"a:1": {MaxConnsPerHost: 2}}}},
		{`Config.Hosts["a:1"].MinIdlePerHost`, Config{MaxIdlePerHost: 2, Hosts: map[string]HostConfig{"a:1": {MinIdlePerHost: 3}}}},
		{`Config.Hosts["a:1"].MinIdlePerHost`, Config{Hosts: map[string]HostConfig{"a:1": {MinIdlePerHost: -1}}}},
		{`Config.Hosts["a:1"].MaxRequestsPerConn`, Config{Hosts: map[string]HostConfig{"a:1": {MaxRequestsPerConn: -1}}}},
		{"Config.Base.TLSNextProto", Config{Base: &http.Transport{TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{"foo": nil}}}},
	} {
		tr, err := New(tt.cfg)
		ce, ok := errors.AsType[*ConfigError](err)
		if !ok || ce.Field != tt.field || ce.Reason == "" {
			t.Errorf("%s: New returned %v", tt.field, err)
		}
		if tr != nil {
			t.Errorf("%s: New returned a Transport beside its error", tt.field)
		}
	}
}

// used is a transport that has sent a request, which fills its fields.
func used(t *testing.T) *http.Transport {
	tr := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed }}
	if _, err := tr.RoundTrip(httptest.NewRequest("GET", "http://a.test/", nil)); err == nil {
		t.Error("no error of the dial hook")
	}
	tr.DialContext = nil
	return tr
}

func TestHostsKeysAreNormalised(t *testing.T) {
	s, err := newSettings(Config{Hosts: map[string]HostConfig{"Bücher.Test:443": {MaxWaiters: 7}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.forHost(canonicalAddr("https", "bücher.test")); got.MaxWaiters != 7 {
		t.Errorf("the override isn't found: %+v", got)
	}
	s, err = newSettings(Config{Hosts: map[string]HostConfig{"[0:0:0:0:0:0:0:1]:80": {MaxWaiters: 7}}})
	if err != nil || s.forHost(canonicalAddr("http", "[::1]")).MaxWaiters != 7 {
		t.Errorf("the override for an IPv6 address isn't found: %v", err)
	}
	_, err = newSettings(Config{Hosts: map[string]HostConfig{"a.test:1": {}, "A.test:1": {}}})
	if _, ok := errors.AsType[*ConfigError](err); !ok {
		t.Errorf("two keys for one host: %v", err)
	}
}

func TestNewTakesWhatPeopleHave(t *testing.T) {
	for name, cfg := range map[string]Config{
		"zero":                   {},
		"a clone of the default": {Base: http.DefaultTransport.(*http.Transport).Clone()},
		"the zero transport":     {Base: &http.Transport{}},
		"one that has been used": {Base: used(t)},
		"empty HTTP/2 settings":  {Base: &http.Transport{HTTP2: &http.HTTP2Config{}}},
		"all HTTP/2 settings": {Base: &http.Transport{HTTP2: &http.HTTP2Config{StrictMaxConcurrentRequests: true, MaxDecoderHeaderTableSize: 1, MaxEncoderHeaderTableSize: 1,
			MaxReadFrameSize: 16 << 10, MaxReceiveBufferPerConnection: 64 << 10, MaxReceiveBufferPerStream: 1, SendPingTimeout: time.Second,
			PingTimeout: time.Second, WriteByteTimeout: time.Second, PermitProhibitedCipherSuites: true, CountError: func(string) {}}}},
		"equal limits in both":       {MaxConnsPerHost: 2, Base: &http.Transport{MaxConnsPerHost: 2}},
		"a dialer, no hook in Base":  {Dialer: &dialer.Dialer{}, Base: &http.Transport{}},
		"a margin without a timeout": {IdleMargin: time.Second},
	} {
		tr, err := New(cfg)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		tr.Close()
	}
}
