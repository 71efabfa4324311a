package dialer

import (
	"context"
	"errors"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// closeCounter counts the first Close.
type closeCounter struct {
	net.Conn
	closed *atomic.Int32
}

func (c closeCounter) Close() error {
	c.closed.Add(1)
	return nil
}

// A hook that looks at nothing but its own clock.
func TestHookThatIgnoresItsContext(t *testing.T) {
	tests := []struct {
		name   string
		d      Dialer
		cancel time.Duration // zero: never
		want   time.Duration
		reason error
	}{
		{"default limit", Dialer{}, 0, 60 * time.Second, os.ErrDeadlineExceeded},
		{"limit", Dialer{ConnectTimeout: 3 * time.Second}, 0, 3 * time.Second, os.ErrDeadlineExceeded},
		{"cancelled", Dialer{}, time.Second, time.Second, context.Canceled},
		{"cancelled without limit", Dialer{ConnectTimeout: -1}, time.Minute, time.Minute, context.Canceled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var closed atomic.Int32
				hook := func(context.Context, string, string) (net.Conn, error) {
					time.Sleep(time.Hour)
					return closeCounter{closed: &closed}, nil
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.cancel > 0 {
					time.AfterFunc(tt.cancel, cancel)
				}
				start := time.Now()
				_, err := tt.d.Dial(ctx, Route{Addr: "origin.test:80", Connect: hook})
				if took := time.Since(start); took != tt.want+hookLinger {
					t.Errorf("Dial took %v, want %v", took, tt.want+hookLinger)
				}
				wantError(t, err, StageConnect)
				if !errors.Is(err, tt.reason) {
					t.Errorf("error is %v", err)
				}
				time.Sleep(2 * time.Hour)
				synctest.Wait()
				if closed.Load() != 1 {
					t.Errorf("the late connection was closed %d times", closed.Load())
				}
			})
		})
	}
}

func TestHookGetsTheContextAndTheAddress(t *testing.T) {
	type key struct{}
	client, server := net.Pipe()
	defer server.Close()
	hook := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if _, ok := ctx.Deadline(); !ok || ctx.Value(key{}) != "mine" {
			t.Errorf("the hook's context has no deadline or value")
		}
		if network != "tcp" || addr != "origin.test:80" {
			t.Errorf("the hook is asked for %s %s", network, addr)
		}
		return client, nil
	}
	l, err := (&Dialer{}).Dial(context.WithValue(t.Context(), key{}, "mine"), Route{Addr: "origin.test:80", Connect: hook})
	if err != nil || l.Conn != client || l.Resolve != 0 {
		t.Fatalf("the link is %+v, %v", l, err)
	}
	l.Conn.Close()
}

func TestHookErrors(t *testing.T) {
	odd := errors.New("no way")
	refused := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	dns := &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "x"}}
	alert := &net.OpError{Op: "remote error", Err: odd}
	own := &Error{Stage: StageResolve, Addr: "x:1", Tries: []Try{{Addr: "y"}}, Err: odd}
	tests := []struct {
		name  string
		err   error
		stage Stage
	}{
		{"any", odd, StageConnect},
		{"refused", refused, StageConnect},
		{"DNS", dns, StageResolve},
		{"TLS alert", alert, StageTLS},
		{"ours", own, StageResolve},
		{"nothing at all", nil, StageConnect},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			hook := func(context.Context, string, string) (net.Conn, error) { return nil, tt.err }
			_, err := (&Dialer{}).Dial(t.Context(), Route{Addr: "origin.test:80", Connect: hook})
			e := wantError(t, err, tt.stage)
			switch {
			case tt.err == nil && !errors.Is(err, errNilConn):
				t.Errorf("error is %v", err)
			case tt.err == own && (len(e.Tries) != 1 || e.Err != odd):
				t.Errorf("error is %+v", e)
			case tt.err != nil && tt.err != own && !errors.Is(err, tt.err):
				t.Errorf("error is %v", err)
			}
		})
	}
}

// Our own DialContext as the hook, as people will set it in an http.Transport.
func TestOwnDialerAsHook(t *testing.T) {
	var d Dialer
	inner := &Dialer{Resolver: names{}}
	_, err := d.Dial(t.Context(), Route{Addr: "origin.test:80", Connect: inner.DialContext})
	wantError(t, err, StageResolve)
	p := newPeer(t, withTLS(serverTLS(t), echo))
	l, err := d.Dial(t.Context(), Route{Addr: p.addr, TLS: clientTLS(t), Connect: d.DialContext})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Conn.Close()
	wantEcho(t, l.Conn)
}

// Nobody else could recover from a hook's panic: it runs in a goroutine of the dialer's.
func TestHookThatDoesNotReturn(t *testing.T) {
	own := errors.New("own")
	tests := []struct {
		name string
		hook func()
		own  bool
	}{
		{"panic with an error", func() { panic(own) }, true},
		{"panic with a text", func() { panic("text") }, false},
		{"panic with nil", func() { panic(nil) }, false},
		{"end of its goroutine", runtime.Goexit, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			hook := func(context.Context, string, string) (net.Conn, error) { tt.hook(); return nil, nil }
			_, err := new(Dialer).Dial(t.Context(), Route{Addr: "origin.test:80", Connect: hook})
			wantError(t, err, StageConnect)
			if _, ok := errors.AsType[*HookError](err); !ok || errors.Is(err, own) != tt.own {
				t.Errorf("error is %v", err)
			}
		})
	}
}
