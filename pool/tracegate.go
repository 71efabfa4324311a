package pool

import (
	"context"
	"crypto/tls"
	"net/http/httptrace"
	"sync/atomic"
	"time"

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
	g := newTraceGate()
	return httptrace.WithClientTrace(untrace.Context(ctx), g.wrap(trace)), g
}

// A traceGate lets a dial's trace hooks through until its request has returned.
type traceGate struct {
	turn chan struct{} // taken while a hook runs
	over atomic.Bool
}

func newTraceGate() *traceGate { return &traceGate{turn: make(chan struct{}, 1)} }

// hookTime is how long a request that ends waits for a hook of its own that runs. One that
// takes longer may be seen to run afterwards, but a cancelled request returns.
const hookTime = 50 * time.Millisecond

// shut ends the calls. A nil gate has none to end.
func (g *traceGate) shut() {
	if g == nil || g.over.Swap(true) {
		return
	}
	t := time.NewTimer(hookTime)
	defer t.Stop()
	select {
	case g.turn <- struct{}{}: // no hook is running, and none will
		<-g.turn
	case <-t.C:
	}
}

func (g *traceGate) run(f func()) {
	g.turn <- struct{}{}
	defer func() { <-g.turn }()
	if !g.over.Load() {
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
