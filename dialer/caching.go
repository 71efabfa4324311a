package dialer

import (
	"context"
	"errors"
	"net"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/connwise/internal/untrace"
)

// The settings where a CachingResolver's fields are zero.
const (
	// defaultTTL adds little to what an answer has lived already in the caches on the way here,
	// whose rest isn't told: the names of load balancers have 60 s mostly.
	defaultTTL         = 10 * time.Second
	defaultNegativeTTL = time.Second
	defaultMaxEntries  = 1000
	// maxKept bounds the addresses that are kept of one answer. Dials try maxAddrs.
	maxKept = 4 * maxAddrs
	// staleAfter is how long a lookup may take before a stale answer goes before it, if that is
	// allowed. RFC 8767 section 5 has 1.8 s, for resolvers; a dial has less time.
	staleAfter = 500 * time.Millisecond
	// staleRecheck is how long a stale answer is used without another lookup after one failed.
	staleRecheck = time.Second
)

// A CachingResolver is a Resolver that keeps the answers of another one for a short time, and
// has it look up a name once for all who ask for it at the same time. It spares name servers
// where connections to many addresses, or short ones, are dialled all the time; how soon a
// changed answer is followed is then TTL plus pool.Config's MaxConnAge at most. The addresses'
// order is kept.
//
// The zero CachingResolver works. Its fields must not be changed while it is in use, and it
// must not be copied. It may be used by several goroutines. A lookup that nobody waits for any
// more goes on until Timeout, in a goroutine.
type CachingResolver struct {
	// Resolver looks up names. It is called with the values of the context of whoever asked
	// first, without its trace and its end. Nil: net.DefaultResolver.
	Resolver Resolver
	// TTL is how long an answer is used. A resolver of package net doesn't tell the record's own.
	// Zero: 10 s. Negative: answers aren't kept, lookups are still shared.
	TTL time.Duration
	// NegativeTTL is how long it is remembered that there is no such host. Other failures are
	// not remembered. Zero: 1 s. Negative: not at all.
	NegativeTTL time.Duration
	// StaleFor is how much longer than TTL an answer may be used if a lookup fails, but for no
	// such host, or isn't done in half a second. The lookup goes on, and the next one is a
	// second away at least. Zero: not at all.
	StaleFor time.Duration
	// Timeout bounds a lookup, whoever waits for it. Zero: 10 s.
	Timeout time.Duration
	// MaxEntries is how many names are kept, those being looked up included. If it is reached
	// the oldest makes room; lookups beyond it aren't shared. Zero: 1000.
	MaxEntries int

	mu    sync.Mutex // guards names
	names map[string]*cached
}

// A cached is what is known of a name. Guarded by CachingResolver.mu.
type cached struct {
	addrs  []string // the last answer, nil if there was none
	at     time.Time
	err    error // the last lookup's
	failed time.Time
	flight *flight // the lookup under way, nil if there is none
}

// A flight is a lookup. Its results are set before done is closed.
type flight struct {
	began time.Time
	done  chan struct{}
	addrs []string
	err   error
}

// LookupHost returns the addresses of host, of an answer that is no older than TTL. It blocks
// until there is one, or until ctx ends: then the error is ctx's. Others are the Resolver's, or
// after Timeout a *net.DNSError that is a timeout.
func (r *CachingResolver) LookupHost(ctx context.Context, host string) ([]string, error) {
	key := strings.ToLower(host)
	now := time.Now()
	r.mu.Lock()
	c := r.entryLocked(key, now)
	if c == nil {
		r.mu.Unlock()
		return r.resolver().LookupHost(withoutTrace(ctx), host)
	}
	if addrs, err, ok := r.answerLocked(c, now); ok {
		r.mu.Unlock()
		return slices.Clone(addrs), err
	}
	if c.flight == nil {
		c.flight = &flight{began: now, done: make(chan struct{})}
		go r.look(ctx, host, c, c.flight)
	}
	f := c.flight
	var stale []string
	if r.usable(c, now, r.StaleFor) {
		stale = c.addrs
	}
	r.mu.Unlock()
	return f.wait(ctx, stale)
}

// answerLocked is what is known of a name without a lookup.
func (r *CachingResolver) answerLocked(c *cached, now time.Time) (addrs []string, err error, ok bool) {
	recent := c.err != nil && now.Sub(c.failed) < limit(r.NegativeTTL, defaultNegativeTTL)
	switch {
	case r.usable(c, now, 0):
		return c.addrs, nil, true
	case recent && isNotFound(c.err):
		return nil, c.err, true
	case c.err != nil && now.Sub(c.failed) < staleRecheck && r.usable(c, now, r.StaleFor):
		return c.addrs, nil, true
	}
	return nil, nil, false
}

// usable tells whether c has an answer that is older than TTL by less than extra.
func (r *CachingResolver) usable(c *cached, now time.Time, extra time.Duration) bool {
	return len(c.addrs) > 0 && now.Sub(c.at) < limit(r.TTL, defaultTTL)+max(extra, 0)
}

// wait waits for the lookup, with an answer to fall back on if that isn't nil.
func (f *flight) wait(ctx context.Context, stale []string) ([]string, error) {
	var late <-chan time.Time
	if stale != nil {
		t := time.NewTimer(time.Until(f.began.Add(staleAfter)))
		defer t.Stop()
		late = t.C
	}
	select {
	case <-f.done:
	case <-late:
		return slices.Clone(stale), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if f.err != nil && stale != nil && !isNotFound(f.err) {
		return slices.Clone(stale), nil
	}
	return slices.Clone(f.addrs), f.err
}

// look makes the lookup f and notes what it has found.
func (r *CachingResolver) look(ctx context.Context, host string, c *cached, f *flight) {
	ctx = withoutTrace(context.WithoutCancel(ctx))
	inner, cancel := within(ctx, StageResolve, r.timeout())
	defer cancel()
	f.addrs, f.err = await(inner, func() ([]string, error) { return r.resolver().LookupHost(inner, host) }, nil)
	if f.err != nil {
		f.err = asDNSError(host, because(ctx, inner, f.err))
	}
	f.addrs = slices.Clone(f.addrs[:min(len(f.addrs), maxKept)])
	now := time.Now()
	r.mu.Lock()
	c.flight = nil
	if c.err = f.err; f.err == nil {
		c.addrs, c.at = f.addrs, now
	} else if c.failed = now; isNotFound(f.err) {
		c.addrs = nil
	}
	r.mu.Unlock()
	close(f.done)
}

// withoutTrace returns ctx without its trace: whoever dials calls the hooks around LookupHost, and
// the connections to name servers are none of theirs.
func withoutTrace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(untrace.Context(ctx), &httptrace.ClientTrace{DNSStart: func(httptrace.DNSStartInfo) {}})
}

func (r *CachingResolver) resolver() Resolver {
	if r.Resolver == nil {
		return net.DefaultResolver
	}
	return r.Resolver
}

func (r *CachingResolver) timeout() time.Duration {
	if r.Timeout <= 0 {
		return defaultResolveTimeout
	}
	return r.Timeout
}

// entryLocked finds or makes the entry of a name; nil if there is no room.
func (r *CachingResolver) entryLocked(key string, now time.Time) *cached {
	if c := r.names[key]; c != nil {
		return c
	}
	most := r.MaxEntries
	if most <= 0 {
		most = defaultMaxEntries
	}
	if len(r.names) >= most && !r.makeRoomLocked(now) {
		return nil
	}
	if r.names == nil {
		r.names = make(map[string]*cached)
	}
	c := &cached{}
	r.names[key] = c
	return c
}

// makeRoomLocked drops the names of which nothing is known any more, or else the one whose
// knowledge is oldest. It reports whether there is room now.
func (r *CachingResolver) makeRoomLocked(now time.Time) bool {
	oldest, since := "", time.Time{}
	before := len(r.names)
	for key, c := range r.names {
		at := c.at
		if c.failed.After(at) {
			at = c.failed
		}
		_, _, known := r.answerLocked(c, now)
		switch {
		case c.flight != nil:
		case !known && !r.usable(c, now, r.StaleFor):
			delete(r.names, key)
		case oldest == "" || at.Before(since):
			oldest, since = key, at
		}
	}
	if len(r.names) == before && oldest != "" {
		delete(r.names, oldest)
	}
	return len(r.names) < before
}

// isNotFound tells whether an error is an answer: that there is no such host.
func isNotFound(err error) bool {
	dns, ok := errors.AsType[*net.DNSError](err)
	return ok && dns.IsNotFound
}
