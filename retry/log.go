package retry

import (
	"log/slog"

	"example.com/connwise/pool"
)

// LogDecisions returns a function for Transport.OnDecision that writes each decision to log; nil:
// slog.Default(), as it is now. Nothing is logged without it. The levels: Warn where a retry was
// allowed and the budget refused it, or where the retries are used up; Info for a retry; Debug for
// all else, of which the call's error says enough. The context is the request's.
//
// The messages are "retry" and "no retry", and the attributes method, host (of the URL, without
// what else is in it), phase, evidence, reused, took, status, reason, wait, addr
// and err; durations are of slog's kind Duration. Those without a value are left out. See pool.LogTrace for what
// becomes of connections.
func LogDecisions(log *slog.Logger) func(Decision) {
	if log == nil {
		log = slog.Default()
	}
	return func(d Decision) {
		ctx, level := d.Request.Context(), d.level()
		if !log.Enabled(ctx, level) {
			return
		}
		msg := "no retry"
		if d.Retry {
			msg = "retry"
		}
		log.LogAttrs(ctx, level, msg, d.attrs()...)
	}
}

func (d *Decision) level() slog.Level {
	switch {
	case d.Retry:
		return slog.LevelInfo
	case d.Reason == ReasonBudget, d.Reason == ReasonExhausted:
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

func (d *Decision) attrs() []slog.Attr {
	a := &d.Attempt
	method, host := d.Request.Method, ""
	if method == "" {
		method = "GET"
	}
	if d.Request.URL != nil {
		host = d.Request.URL.Host
	}
	as := []slog.Attr{slog.String("method", method), slog.String("host", host), slog.String("phase", a.Phase.String())}
	if a.Phase != pool.PhaseResponse {
		as = append(as, slog.String("evidence", a.Evidence.String()))
	}
	as = append(as, slog.Bool("reused", a.Reused), slog.Duration("took", a.Took), slog.String("reason", string(d.Reason)))
	if a.Status != 0 {
		as = append(as, slog.Int("status", a.Status))
	}
	if d.Retry {
		as = append(as, slog.Duration("wait", d.Wait))
	}
	if a.Addr != "" {
		as = append(as, slog.String("addr", a.Addr))
	}
	if a.Err != nil {
		as = append(as, slog.Any("err", a.Err))
	}
	return as
}
