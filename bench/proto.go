package bench

import (
	"net/http"
	"net/url"
)

// A proto is a way to speak to the peer.
type proto struct {
	name  string
	about string
	tls   bool
	h2    bool
}

// protos are all of them, in the table's order.
var protos = []proto{
	{name: "h1", about: "HTTP/1.1"},
	{name: "h1s", about: "HTTP/1.1 over TLS", tls: true},
	{name: "h2", about: "HTTP/2 over TLS, chosen by ALPN", tls: true, h2: true},
	{name: "h2c", about: "HTTP/2 without TLS, by prior knowledge", h2: true},
}

// ProtoNames returns the names of the protocols: "h1" is HTTP/1.1 and "h1s" the same
// over TLS, "h2" is HTTP/2 over TLS and "h2c" the same without.
func ProtoNames() []string { return namesOf(protos, func(q proto) string { return q.name }) }

// AboutProto says what a protocol is; empty for an unknown name.
func AboutProto(name string) string { return protoNamed(name).about }

// protoNamed returns the zero proto for an unknown name.
func protoNamed(name string) proto {
	for _, q := range protos {
		if q.name == name {
			return q
		}
	}
	return proto{}
}

// url is where a server for q is.
func (q proto) url(addr string) *url.URL {
	u := &url.URL{Scheme: "http", Host: addr, Path: "/"}
	if q.tls {
		u.Scheme = "https"
	}
	return u
}

// protocols are what a client may use for q. Over TLS it offers HTTP/1.1 too, as
// clients do whose servers are of both kinds; that the answers came by HTTP/2 is
// checked with each of them.
func (q proto) protocols() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(!q.h2 || q.tls)
	p.SetHTTP2(q.h2 && q.tls)
	p.SetUnencryptedHTTP2(q.h2 && !q.tls)
	return p
}
