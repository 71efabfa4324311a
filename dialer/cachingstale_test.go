package dialer

import (
	"errors"
	"fmt"
	"net"
	"net/http/httptrace"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestCachingStaleAnswers(t *testing.T) {
	const ttl, stale = 10 * time.Second, time.Minute
	odd := errors.New("server failure")
	t.Run("off", func(t *testing.T) {
		inCache(t, &CachingResolver{}, func(c *cacheTest) {
			c.want("10.0.0.1", c.delay)
			time.Sleep(ttl)
			c.err = odd
			c.wantError(odd, c.delay)
		})
	})
	t.Run("failing", func(t *testing.T) {
		inCache(t, &CachingResolver{StaleFor: stale}, func(c *cacheTest) {
			c.want("10.0.0.1", c.delay)
			c.err = odd
			time.Sleep(ttl)
			c.want("10.0.0.1", c.delay)
			c.want("10.0.0.1", 0) // no lookup again so soon
			c.wantCalls(2)
			time.Sleep(staleRecheck)
			c.want("10.0.0.1", c.delay)
			c.wantCalls(3)
			time.Sleep(stale)
			c.wantError(odd, c.delay)
			c.err = nil
			c.want("10.0.0.1", c.delay)
		})
	})
	t.Run("hanging", func(t *testing.T) {
		inCache(t, &CachingResolver{StaleFor: stale}, func(c *cacheTest) {
			c.want("10.0.0.1", c.delay)
			time.Sleep(ttl)
			c.delay = 5 * time.Second
			c.answer = "10.0.0.2"
			c.want("10.0.0.1", staleAfter)
			c.want("10.0.0.1", 0) // the same lookup has had its time
			time.Sleep(c.delay - staleAfter)
			synctest.Wait()
			c.want("10.0.0.2", 0)
			c.wantCalls(2)
		})
	})
	t.Run("no such host any more", func(t *testing.T) {
		inCache(t, &CachingResolver{StaleFor: stale}, func(c *cacheTest) {
			c.want("10.0.0.1", c.delay)
			time.Sleep(ttl)
			c.err = errNoHost
			c.wantError(errNoHost, c.delay)
			c.err = odd
			time.Sleep(time.Second)
			c.wantError(odd, c.delay)
		})
	})
}

func TestCachingIsBounded(t *testing.T) {
	inCache(t, &CachingResolver{MaxEntries: 10, TTL: time.Minute}, func(c *cacheTest) {
		for i := range 100 {
			c.r.LookupHost(c.Context(), fmt.Sprint(i))
		}
		if n := len(c.r.names); n != 10 {
			t.Errorf("%d names are kept", n)
		}
		c.r.LookupHost(c.Context(), "99") // the youngest
		c.wantCalls(100)
		c.r.LookupHost(c.Context(), "89")
		c.wantCalls(101)
		time.Sleep(time.Minute)
		c.want("10.0.0.1", c.delay)
		if n := len(c.r.names); n != 1 {
			t.Errorf("%d names are kept when they are of no use any more", n)
		}
	})
	// Full of lookups: one more is made all the same, for its caller alone.
	inCache(t, &CachingResolver{MaxEntries: 2}, func(c *cacheTest) {
		for i := range 2 {
			go c.r.LookupHost(c.Context(), fmt.Sprint(i))
		}
		synctest.Wait()
		c.want("10.0.0.1", c.delay)
		if len(c.r.names) != 2 {
			t.Errorf("%d names are kept", len(c.r.names))
		}
	})
	inCache(t, &CachingResolver{}, func(c *cacheTest) {
		c.answer = strings.Repeat("10.0.0.1 ", 10000)
		got, _ := c.r.LookupHost(c.Context(), "x.test")
		if len(got) != maxKept {
			t.Errorf("%d addresses are kept of one answer", len(got))
		}
	})
}

// Of a dial's trace the hooks for the lookup are called around it, whether or not there was
// one, and none is called by the resolver's own connections.
func TestCachingTrace(t *testing.T) {
	ns := nameServer(t, "origin.test", [4]byte{127, 0, 0, 1})
	d := &Dialer{Resolver: &CachingResolver{Resolver: ns}}
	var hooks []string
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		DNSStart:     func(i httptrace.DNSStartInfo) { hooks = append(hooks, "start "+i.Host) },
		DNSDone:      func(i httptrace.DNSDoneInfo) { hooks = append(hooks, fmt.Sprint("done ", i.Addrs, i.Err)) },
		ConnectStart: func(_, addr string) { hooks = append(hooks, "connect "+addr) },
	})
	want := []string{}
	for range 2 {
		if _, err := d.resolve(ctx, "tcp", "origin.test:80"); err != nil {
			t.Fatal(err)
		}
		want = append(want, "start origin.test", "done [{127.0.0.1 }] <nil>")
	}
	if !slices.Equal(hooks, want) {
		t.Errorf("the hooks were called: %q", hooks)
	}
}

func TestZeroCachingResolver(t *testing.T) {
	defer func(old *net.Resolver) { net.DefaultResolver = old }(net.DefaultResolver)
	net.DefaultResolver = nameServer(t, "origin.test", [4]byte{127, 0, 0, 1})
	var r CachingResolver
	if got, err := r.LookupHost(t.Context(), "origin.test"); err != nil || !slices.Equal(got, []string{"127.0.0.1"}) {
		t.Errorf("%v, %v", got, err)
	}
}

// That there are no addresses now isn't kept for as long as addresses are.
func TestCachingKeepsNoEmptyAnswer(t *testing.T) {
	inCache(t, &CachingResolver{}, func(c *cacheTest) {
		c.answer = ""
		c.want("", 10*time.Millisecond)
		c.answer = "10.0.0.1"
		c.want("10.0.0.1", 10*time.Millisecond)
		c.want("10.0.0.1", 0)
	})
}
