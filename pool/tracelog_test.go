package pool

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/connwise/dialer"

	"golang.org/x/net/http2"
)

// logOf is what LogTrace writes of one event, from level on.
func logOf(level slog.Level, tell func(*Trace)) string {
	var b bytes.Buffer
	tell(LogTrace(slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))))
	return strings.TrimSpace(b.String())
}

func TestLogTrace(t *testing.T) {
	at := TraceHost{Host: "h:443", Scheme: "https", Proxy: "http://p:3128"}
	on := TraceConn{at, 7, "192.0.2.1:443", "HTTP/2.0"}
	const where = "host=h:443 scheme=https proxy=http://p:3128"
	const which = where + " conn=7 addr=192.0.2.1:443 proto=HTTP/2.0"
	retired := func(e RetireEvent) func(*Trace) {
		e.TraceConn, e.Age, e.Requests = on, time.Minute, 3
		return func(t *Trace) { t.Retired(e) }
	}
	dialled := func(e DialEvent) func(*Trace) { return func(t *Trace) { t.Dialled(e) } }
	waited := func(took time.Duration, err error) func(*Trace) {
		return func(t *Trace) { t.Waited(WaitEvent{at, took, 4, err}) }
	}
	for _, tt := range []struct {
		tell func(*Trace)
		want string
	}{
		{dialled(DialEvent{TraceConn: on, Took: ms}), "level=DEBUG msg=dialled " + which + " took=1ms"},
		{dialled(DialEvent{TraceConn: TraceConn{TraceHost: at, ID: 8}, Took: ms, Ahead: true, Err: syscall.ECONNREFUSED, Stage: dialer.StageConnect}),
			"level=WARN msg=\"dial failed\" " + where + " conn=8 took=1ms ahead=true stage=connect err=\"connection refused\""},
		{dialled(DialEvent{TraceConn: TraceConn{TraceHost: at, ID: 8}, Took: ms, Err: context.Canceled}), "level=DEBUG msg=\"dial failed\" " + where + " conn=8 took=1ms err=\"context canceled\""},
		{func(t *Trace) { t.Reused(ReuseEvent{on, time.Second, 2}) }, "level=DEBUG msg=reused " + which + " idle=1s requests=2"},
		{retired(RetireEvent{Reason: ReasonIdleLimit, Idle: time.Second}), "level=DEBUG msg=retired " + which + " reason=\"idle limit\" age=1m0s idle=1s requests=3"},
		{retired(RetireEvent{Reason: ReasonPeerClosed, How: "fin"}), "level=DEBUG msg=retired " + which + " reason=\"peer closed idle\" age=1m0s idle=0s requests=3 peer_closed=fin"},
		{retired(RetireEvent{Reason: ReasonPeerClosed, How: "reset", Stale: true}), "level=WARN msg=retired " + which + " reason=\"peer closed idle\" age=1m0s idle=0s requests=3 peer_closed=reset stale=true"},
		{retired(RetireEvent{Reason: ReasonUnsolicited, How: "408", Stale: true}), "level=WARN msg=retired " + which + " reason=\"unsolicited data\" age=1m0s idle=0s requests=3 peer_closed=408 stale=true"},
		{retired(RetireEvent{Reason: ReasonPeerAborted, InUse: true}), "level=INFO msg=retired " + which + " reason=\"peer closed in use\" age=1m0s in_use=true requests=3"},
		{waited(ms, nil), "level=DEBUG msg=waited " + where + " took=1ms queue=4"},
		{waited(time.Second, nil), "level=INFO msg=waited " + where + " took=1s queue=4"},
		{waited(ms, context.Canceled), "level=DEBUG msg=waited " + where + " took=1ms queue=4 err=\"context canceled\""},
		{waited(ms, ErrWaitTimeout), "level=WARN msg=waited " + where + " took=1ms queue=4 err=\"" + ErrWaitTimeout.Error() + "\""},
		{waited(0, ErrTooManyWaiters), "level=WARN msg=waited " + where + " took=0s queue=4 err=\"" + ErrTooManyWaiters.Error() + "\""},
		{func(t *Trace) {
			t.Refused(RefuseEvent{on, true, http2.ErrCodeEnhanceYourCalm, 5, 9, errors.New("e")})
		}, "level=WARN msg=refused " + which + " code=ENHANCE_YOUR_CALM last_stream=5 stream=9 err=e"},
		{func(t *Trace) { t.Refused(RefuseEvent{TraceConn: on, Code: http2.ErrCodeRefusedStream, StreamID: 9}) }, "level=WARN msg=refused " + which + " code=REFUSED_STREAM stream=9"},
		{func(t *Trace) {
			t.Refused(RefuseEvent{TraceConn: TraceConn{TraceHost: TraceHost{Host: "h:1"}, ID: 7}, Err: &GuardError{Host: "h:1", Err: ErrIdleLimit}})
		}, "level=DEBUG msg=refused host=h:1 conn=7 err=\"pool: h:1: refused before a byte was written, after 0s without one: " + ErrIdleLimit.Error() + "\""},
		{func(t *Trace) { t.Replaced(ReplaceEvent{on, PhaseUnsent, errors.New("e"), ms, 1}) }, "level=WARN msg=replaced " + which + " phase=unsent idle=1ms count=1 err=e"},
		{func(t *Trace) { t.Replaced(ReplaceEvent{on, PhaseRefused, nil, 0, 2}) }, "level=INFO msg=replaced " + which + " phase=refused idle=0s count=2"},
	} {
		if got := logOf(slog.LevelDebug, tt.tell); got != tt.want {
			t.Errorf("%s\nwant %s", got, tt.want)
		}
		level := strings.TrimPrefix(strings.Fields(tt.want)[0], "level=")
		if got := logOf(slog.LevelWarn, tt.tell); (got != "") != (level == "WARN") {
			t.Errorf("from Warn on: %q", got)
		}
	}
}

// Durations keep their kind, so that a handler can write them as it likes.
func TestLogTraceKeepsDurations(t *testing.T) {
	var kind slog.Kind
	h := slog.NewTextHandler(new(bytes.Buffer), &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == "took" {
			kind = a.Value.Kind()
		}
		return a
	}})
	if LogTrace(slog.New(h)).Waited(WaitEvent{}); kind != slog.KindDuration {
		t.Errorf("took is of kind %v", kind)
	}
}

// A proxy's credentials, and the request's path and query, are in no line, whatever goes wrong.
func TestLogTraceHasNoSecrets(t *testing.T) {
	const secret = "hunter2"
	var b bytes.Buffer
	cfg := Config{Trace: LogTrace(slog.New(slog.NewJSONHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug})))}
	cfg.Base = &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", User: url.UserPassword("user", secret), Host: "proxy.test:3128"})}
	inBubble(t, cfg, func(s *script) {
		req := s.request("GET", nil)
		req.URL.Path, req.URL.RawQuery = "/"+secret, "key="+secret
		req.Header.Set("Authorization", secret)
		tp := s.start(req)
		p := s.wantDial().finish()
		p.wantRequest()
		p.Close()
		tp.wantError(PhaseSent, nil)
		tp = s.start(req)
		s.wantDial().fail(errors.New("no"))
		tp.wantError(PhaseDial, nil)
		s.tr.Close()
	})
	if text := b.String(); strings.Contains(text, secret) || strings.Count(text, `"proxy":"http://proxy.test:3128"`) < 4 {
		t.Error(text)
	}
}
