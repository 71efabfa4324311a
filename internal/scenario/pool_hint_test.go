package scenario

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/connwise/pool"
)

// announcing is idleFor with the timeout in each answer, and an HTTP version.
func announcing(d time.Duration, version string, fields ...string) script {
	return func(c *peerConn) {
		for {
			c.tcp.SetReadDeadline(time.Now().Add(d))
			q, err := c.request()
			if err != nil {
				return
			}
			text := strings.Replace(answerText(q.id, fields...), "HTTP/1.1", version, 1)
			if _, err := io.WriteString(c, text); err != nil {
				return
			}
		}
	}
}

// The server says how long it keeps a connection, and nothing is configured.
func TestTheAnnouncedIdleTimeoutIsKept(t *testing.T) {
	const T = time.Second
	variants := []struct {
		version string
		fields  []string
	}{
		{"HTTP/1.1", []string{"Keep-Alive: timeout=1"}},
		{"HTTP/1.1", []string{"keep-alive: Timeout=1, max=100"}},
		{"HTTP/1.1", []string{"Keep-Alive: max=5", "Keep-Alive: timeout=1"}},
		{"HTTP/1.0", []string{"Connection: keep-alive", "Keep-Alive: timeout=1"}},
	}
	eachMode(t, func(t *testing.T, r *rig) {
		var peers []*rawPeer
		for _, v := range variants {
			peers = append(peers, r.peer(announcing(T, v.version, v.fields...)))
		}
		var pacers [4][]*pacer
		together(len(variants), func(k int) {
			pacers[k] = paceAll(t, r, peers[k].url, pool.Config{}, 8, func(i int) []time.Duration {
				return []time.Duration{T * 3 / 10, T - time.Duration(i)*10*time.Millisecond}
			})
		})
		for k, v := range variants {
			for _, p := range pacers[k] {
				// The margin is a tenth: after 300 ms there is reuse, above 930 ms there is none.
				if p.reused != 1 || p.fresh != 2 || p.oldest >= T*9/10 {
					t.Errorf("%s %q: %d requests on fresh and %d on reused connections, idle for %v at most", v.version, v.fields, p.fresh, p.reused, p.oldest)
				}
			}
			if n := peers[k].received(); n != 24 {
				t.Errorf("%s %q: the peer got %d requests of 24", v.version, v.fields, n)
			}
		}
	})
}

// What a server can't mean is no limit, and no reason to stop reusing.
func TestAnAbsurdAnnouncementIsIgnored(t *testing.T) {
	for _, value := range []string{
		"timeout=0", "timeout=-1", "timeout=1000000000000", "timeout=soon", "timeout=", "timeout", "=5", "timeout=1.5",
		"timeout=99999999999999999999999999", "max=3", "", ",,,;=", "timeout=0, timeout=5",
	} {
		t.Run(value, func(t *testing.T) {
			r := newRig(t, plain)
			p := r.peer(announcing(time.Minute, "HTTP/1.1", "Keep-Alive: "+value))
			tr := r.pool(pool.Config{})
			for range 3 {
				doer(tr.RoundTrip).must(t, newCall(t.Context(), http.MethodPost, p.url, replayable))
			}
			h := tr.Stats().Hosts[0]
			if p.conns() != 1 || h.IdleLimit != 0 || h.IdleLimitSource != "none" {
				t.Errorf("%d connections, idle limit %v (%s)", p.conns(), h.IdleLimit, h.IdleLimitSource)
			}
		})
	}
}

func TestTheSmallestIdleLimitIsInForce(t *testing.T) {
	for _, tt := range []struct {
		cfg    pool.Config
		field  string
		limit  time.Duration
		source string
	}{
		{pool.Config{ProxyIdleTimeout: 60 * time.Second, IdleMargin: time.Second}, "timeout=120", 59 * time.Second, "configured"},
		{pool.Config{ProxyIdleTimeout: 60 * time.Second, IdleMargin: time.Second}, "timeout=20", 19 * time.Second, "announced"},
		{pool.Config{ProxyIdleTimeout: 60 * time.Second}, "timeout=20", 18 * time.Second, "announced"},
		{pool.Config{}, "timeout=1", 900 * time.Millisecond, "announced"},
		{pool.Config{IdleMargin: 10 * time.Second}, "timeout=2", time.Second, "announced"}, // never more than half
		{pool.Config{Base: &http.Transport{IdleConnTimeout: 5 * time.Second}, ProxyIdleTimeout: time.Minute}, "timeout=20", 5 * time.Second, "transport"},
	} {
		r := newRig(t, plain)
		p := r.peer(announcing(time.Minute, "HTTP/1.1", "Keep-Alive: "+tt.field))
		tr := r.pool(tt.cfg)
		doer(tr.RoundTrip).must(t, newCall(t.Context(), http.MethodGet, p.url, noBody))
		if h := tr.Stats().Hosts[0]; h.IdleLimit != tt.limit || h.IdleLimitSource != tt.source {
			t.Errorf("%s: limit %v (%s), want %v (%s)", tt.field, h.IdleLimit, h.IdleLimitSource, tt.limit, tt.source)
		}
	}
}
