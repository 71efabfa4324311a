package retry

import (
	"context"
	"log/slog"
)

// A Report tells what happened in one call that was retried. It keeps its zero value
// when nothing was: Retries without an error from the call is a failure that was absorbed.
//
// One Report serves one call. RoundTrip writes to it and the caller may read it when
// RoundTrip has returned. The hops of a call through an http.Client that follows redirects
// add up in it.
type Report struct {
	// Retries is how often the request was sent again.
	Retries int
	// Errors are the failures behind the retries, in order: the errors of all attempts
	// but the last, as Base returned them, and *StatusError for answers.
	Errors []error
}

// LogValue gives the attributes retries, a number, and retry_errors, a list of texts. A
// call that wasn't retried has neither: slog leaves an empty group out.
func (r *Report) LogValue() slog.Value {
	if r == nil || r.Retries == 0 {
		return slog.GroupValue()
	}
	texts := make([]string, len(r.Errors))
	for i, err := range r.Errors {
		texts[i] = err.Error()
	}
	return slog.GroupValue(slog.Int("retries", r.Retries), slog.Any("retry_errors", texts))
}

type (
	reportKey     struct{}
	idempotentKey struct{}
)

// WithReport returns a context whose request fills r. A nil r takes the report of an
// outer WithReport away.
func WithReport(ctx context.Context, r *Report) context.Context {
	return context.WithValue(ctx, reportKey{}, r)
}

// WithIdempotent returns a context whose request may be executed twice: every policy
// that isn't restricted to other Methods may send it again although it may have been
// processed. It is for writes that are idempotent by contract.
func WithIdempotent(ctx context.Context) context.Context {
	return context.WithValue(ctx, idempotentKey{}, true)
}

func reportRetry(ctx context.Context, err error) {
	if r, _ := ctx.Value(reportKey{}).(*Report); r != nil {
		r.Retries++
		r.Errors = append(r.Errors, err)
	}
}
