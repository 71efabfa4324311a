package dialer

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestErrorText(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	tests := []struct {
		err  error
		want string
	}{
		{&Error{Stage: StageConnect, Addr: "h:1", Err: refused}, "dialer: connect h:1: dial tcp: connect: connection refused"},
		{&Error{Stage: StageConnect, Addr: "h:1", Err: refused, Tries: make([]Try, 3)}, "dialer: connect h:1: dial tcp: connect: connection refused (3 addresses tried)"},
		{&Error{Stage: StageTLS, Addr: "h:1"}, "dialer: tls h:1"},
		{&Error{Stage: StageProxy, Addr: "h:1", Err: &ProxyError{Status: 407, StatusText: "Who Are You"}}, "dialer: proxy h:1: the proxy refused CONNECT: 407 Who Are You"},
		{&ProxyError{Status: 503}, "the proxy refused CONNECT: 503 Service Unavailable"},
		{&ProxyError{Status: 599}, "the proxy refused CONNECT: 599 "},
		{&ProxyError{Status: 403, StatusText: "a\x1b[2Jb\rc"}, "the proxy refused CONNECT: 403 a [2Jb c"},
		{&limitError{StageTLS, 1500 * time.Millisecond}, "TLS handshake timeout: not done within 1.5s"},
	}
	for _, tt := range tests {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("text is %q, want %q", got, tt.want)
		}
	}
	long := &ProxyError{Status: 403, StatusText: strings.Repeat("x", 1<<20)}
	if n := len(long.Error()); n > 300 {
		t.Errorf("a proxy makes a text of %d bytes", n)
	}
}

func TestStageString(t *testing.T) {
	want := map[Stage]string{0: "stage 0", StageResolve: "resolve", StageConnect: "connect", StageProxy: "proxy", StageTLS: "tls", 9: "stage 9"}
	for s, name := range want {
		if s.String() != name {
			t.Errorf("%d is %q, want %q", s, s, name)
		}
	}
}

func TestErrorTimeout(t *testing.T) {
	tests := []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("x"), false},
		{syscall.ECONNREFUSED, false},
		{syscall.ETIMEDOUT, true},
		{&limitError{}, true},
		{&endedError{context.DeadlineExceeded, context.DeadlineExceeded}, true},
		{&endedError{context.DeadlineExceeded, errors.New("enough")}, true},
		{&endedError{context.Canceled, context.Canceled}, false},
		{&endedError{context.Canceled, &limitError{}}, true},
		{&net.OpError{Op: "proxyconnect", Err: &limitError{}}, true},
		{&net.OpError{Op: "proxyconnect", Err: &endedError{context.Canceled, context.Canceled}}, false},
		{&net.DNSError{IsTimeout: true}, true},
	}
	for _, tt := range tests {
		var err net.Error = &Error{Err: tt.err}
		if err.Timeout() != tt.want {
			t.Errorf("Timeout with %v is %v", tt.err, err.Timeout())
		}
	}
}

// The caller's limit and ours must not be taken for each other.
func TestLimitIsNoContextError(t *testing.T) {
	err := error(&Error{Err: &limitError{}})
	if !errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		t.Error("a limit is os.ErrDeadlineExceeded and not context.DeadlineExceeded")
	}
}

func TestLimit(t *testing.T) {
	for _, tt := range []struct{ d, want time.Duration }{{0, 7}, {-1, 0}, {3, 3}} {
		if got := limit(tt.d, 7); got != tt.want {
			t.Errorf("limit(%d, 7) = %d, want %d", tt.d, got, tt.want)
		}
	}
}
