package dialer

import (
	"context"
	"net"
	"syscall"
	"time"
)

// The limits where a Dialer's fields are zero.
const (
	defaultResolveTimeout = 10 * time.Second
	defaultConnectTimeout = 10 * time.Second
	defaultHookTimeout    = 60 * time.Second
	defaultProxyTimeout   = 30 * time.Second
	defaultTLSTimeout     = 10 * time.Second
	defaultFallbackDelay  = 250 * time.Millisecond // RFC 8305 section 8
)

// A Resolver looks up the addresses of a host. *net.Resolver is one. LookupHost returns
// addresses, not names; the first is tried first. A LookupHost that ignores its context
// holds up no dial, but goes on in the background.
type Resolver interface {
	LookupHost(ctx context.Context, host string) (addrs []string, err error)
}

// A Dialer opens connections. The zero Dialer works. Its fields must not be changed while
// it is in use; it may be used by several goroutines, and copied.
//
// The context of a call bounds all stages together. The timeouts bound one stage each, so
// the longest time that a call takes without a context's deadline is the sum of those of its
// stages, with TLSTimeout twice for an https origin behind an https proxy. Of every timeout,
// zero is the default given and a negative value is no limit.
type Dialer struct {
	// Resolver looks up names. Nil: net.DefaultResolver.
	Resolver Resolver
	// ResolveTimeout bounds the lookup of a name. Zero: 10 s.
	ResolveTimeout time.Duration
	// ConnectTimeout bounds connecting, over all addresses of a name. Zero: 10 s; where a
	// hook makes the connection, which has limits of its own, 60 s.
	ConnectTimeout time.Duration
	// ProxyTimeout bounds CONNECT or SOCKS5, in which the proxy itself has to resolve and
	// connect. Zero: 30 s.
	ProxyTimeout time.Duration
	// TLSTimeout bounds one TLS handshake. Zero: 10 s.
	TLSTimeout time.Duration

	// FallbackDelay is how long an address may take before the next one is tried beside
	// it; a failure starts the next at once. It is shortened where there are so many
	// addresses that the last would not get half of the time. Zero or negative: 250 ms.
	FallbackDelay time.Duration

	// Memory is what dials know of addresses from those before: one that has failed is tried
	// last for a while. Nil: each dial begins anew. (pool.New and pool.NewGuard put one in
	// where there is none.) What a hook connects isn't known to it.
	Memory *Memory

	// KeepAlive sets TCP keep-alive probes. Zero: net.Dialer's defaults, on after 15 s.
	// With Enable false and Idle negative: no probes.
	KeepAlive net.KeepAliveConfig
	// UserTimeout is how long a connection lives whose peer is silent while it should
	// acknowledge something: bytes that were sent, or keep-alive probes. Then Read and Write
	// fail with ETIMEDOUT. Without it Linux sends the same bytes again for about 15 minutes.
	// It sets TCP_USER_TIMEOUT, to the millisecond, at most 24 days. Zero: 2 minutes; none if
	// KeepAlive.Enable is set, or if Control has set one. Negative: none.
	//
	// The kernel counts a peer as silent that acknowledges but takes no byte for so long (its
	// window is closed): an upload that a server lets wait for longer ends. And it goes by
	// this time in place of KeepAlive.Count: an idle connection ends with the first probe
	// that is due after it, if one before was not answered.
	//
	// Only Linux has it. Elsewhere the default is left out, and a dial with a value that was
	// asked for fails with errors.ErrUnsupported, so that nobody relies on it in vain.
	UserTimeout time.Duration
	// LocalAddr is the address to connect from. Nil: the kernel chooses.
	LocalAddr net.Addr
	// Control is called on each socket before it connects, as net.Dialer's is.
	Control func(network, address string, c syscall.RawConn) error
	// ControlContext is Control with the call's context; if set, Control is not called.
	ControlContext func(ctx context.Context, network, address string, c syscall.RawConn) error
}

// DialContext resolves addr, which is "host:port" (or a path with the network "unix"), and
// connects to it. network is "tcp", "tcp4", "tcp6" or "unix". The connection is a *Conn; an
// error is an *Error of StageResolve or StageConnect. It blocks until ctx or the limits end,
// and ctx has no effect on the connection afterwards.
func (d *Dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	var took Link
	c, err := d.open(ctx, network, addr, &took)
	if err != nil {
		return nil, err
	}
	d.noteWorked(&took, troubleConnect)
	return newConn(c), nil
}

// open resolves and connects, and notes in l what each took.
func (d *Dialer) open(ctx context.Context, network, addr string, l *Link) (net.Conn, error) {
	if err := ended(ctx); err != nil {
		return nil, &Error{Stage: StageResolve, Addr: addr, Err: err}
	}
	start := time.Now()
	addrs, err := d.resolve(ctx, network, addr)
	l.Resolve = time.Since(start)
	if err != nil {
		return nil, &Error{Stage: StageResolve, Addr: addr, Err: err}
	}
	l.Addrs = len(addrs)
	addrs, all := d.Memory.arrange(addrs, Avoided(ctx))
	if all {
		l.failed = addrs
	}
	start = time.Now()
	r, err := d.connect(ctx, network, addrs)
	l.ConnectTook, l.addr = time.Since(start), r.won
	if err != nil {
		return nil, &Error{Stage: StageConnect, Addr: addr, Tries: r.tries, Err: err}
	}
	return r.winner, nil
}

// connect connects to the first of addrs that answers. The race tells how it went.
func (d *Dialer) connect(ctx context.Context, network string, addrs []string) (*race, error) {
	inner, cancel := within(ctx, StageConnect, limit(d.ConnectTimeout, defaultConnectTimeout))
	defer cancel()
	r := d.race(inner, network, addrs)
	d.Memory.noteTries(r.tries, r.turn)
	if r.winner == nil {
		return r, because(ctx, inner, mainError(r.tries))
	}
	if err := d.limitSilence(r.winner); err != nil {
		r.winner.Close()
		return &race{}, err
	}
	return r, nil
}

func (d *Dialer) netDialer() *net.Dialer {
	nd := &net.Dialer{
		LocalAddr:       d.LocalAddr,
		Control:         d.Control,
		ControlContext:  d.ControlContext,
		KeepAliveConfig: d.KeepAlive,
	}
	if !d.KeepAlive.Enable && d.KeepAlive.Idle < 0 {
		nd.KeepAlive = -1
	}
	return nd
}
