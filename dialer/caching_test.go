package dialer

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// slowNames answers after delay with what is in answer at that time, or fails with err. It
// is for synctest bubbles, and counts.
type slowNames struct {
	delay  time.Duration
	answer string
	err    error

	mu    sync.Mutex // names may be looked up at the same time
	calls int
	last  context.Context
}

func (s *slowNames) LookupHost(ctx context.Context, host string) ([]string, error) {
	s.mu.Lock()
	s.calls++
	s.last = ctx
	s.mu.Unlock()
	select {
	case <-time.After(s.delay):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.err != nil {
		return nil, s.err
	}
	return strings.Fields(s.answer), nil
}

var errNoHost = &net.DNSError{Err: "no such host", Name: "x.test", IsNotFound: true}

// A cacheTest is a bubble with a CachingResolver over slowNames.
type cacheTest struct {
	*testing.T
	*slowNames
	r *CachingResolver
}

func inCache(t *testing.T, r *CachingResolver, f func(*cacheTest)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		names := &slowNames{delay: 10 * time.Millisecond, answer: "10.0.0.1"}
		r.Resolver = names
		f(&cacheTest{t, names, r})
	})
}

// want looks x.test up, and wants this answer after exactly that time.
func (c *cacheTest) want(answer string, after time.Duration) {
	c.Helper()
	start := time.Now()
	got, err := c.r.LookupHost(c.Context(), "x.test")
	took := time.Since(start)
	synctest.Wait() // for a lookup that was given up
	if err != nil || strings.Join(got, " ") != answer || took != after {
		c.Errorf("%v, %v after %v; want %s after %v", got, err, took, answer, after)
	}
}

func (c *cacheTest) wantError(target error, after time.Duration) {
	c.Helper()
	start := time.Now()
	got, err := c.r.LookupHost(c.Context(), "x.test")
	took := time.Since(start)
	synctest.Wait() // for a lookup that was given up
	if !errors.Is(err, target) || got != nil || took != after {
		c.Errorf("%v, %v after %v; want error %v after %v", got, err, took, target, after)
	}
}

func (c *cacheTest) wantCalls(n int) {
	c.Helper()
	if c.calls != n {
		c.Errorf("%d lookups were made, want %d", c.calls, n)
	}
}

func TestCachingTTL(t *testing.T) {
	for _, tt := range []struct{ ttl, want time.Duration }{{0, 10 * time.Second}, {time.Minute, time.Minute}} {
		inCache(t, &CachingResolver{TTL: tt.ttl}, func(c *cacheTest) {
			c.answer = "10.0.0.2 10.0.0.1"
			c.want("10.0.0.2 10.0.0.1", c.delay)
			c.answer = "10.0.0.3"
			time.Sleep(tt.want - time.Nanosecond)
			c.want("10.0.0.2 10.0.0.1", 0)
			time.Sleep(time.Nanosecond)
			c.want("10.0.0.3", c.delay)
			c.wantCalls(2)
		})
	}
	inCache(t, &CachingResolver{TTL: -1}, func(c *cacheTest) {
		c.want("10.0.0.1", c.delay)
		c.want("10.0.0.1", c.delay)
		c.wantCalls(2)
	})
}

func TestCachingSharesLookups(t *testing.T) {
	inCache(t, &CachingResolver{}, func(c *cacheTest) {
		const n = 50
		answers := make(chan []string, n)
		for i := range n {
			go func() {
				host := "x.test"
				if i%2 == 1 {
					host = "X.Test" // names know no case (RFC 4343)
				}
				got, _ := c.r.LookupHost(c.Context(), host)
				answers <- got
			}()
		}
		for range n {
			got := <-answers
			if !slices.Equal(got, []string{"10.0.0.1"}) {
				t.Errorf("the answer is %v", got)
			}
			got[0] = "changed" // it's the caller's own
		}
		c.want("10.0.0.1", 0)
		c.wantCalls(1)
	})
}

// Who leaves gets its context's error at once. The lookup goes on, for others and for later.
func TestCachingOutlivesItsCallers(t *testing.T) {
	inCache(t, &CachingResolver{}, func(c *cacheTest) {
		type key struct{}
		c.delay = time.Second
		ctx, cancel := context.WithTimeout(context.WithValue(c.Context(), key{}, "v"), 100*time.Millisecond)
		defer cancel()
		start := time.Now()
		if _, err := c.r.LookupHost(ctx, "x.test"); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 100*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		c.want("10.0.0.1", 900*time.Millisecond)
		c.wantCalls(1)
		if c.last.Value(key{}) != "v" {
			t.Error("the resolver doesn't see the context's values")
		}
	})
}

func TestCachingBoundsALookup(t *testing.T) {
	for _, tt := range []struct{ timeout, want time.Duration }{{0, 10 * time.Second}, {time.Second, time.Second}} {
		inCache(t, &CachingResolver{Timeout: tt.timeout}, func(c *cacheTest) {
			c.delay = time.Hour
			c.wantError(os.ErrDeadlineExceeded, tt.want)
			c.delay = 0
			c.want("10.0.0.1", 0) // that it took too long isn't remembered
			c.wantCalls(2)
		})
	}
	synctest.Test(t, func(t *testing.T) { // whatever the resolver does
		hang := make(chan struct{})
		defer close(hang)
		r := &CachingResolver{Resolver: resolverFunc(func(context.Context, string) ([]string, error) {
			<-hang
			return nil, nil
		})}
		_, err := r.LookupHost(t.Context(), "x.test")
		if dns, ok := errors.AsType[*net.DNSError](err); !ok || !dns.IsTimeout {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestCachingErrors(t *testing.T) {
	for _, tt := range []struct{ ttl, want time.Duration }{{0, time.Second}, {time.Minute, time.Minute}} {
		inCache(t, &CachingResolver{NegativeTTL: tt.ttl}, func(c *cacheTest) {
			c.err = errNoHost
			c.wantError(errNoHost, c.delay)
			c.err = nil
			time.Sleep(tt.want - time.Nanosecond)
			c.wantError(errNoHost, 0)
			time.Sleep(time.Nanosecond)
			c.want("10.0.0.1", c.delay)
			c.wantCalls(2)
		})
	}
	odd := errors.New("server failure")
	for name, err := range map[string]error{"another error": odd, "NegativeTTL -1": errNoHost} {
		t.Run(name, func(t *testing.T) {
			inCache(t, &CachingResolver{NegativeTTL: -1}, func(c *cacheTest) {
				c.err = err
				c.wantError(err, c.delay)
				c.wantError(err, c.delay)
				c.wantCalls(2)
			})
		})
	}
	inCache(t, &CachingResolver{}, func(c *cacheTest) {
		c.err = odd
		c.wantError(odd, c.delay)
		c.wantError(odd, c.delay)
		c.wantCalls(2)
	})
}
