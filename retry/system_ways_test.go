package retry_test

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// verbs are all that there are, but for CONNECT.
var verbs = []string{"GET", "HEAD", "OPTIONS", "TRACE", "POST", "PUT", "PATCH", "DELETE"}

// A way is how the first attempts of a call fail on their way, over TLS. What comes behind
// them is served.
type way struct {
	name    string
	phase   pool.Phase
	timeout bool
	names   string                   // what a lookup gives
	act     string                   // what the origin does
	socket  error                    // with what sockets fail to connect; errHangs: they don't come to an end
	change  func(*rig, *pool.Config) // settings of the client
	stage   dialer.Stage             // of phase dial
	is      error                    // in the chain
}

// These limits end what never comes. What does come has to come in them, on a busy machine: an
// answer, or a handshake, which takes more.
const (
	limit          = 500 * time.Millisecond
	handshakeLimit = 900 * time.Millisecond
)

var (
	resolveLimit = func(_ *rig, cfg *pool.Config) { cfg.Dialer.ResolveTimeout = limit }
	connectLimit = func(_ *rig, cfg *pool.Config) { cfg.Dialer.ConnectTimeout = limit }
	tlsLimit     = func(_ *rig, cfg *pool.Config) { limitHandshake(cfg, handshakeLimit) }
	answerLimit  = func(_ *rig, cfg *pool.Config) { cfg.Base.ResponseHeaderTimeout = limit }
	writeLimit   = func(_ *rig, cfg *pool.Config) { cfg.WriteStallTimeout = limit }
)

// limitHandshake ends handshakes after d. The limit on connections keeps the pool from dialling
// again by itself after a second, which a busy machine can take for d.
func limitHandshake(cfg *pool.Config, d time.Duration) {
	cfg.Base.TLSHandshakeTimeout = d
	cfg.MaxConnsPerHost = 1
}

// unsentWays are the failures of rules A2 and B1: no request was sent.
var unsentWays = []way{
	{name: "refused", phase: pool.PhaseDial, names: refused, stage: dialer.StageConnect, is: syscall.ECONNREFUSED},
	{name: "no such host", phase: pool.PhaseDial, names: noHost, stage: dialer.StageResolve},
	{name: "no word of the resolver", phase: pool.PhaseDial, timeout: true, names: noWord, change: resolveLimit, stage: dialer.StageResolve},
	{name: "connect timeout", phase: pool.PhaseDial, timeout: true, socket: errHangs, change: connectLimit, stage: dialer.StageConnect},
	{name: "unreachable host", phase: pool.PhaseDial, socket: syscall.EHOSTUNREACH, stage: dialer.StageConnect, is: syscall.EHOSTUNREACH},
	{name: "unreachable network", phase: pool.PhaseDial, socket: syscall.ENETUNREACH, stage: dialer.StageConnect, is: syscall.ENETUNREACH},
	{name: "no address", phase: pool.PhaseDial, socket: syscall.EADDRNOTAVAIL, stage: dialer.StageConnect, is: syscall.EADDRNOTAVAIL},
	{name: "the kernel's connect timeout", phase: pool.PhaseDial, timeout: true, socket: syscall.ETIMEDOUT, stage: dialer.StageConnect, is: syscall.ETIMEDOUT},
	{name: "reset in the handshake", phase: pool.PhaseDial, act: hsRST, stage: dialer.StageTLS},
	{name: "closed in the handshake", phase: pool.PhaseDial, act: hsFIN, stage: dialer.StageTLS},
	{name: "refused handshake", phase: pool.PhaseDial, act: hsAlert, stage: dialer.StageTLS},
	{name: "TLS timeout", phase: pool.PhaseDial, timeout: true, act: hsSilence, change: tlsLimit, stage: dialer.StageTLS},
}

// sentWays are those of rules A3 and B2: the origin has the request whole.
var sentWays = []way{
	{name: "EOF", phase: pool.PhaseSent, act: cutFIN},
	{name: "EOF without close_notify", phase: pool.PhaseSent, act: cutBare},
	{name: "ECONNRESET", phase: pool.PhaseSent, act: cutRST},
	{name: "a TLS error", phase: pool.PhaseSent, act: cutJunk},
	{name: "a half of a head", phase: pool.PhaseResponse, act: cutHead},
	{name: "the kernel's ETIMEDOUT", phase: pool.PhaseSent, timeout: true, act: cutBare, change: lostWay, is: syscall.ETIMEDOUT},
	{name: "read timeout", phase: pool.PhaseSent, timeout: true, act: never, change: answerLimit},
}

// start makes an origin and a client whose first n attempts fail in this way.
func (w way) start(t *testing.T, p retry.Policy, n int) (*origin, *rig) {
	var names []string
	var acts [][]string
	for range n {
		if w.names != "" {
			names = append(names, w.names)
		}
		if w.act != "" {
			acts = append(acts, []string{w.act})
		}
	}
	return newOrigin(t, true, acts...), newRig(t, p, names, func(r *rig, cfg *pool.Config) {
		if w.socket != nil {
			cfg.Dialer.ControlContext = w.fail(int64(n))
		}
		if w.change != nil {
			w.change(r, cfg)
		}
	})
}

// each runs test for the presets and the verbs. Where each call has to wait for a time limit
// they are few, and all at once.
func (w way) each(presets []string, test func(preset, verb string)) {
	var wg sync.WaitGroup
	for _, preset := range presets {
		if !w.timeout || w.is != nil {
			for _, verb := range verbs {
				test(preset, verb)
			}
			continue
		}
		for _, verb := range []string{"GET", "POST", "DELETE"} {
			wg.Go(func() { test(preset, verb) })
		}
	}
	wg.Wait()
}

// wantError checks what is known of a call's failure.
func (w way) wantError(t *testing.T, what string, err error) {
	t.Helper()
	e, ok := errors.AsType[*pool.Error](err)
	if !ok || e.Phase != w.phase || e.Timeout() != w.timeout {
		t.Errorf("%s: got %v, want a *pool.Error of phase %v, with a timeout: %v", what, err, w.phase, w.timeout)
	}
	if d, ok := errors.AsType[*dialer.Error](err); w.stage != 0 && (!ok || d.Stage != w.stage) {
		t.Errorf("%s: got %v, want stage %v", what, err, w.stage)
	}
	if w.is != nil && !errors.Is(err, w.is) {
		t.Errorf("%s: %v isn't in the chain of %v", what, w.is, err)
	}
}

var errHangs = errors.New("hangs")

// fail makes the first n dials fail in connecting.
func (w way) fail(n int64) func(context.Context, string, string, syscall.RawConn) error {
	if w.socket == syscall.EADDRNOTAVAIL {
		n *= 3 // so often package net tries by itself
	}
	var sockets atomic.Int64
	return func(ctx context.Context, _, _ string, _ syscall.RawConn) error {
		switch {
		case sockets.Add(1) > n:
			return nil
		case w.socket == errHangs:
			<-ctx.Done()
			return ctx.Err()
		}
		return os.NewSyscallError("connect", w.socket)
	}
}

// lostWay makes the ends of all connections be the kernel's word for a peer that was silent for
// too long.
func lostWay(_ *rig, cfg *pool.Config) {
	d := *cfg.Dialer
	cfg.Dialer = nil
	cfg.Base.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := d.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return lostConn{c}, nil
	}
}

type lostConn struct{ net.Conn }

func (c lostConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		err = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ETIMEDOUT)}
	}
	return n, err
}
