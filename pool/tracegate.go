package pool

import (
	"context"
	"crypto/tls"
	"net/http/httptrace"
	"sync"

	"example.com/connwise/internal/untrace"
)

// detach is ctx without its end and deadline, and with its trace hooks behind a gate,
// since the dial may outlive the request (golang/go#21597). The gate is nil if there is
// no trace.
func detach(ctx context.Context) (context.Context, *traceGate) {
	ctx = context.WithoutCancel(ctx)
	trace := httptrace.ContextClientTrace(ctx)
	if trace == nil {
		return ctx, nil
	}
	g := &traceGate{}
	return httptrace.WithClientTrace(untrace.Context(ctx), g.wrap(trace)), g
}

// A traceGate lets a dial's trace hooks through until its request has returned.
type traceGate struct {
	mu   sync.Mutex // held while a hook runs: shut waits for it
	over bool
}

// shut ends the calls. A nil gate has none to end.
func (g *traceGate) shut() {
	if g != nil {
		g.mu.Lock()
		g.over = true
		g.mu.Unlock()
	}
}

func (g *traceGate) run(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.over {
		f()
	}
}

// wrap is t's dial hooks, each through the gate.
func (g *traceGate) wrap(t *httptrace.ClientTrace) *httptrace.ClientTrace {
	w := &httptrace.ClientTrace{}
	if f := t.DNSStart; f != nil {
		w.DNSStart = func(i httptrace.DNSStartInfo) { g.run(func() { f(i) }) }
	}
	if f := t.DNSDone; f != nil {
		w.DNSDone = func(i httptrace.DNSDoneInfo) { g.run(func() { f(i) }) }
	}
	if f := t.ConnectStart; f != nil {
		w.ConnectStart = func(network, addr string) { g.run(func() { f(network, addr) }) }
	}
	if f := t.ConnectDone; f != nil {
		w.ConnectDone = func(network, addr string, err error) { g.run(func() { f(network, addr, err) }) }
	}
	if f := t.TLSHandshakeStart; f != nil {
		w.TLSHandshakeStart = func() { g.run(f) }
	}
	if f := t.TLSHandshakeDone; f != nil {
		w.TLSHandshakeDone = func(s tls.ConnectionState, err error) { g.run(func() { f(s, err) }) }
	}
	return w
}
