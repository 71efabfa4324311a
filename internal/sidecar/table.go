package sidecar

import (
	"crypto/tls"
	"strings"
)

// A Setting is one of Settings: how it is written, and what it means.
type Setting struct {
	Key   string // as in a file, with dots between its parts
	Value Value
	Doc   string
	// Field is the library's field that it sets ("Policy.Spread"), as its errors name it. Empty: none.
	Field string
	// Fixed says that a reload doesn't change it.
	Fixed bool
}

// Flag is the setting's name on the command line, without the dashes.
func (s *Setting) Flag() string { return strings.NewReplacer(".", "-", "_", "-").Replace(s.Key) }

// Table returns all settings of s, in the order in which they are printed. Their values are bound
// to s: to set one changes s.
func (s *Settings) Table() []Setting {
	var all []Setting
	for _, part := range []func() []Setting{
		s.frontTable, s.forwardTable, s.poolTable, s.dialTable, s.tlsTable, s.retryTable, s.budgetTable,
	} {
		all = append(all, part()...)
	}
	return all
}

func (s *Settings) frontTable() []Setting {
	return []Setting{
		{Key: "upstream", Value: plain{&s.Upstream},
			Doc: "where requests go: http://HOST[:PORT][/PATH], https://..., or unix:/PATH"},
		{Key: "listen", Value: plain{&s.Listen}, Fixed: true,
			Doc: "where clients connect: a loopback HOST:PORT, or unix:/PATH"},
		{Key: "listen_anywhere", Value: boolean{&s.ListenAnywhere}, Fixed: true,
			Doc: "allow listen and admin addresses that other machines can reach; there is no TLS and no authentication"},
		{Key: "socket_mode", Value: mode{&s.SocketMode}, Fixed: true,
			Doc: "permissions of the Unix sockets that are listened on; who may write may connect"},
		{Key: "admin", Value: optional{&s.Admin}, Fixed: true,
			Doc: "where statistics, metrics, health and settings are served: a loopback HOST:PORT, or unix:/PATH"},
		{Key: "drain", Value: duration{&s.Drain, offNever}, Fixed: true,
			Doc: "how long requests may take to end when the sidecar is to; the others are cut then"},
		{Key: "log.format", Value: words(&s.LogFormat, "text", "json"), Fixed: true, Doc: "text or json, to stderr"},
		{Key: "log.level", Value: words(&s.LogLevel, "debug", "info", "warn", "error"), Fixed: true,
			Doc: "the least that is logged; debug has each failure that a retry made good"},
		{Key: "log.requests", Value: boolean{&s.LogRequests}, Doc: "log a line for each request"},
		{Key: "client.read_header_timeout", Value: duration{&s.Client.ReadHeaderTimeout, offZero}, Fixed: true,
			Doc: "how long a request's head may take, and a new connection's first request may be away"},
		{Key: "client.idle_timeout", Value: duration{&s.Client.IdleTimeout, offZero}, Fixed: true,
			Doc: "how long a client's connection may idle; keep it longer than the client does, which may lose a request otherwise"},
		{Key: "client.max_header_bytes", Value: size{&s.Client.MaxHeaderBytes, offNever}, Fixed: true,
			Doc: "the largest head of a request"},
	}
}

func (s *Settings) forwardTable() []Setting {
	return []Setting{
		{Key: "replay.body", Value: size{&s.ReplayBody, offZero},
			Doc: "the largest request body that is read before it is sent, so that it can be sent again"},
		{Key: "replay.memory", Value: size{&s.ReplayMemory, offZero},
			Doc: "for all such bodies together; bodies beyond it stream"},
		{Key: "replay.wait", Value: duration{&s.ReplayWait, offZero},
			Doc: "how long a body without a Content-Length may take to show that it is small; then it streams"},
		{Key: "forward.host", Value: plain{&s.Host},
			Doc: "the Host field that the upstream gets: upstream (its own), client (as it came), or a name"},
		{Key: "forward.x_forwarded", Value: words(&s.XForwarded, forwardedAppend, forwardedReplace, forwardedKeep),
			Doc: "X-Forwarded-For, -Host, -Proto: append to the client's (Host and Proto only if it has none), replace them, or keep them as they came"},
		{Key: "forward.via", Value: optional{&s.Via},
			Doc: "the sidecar's name in the request's Via field (RFC 9110 section 7.6.3)"},
		{Key: "forward.retry_after", Value: duration{&s.RetryAfter, offNever},
			Doc: "Retry-After of a 503, in seconds, rounded up"},
	}
}

func (s *Settings) tlsTable() []Setting {
	t := &s.TLS
	return []Setting{
		{Key: "tls.ca_file", Value: optional{&t.CAFile}, Doc: "PEM file with the authorities to trust in place of the system's"},
		{Key: "tls.cert_file", Value: optional{&t.CertFile}, Doc: "PEM file with the certificate to show to the upstream"},
		{Key: "tls.key_file", Value: optional{&t.KeyFile}, Doc: "PEM file with its key"},
		{Key: "tls.server_name", Value: optional{&t.ServerName}, Doc: "the name to ask for and to verify, in place of the upstream's host"},
		{Key: "tls.min_version", Value: choice[uint16]{&t.MinVersion, []option[uint16]{{"1.2", tls12}, {"1.3", tls.VersionTLS13}}},
			Doc: "the oldest version of TLS: 1.2 or 1.3"},
		{Key: "tls.insecure_skip_verify", Value: boolean{&t.InsecureSkipVerify},
			Doc: "don't verify who the upstream is: for tests only"},
	}
}

const tls12 = tls.VersionTLS12

// optional is a text that may be absent.
type optional struct{ p *string }

func (optional) Type() string { return "text" }

func (o optional) String() string {
	if *o.p == "" {
		return none
	}
	return *o.p
}

func (o optional) Set(text string) error {
	if text == none {
		text = ""
	}
	return plain(o).Set(text)
}
