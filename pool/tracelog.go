package pool

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// longWait is from which length on a wait that ended well is worth an operator's look.
const longWait = time.Second

// LogTrace returns a Trace that writes each event to log; nil: slog.Default(), as it is now.
// Nothing is logged where a Config or GuardConfig has no Trace. The levels:
//
//   - Debug: what goes as planned. Dials that succeed or are given up, reuse, waits below a
//     second, connections that are closed by a limit, a Close, or their peer.
//   - Info: what somebody may look for later. Longer waits; connections that ended under a
//     request (the peer closed, a timeout, an error) or weren't trusted any more; requests that
//     were sent again because the peer had refused them.
//   - Warn: what ought to be rare. Dials that fail; idle connections that were found dead just
//     before a request, or by it; requests that the peer refused; waits that end without a
//     connection because of MaxWait or MaxWaiters.
//
// There is no Error: who made the request has its error, and knows what it means.
//
// The messages are "dialled", "dial failed", "reused", "retired", "waited", "refused" and
// "replaced", and the attributes host (with scheme and proxy where they are known), conn, addr,
// proto, took, ahead, stage, idle, requests, reason, age, in_use, peer_closed, stale, queue, code,
// last_stream, stream, phase, count and err; durations are of slog's kind Duration. Those without a
// value are left out. Messages, levels and names stay what they are.
func LogTrace(log *slog.Logger) *Trace {
	if log == nil {
		log = slog.Default()
	}
	l := traceLog{log}
	return &Trace{
		Dialled: l.dialled, Reused: l.reused, Retired: l.retired,
		Waited: l.waited, Refused: l.refused, Replaced: l.replaced,
	}
}

type traceLog struct{ *slog.Logger }

// write logs what attrs adds, which isn't called if nobody wants the level.
func (l traceLog) write(level slog.Level, msg string, attrs func(*traceAttrs)) {
	ctx := context.Background() // what a connection does belongs to no request
	if !l.Enabled(ctx, level) {
		return
	}
	var as traceAttrs
	attrs(&as)
	l.LogAttrs(ctx, level, msg, as...)
}

func (l traceLog) dialled(e DialEvent) {
	level, msg := slog.LevelDebug, "dialled"
	if e.Err != nil {
		msg = "dial failed"
	}
	if e.Stage != 0 {
		level = slog.LevelWarn
	}
	l.write(level, msg, func(as *traceAttrs) {
		as.conn(e.TraceConn)
		as.add(slog.Duration("took", e.Took))
		as.flag("ahead", e.Ahead)
		if e.Stage != 0 {
			as.add(slog.String("stage", e.Stage.String()))
		}
		as.err(e.Err)
	})
}

func (l traceLog) reused(e ReuseEvent) {
	l.write(slog.LevelDebug, "reused", func(as *traceAttrs) {
		as.conn(e.TraceConn)
		as.add(slog.Duration("idle", e.Idle), slog.Int("requests", e.Requests))
	})
}

func (l traceLog) retired(e RetireEvent) {
	l.write(e.level(), "retired", func(as *traceAttrs) {
		as.conn(e.TraceConn)
		as.add(slog.String("reason", string(e.Reason)), slog.Duration("age", e.Age))
		if as.flag("in_use", e.InUse); !e.InUse {
			as.add(slog.Duration("idle", e.Idle))
		}
		if e.Requests >= 0 {
			as.add(slog.Int("requests", e.Requests))
		}
		as.text("peer_closed", e.How)
		as.flag("stale", e.Stale)
	})
}

func (e *RetireEvent) level() slog.Level {
	switch e.Reason {
	case ReasonPeerAborted, ReasonTimeout, ReasonError, ReasonUnsolicited, ReasonSuspect, ReasonUnconfirmed, ReasonWornOut:
		if !e.Stale {
			return slog.LevelInfo
		}
	}
	if e.Stale {
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

func (l traceLog) waited(e WaitEvent) {
	level := slog.LevelDebug
	switch {
	case errors.Is(e.Err, ErrWaitTimeout), errors.Is(e.Err, ErrTooManyWaiters):
		level = slog.LevelWarn
	case e.Took >= longWait:
		level = slog.LevelInfo
	}
	l.write(level, "waited", func(as *traceAttrs) {
		as.host(e.TraceHost)
		as.add(slog.Duration("took", e.Took), slog.Int("queue", e.Queue))
		as.err(e.Err)
	})
}

func (l traceLog) refused(e RefuseEvent) {
	level := slog.LevelWarn
	_, guards := errors.AsType[*GuardError](e.Err)
	if guards { // its "retired" says whether it was stale
		level = slog.LevelDebug
	}
	l.write(level, "refused", func(as *traceAttrs) {
		as.conn(e.TraceConn)
		if !guards {
			as.add(slog.String("code", e.Code.String()))
		}
		if e.GoAway {
			as.add(slog.Uint64("last_stream", uint64(e.LastStreamID)))
		}
		if e.StreamID != 0 {
			as.add(slog.Uint64("stream", uint64(e.StreamID)))
		}
		as.err(e.Err)
	})
}

func (l traceLog) replaced(e ReplaceEvent) {
	level := slog.LevelInfo
	if e.Phase == PhaseUnsent {
		level = slog.LevelWarn
	}
	l.write(level, "replaced", func(as *traceAttrs) {
		as.conn(e.TraceConn)
		as.add(slog.String("phase", e.Phase.String()), slog.Duration("idle", e.Idle), slog.Int("count", e.Count))
		as.err(e.Err)
	})
}

// traceAttrs are an event's attributes.
type traceAttrs []slog.Attr

func (as *traceAttrs) add(more ...slog.Attr) { *as = append(*as, more...) }

func (as *traceAttrs) host(h TraceHost) {
	as.text("host", h.Host)
	as.text("scheme", h.Scheme)
	as.text("proxy", h.Proxy)
}

func (as *traceAttrs) conn(c TraceConn) {
	as.host(c.TraceHost)
	as.add(slog.Uint64("conn", c.ID))
	as.text("addr", c.Addr)
	as.text("proto", c.Proto)
}

func (as *traceAttrs) text(key, s string) {
	if s != "" {
		as.add(slog.String(key, s))
	}
}

func (as *traceAttrs) flag(key string, yes bool) {
	if yes {
		as.add(slog.Bool(key, true))
	}
}

func (as *traceAttrs) err(err error) {
	if err != nil {
		as.add(slog.Any("err", err))
	}
}
