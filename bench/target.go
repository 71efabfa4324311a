package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// TargetNotice says what Run sends to Target at most, without credentials. Options
// that Run would refuse, and those without Target, give an empty string.
func (o Options) TargetNotice() string {
	p, err := o.plan()
	if err != nil || p.target == nil {
		return ""
	}
	var kinds []string
	for _, s := range p.scenarios() {
		how := fmt.Sprintf("with %d at a time", min(int64(s.callers(p)), p.share(p.Rounds-1)))
		if load := p.loadOf(s); load.open() {
			how = load.describe()
		}
		kinds = append(kinds, s.name+" "+how)
	}
	each := p.Requests * len(p.rows)
	return fmt.Sprintf("sending to %s: GET requests without a body, numbered by an X-Request-Id header;\n"+
		"%d to see that it's there, then %s, for %v each, over %s;\n"+
		"at most %d requests per client (clients: %d) and %d in all, none of them sent twice",
		redact(p.target), len(p.protos()), strings.Join(kinds, ", "), p.Duration, strings.Join(namesOf(p.protos(), func(q proto) string { return q.name }), " and "),
		each, len(p.Clients), len(p.protos())+each*len(p.Clients))
}

// knock makes one request over each protocol to the target, so that a wrong address,
// or a protocol that it doesn't speak, is told at once and not as a table of failures.
func (l *lab) knock(ctx context.Context) error {
	for _, q := range l.protos() {
		setup := Setup{Proto: q.name, Callers: 1, Target: true}
		r := &rig{client: setup.Transport(), proto: q, urls: []*url.URL{l.target}, callTimeout: l.CallTimeout}
		_, err := r.caller().roundTrip(ctx, http.MethodGet, 1)
		r.cool()
		if err != nil {
			return fmt.Errorf("bench: target %s: %s: %w", redact(l.target), q.name, err)
		}
	}
	return nil
}

var errSentAgain = errors.New("bench: a call that was sent is not sent again")

// boundedOnce returns the context of a call to a target: it ends after limit, and lets
// the call be sent once. Its cause says which of them ended it.
func boundedOnce(ctx context.Context, limit time.Duration, h2 bool) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancelCause(ctx)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, tooLong(limit))
	return sentOnce(ctx, stop, h2), func() {
		cancel()
		stop(nil)
	}
}

func tooLong(limit time.Duration) error {
	return fmt.Errorf("bench: a call took longer than %v", limit)
}

// sentOnce returns a context in which a request that was written is not written
// again, which would add to what the target was promised: net/http sends a GET again
// by itself when a connection that it had used before ends without an answer, and over
// HTTP/2 any request that the server refused.
//
// The next connection that is taken for it is closed before it gets a byte. With
// HTTP/2 that would hit other calls; there stop ends the context, which clients look
// at once more before they write.
func sentOnce(ctx context.Context, stop context.CancelCauseFunc, h2 bool) context.Context {
	var sent atomic.Bool
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		// Over HTTP/1.1 net/http calls this one before anything leaves, over HTTP/2 after.
		WroteHeaders: func() {
			if h2 {
				sent.Store(true)
			}
		},
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				sent.Store(true)
			}
		},
		GotConn: func(info httptrace.GotConnInfo) {
			switch {
			case !sent.Load():
			case h2:
				stop(errSentAgain)
			default:
				_ = info.Conn.Close() // that it fails is the aim
			}
		},
	})
}
