package main

import (
	"cmp"
	"net/http"
	"time"

	"example.com/connwise/bench"
)

// netHTTPDefault is what one gets without a thought. What a scenario or --max-conns
// prescribes holds for it as for all.
func netHTTPDefault() bench.Client {
	return bench.Client{
		Name: "net/http-default",
		Note: "http.DefaultTransport.Clone() with nothing but the protocol and the peer's authority: 2 idle connections per host (http.DefaultMaxIdleConnsPerHost), kept for 90 s; so it isn't in idle-conns",
		New: func(s bench.Setup) (http.RoundTripper, error) {
			t := s.Transport()
			d := http.DefaultTransport.(*http.Transport)
			t.MaxIdleConns, t.MaxIdleConnsPerHost = d.MaxIdleConns, d.MaxIdleConnsPerHost
			return t, nil
		},
		Has: func(scenario, _ string) bool { return scenario != "idle-conns" },
	}
}

// mostConns is the limit that articles on tuning give a Transport.
const mostConns = 100

// netHTTPTuned is net/http by the book.
func netHTTPTuned() bench.Client {
	return bench.Client{
		Name: "net/http-tuned",
		Note: "net/http with what articles on tuning add: MaxConnsPerHost 100, so that a burst doesn't open a connection for each request (LoginRadius: How to use the HTTP client in Go to enhance performance); IdleConnTimeout below the server's (Google Cloud, AWS: the side that reuses connections has the shorter timeout; a tenth less here, as connwise); over HTTP/2 a ping after 15 s of silence (net/http's HTTP2Config)",
		New:  func(s bench.Setup) (http.RoundTripper, error) { return tuned(s), nil },
	}
}

func tuned(s bench.Setup) *http.Transport {
	t := timely(s)
	if t.MaxConnsPerHost == 0 {
		t.MaxConnsPerHost = mostConns
		if s.Size > 0 { // the row prescribes how many there are
			t.MaxConnsPerHost = max(mostConns, s.Callers)
		}
	}
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second}
	return t
}

// timely is the bench's Transport that closes idle connections before the server does.
func timely(s bench.Setup) *http.Transport {
	t := s.Transport()
	t.IdleConnTimeout = cmp.Or(s.IdleLimit(), t.IdleConnTimeout)
	return t
}
