package bench

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
)

// TargetNotice says what Run sends to Target at most, without credentials. Options
// that Run would refuse, and those without Target, give an empty string.
func (o Options) TargetNotice() string {
	p, err := o.plan()
	if err != nil || p.target == nil {
		return ""
	}
	var kinds []string
	for _, s := range p.scenarios {
		kinds = append(kinds, fmt.Sprintf("%s with %d at a time", s.name, min(int64(s.callers(p)), p.share(p.Rounds-1))))
	}
	each := p.Requests * len(p.scenarios)
	return fmt.Sprintf("sending to %s: GET requests without a body, numbered by an X-Request-Id header;\n"+
		"1 to see that it's there, then %s, for %v each;\n"+
		"at most %d requests per client (clients: %d) and %d in all, none of them sent twice",
		p.target.Redacted(), strings.Join(kinds, ", "), p.Duration, each, len(p.Clients), 1+each*len(p.Clients))
}

// knock makes one request to the target, so that a wrong address is told at once
// and not as a table of failures.
func (l *lab) knock(ctx context.Context) error {
	setup := Setup{Callers: 1, Target: true}
	r := &rig{rt: setup.Transport(), url: l.target, callTimeout: l.CallTimeout}
	defer r.cool()
	if _, err := r.caller().roundTrip(ctx, http.MethodGet, "1"); err != nil {
		return fmt.Errorf("bench: target %s: %w", l.target.Redacted(), err)
	}
	return nil
}

// sentOnce returns a context in which a request that was written is not written
// again: the next connection that is taken for it is closed before it gets a byte.
// net/http sends a GET again by itself when a connection that it had used before
// ends without an answer, which would add to what the target was promised.
func sentOnce(ctx context.Context) context.Context {
	var sent atomic.Bool
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				sent.Store(true)
			}
		},
		GotConn: func(info httptrace.GotConnInfo) {
			if sent.Load() {
				_ = info.Conn.Close() // that it fails is the aim
			}
		},
	})
}
