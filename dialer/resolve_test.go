package dialer

import (
	"context"
	"errors"
	"net"
	"net/http/httptrace"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

func TestResolve(t *testing.T) {
	d := &Dialer{Resolver: names{
		"two.test":     {"10.0.0.1", "::1", "10.0.0.2"},
		"mapped.test":  {"::ffff:10.0.0.1"},
		"garbage.test": {"not an address", "10.0.0.1"},
	}}
	tests := []struct {
		network, addr string
		want          []string
	}{
		{"tcp", "two.test:80", []string{"10.0.0.1:80", "[::1]:80", "10.0.0.2:80"}},
		{"tcp4", "two.test:80", []string{"10.0.0.1:80", "10.0.0.2:80"}},
		{"tcp6", "two.test:80", []string{"[::1]:80"}},
		{"tcp", "mapped.test:80", []string{"10.0.0.1:80"}},
		{"tcp", "garbage.test:80", []string{"10.0.0.1:80"}},
		// Nothing to look up.
		{"tcp", "10.0.0.9:80", []string{"10.0.0.9:80"}},
		{"tcp", "[fe80::1%lo]:80", []string{"[fe80::1%lo]:80"}},
		{"tcp", ":80", []string{":80"}},
		{"unix", "/run/x:y", []string{"/run/x:y"}},
	}
	for _, tt := range tests {
		if got, err := d.resolve(t.Context(), tt.network, tt.addr); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s %s: %v, %v; want %v", tt.network, tt.addr, got, err, tt.want)
		}
	}
}

func TestResolveFailures(t *testing.T) {
	odd := errors.New("the directory is on fire")
	d := &Dialer{Resolver: resolverFunc(func(ctx context.Context, host string) ([]string, error) {
		switch host {
		case "none.test":
			return nil, nil
		case "v4.test":
			return []string{"10.0.0.1"}, nil
		case "odd.test":
			return nil, odd
		}
		return names{}.LookupHost(ctx, host)
	})}
	tests := []struct {
		network, addr string
		cause         error
		notFound      bool
	}{
		{"tcp", "nowhere.test:80", nil, true},
		{"tcp", "none.test:80", nil, true},
		{"tcp6", "v4.test:80", nil, true},
		{"tcp", "odd.test:80", odd, false},
	}
	for _, tt := range tests {
		_, err := d.DialContext(t.Context(), tt.network, tt.addr)
		e := wantError(t, err, StageResolve)
		dns, ok := errors.AsType[*net.DNSError](err)
		if !ok || dns.IsNotFound != tt.notFound || tt.cause != nil && !errors.Is(err, tt.cause) {
			t.Errorf("%s: error is %v", tt.addr, err)
		}
		if e.Addr != tt.addr || len(e.Tries) != 0 || e.Timeout() {
			t.Errorf("%s: facts are %+v", tt.addr, e)
		}
	}
	for _, addr := range []string{"noport", "a:b:c"} {
		_, err := d.DialContext(t.Context(), "tcp", addr)
		wantError(t, err, StageResolve)
	}
	_, err := d.DialContext(t.Context(), "udp", "127.0.0.1:1")
	wantError(t, err, StageResolve)
	if _, ok := errors.AsType[net.UnknownNetworkError](err); !ok {
		t.Errorf("for udp the error is %v", err)
	}
}

// nameServer is a resolver of package net whose name server knows one host.
func nameServer(t *testing.T, host string, ip [4]byte) *net.Resolver {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() {
		pc.Close()
		<-done
	})
	go func() {
		defer close(done)
		for buf := make([]byte, 512); ; {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			pc.WriteTo(answerName(buf[:n], host, ip), from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
}

func answerName(query []byte, host string, ip [4]byte) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	m.Response, m.Additionals = true, nil
	switch {
	case q.Name.String() != host+".":
		m.RCode = dnsmessage.RCodeNameError
	case q.Type == dnsmessage.TypeA:
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 1},
			Body:   &dnsmessage.AResource{A: ip},
		}}
	}
	b, _ := m.Pack()
	return b
}

// With package net's resolver, as DefaultResolver or as the Resolver, a trace's hooks are
// called by package net.
func TestResolveByPackageNet(t *testing.T) {
	r := nameServer(t, "origin.test", [4]byte{127, 0, 0, 1})
	defer func(old *net.Resolver) { net.DefaultResolver = old }(net.DefaultResolver)
	net.DefaultResolver = r
	p := newPeer(t, echo)
	for name, resolver := range map[string]Resolver{"nil": nil, "*net.Resolver": r} {
		t.Run(name, func(t *testing.T) {
			var started atomic.Int32
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
				DNSStart: func(httptrace.DNSStartInfo) { started.Add(1) },
			})
			d := &Dialer{Resolver: resolver}
			c, err := d.DialContext(ctx, "tcp", "origin.test:"+portOf(t, p.addr))
			if err != nil {
				t.Fatal(err)
			}
			c.Close()
			if n := started.Load(); n != 1 {
				t.Errorf("DNSStart is called %d times", n)
			}
			_, err = d.DialContext(ctx, "tcp", "other.test:80")
			wantError(t, err, StageResolve)
			if dns, ok := errors.AsType[*net.DNSError](err); !ok || !dns.IsNotFound {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestResolverThatHangs(t *testing.T) {
	cause := errors.New("the caller has gone")
	tests := []struct {
		name    string
		d       Dialer
		ctx     func(context.Context) (context.Context, context.CancelFunc)
		want    time.Duration
		reason  error
		timeout bool
	}{
		{"default limit", Dialer{}, plain, 10 * time.Second, os.ErrDeadlineExceeded, true},
		{"limit", Dialer{ResolveTimeout: time.Second}, plain, time.Second, os.ErrDeadlineExceeded, true},
		{"deadline", Dialer{}, func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 2*time.Second)
		}, 2 * time.Second, context.DeadlineExceeded, true},
		{"deadline, no limit", Dialer{ResolveTimeout: -1}, func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Hour)
		}, time.Hour, context.DeadlineExceeded, true},
		{"cause", Dialer{}, func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(3*time.Second, func() { cancel(cause) })
			return ctx, func() { cancel(nil) }
		}, 3 * time.Second, cause, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hang := make(chan struct{})
				defer close(hang)
				d := tt.d
				d.Resolver = resolverFunc(func(context.Context, string) ([]string, error) {
					<-hang // whatever its context says
					return nil, nil
				})
				ctx, cancel := tt.ctx(t.Context())
				defer cancel()
				start := time.Now()
				_, err := d.DialContext(ctx, "tcp", "slow.test:80")
				if took := time.Since(start); took != tt.want {
					t.Errorf("it took %v, want %v", took, tt.want)
				}
				e := wantError(t, err, StageResolve)
				if !errors.Is(err, tt.reason) || e.Timeout() != tt.timeout {
					t.Errorf("error is %v, a timeout: %v", err, e.Timeout())
				}
				if _, ok := errors.AsType[*net.DNSError](err); !ok {
					t.Errorf("error %v has no *net.DNSError", err)
				}
				if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
					t.Errorf("error %v isn't the context's", err)
				}
			})
		})
	}
}

func plain(ctx context.Context) (context.Context, context.CancelFunc) { return ctx, func() {} }

// A trace sees the lookup of any resolver, once.
func TestResolveTrace(t *testing.T) {
	var started []string
	var done []httptrace.DNSDoneInfo
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		DNSStart: func(i httptrace.DNSStartInfo) { started = append(started, i.Host) },
		DNSDone:  func(i httptrace.DNSDoneInfo) { done = append(done, i) },
	})
	d := &Dialer{Resolver: names{"a.test": {"10.0.0.1"}}}
	if _, err := d.resolve(ctx, "tcp", "a.test:80"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.resolve(ctx, "tcp", "10.0.0.1:80"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.resolve(ctx, "tcp", "b.test:80"); err == nil {
		t.Fatal("b.test is found")
	}
	if !slices.Equal(started, []string{"a.test", "b.test"}) || len(done) != 2 {
		t.Fatalf("hooks: %v, %v", started, done)
	}
	if done[0].Err != nil || len(done[0].Addrs) != 1 || done[0].Addrs[0].String() != "10.0.0.1" || done[1].Err == nil {
		t.Errorf("DNSDone got %+v", done)
	}
}
