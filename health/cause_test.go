//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package health

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/iotest"

	"golang.org/x/sys/unix"
)

const requestTimeout = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n"

// An ending is a way in which a peer ends a connection. notify is CloseWrite of TLS.
type ending struct {
	name          string
	act           func(t *testing.T, w io.Writer, raw *net.TCPConn, notify func())
	plain, secure Cause
}

var endings = []ending{
	{"FIN", func(_ *testing.T, _ io.Writer, raw *net.TCPConn, _ func()) { raw.Close() }, CauseFIN, CauseFIN},
	{"RST", func(t *testing.T, _ io.Writer, raw *net.TCPConn, _ func()) { reset(t, raw) }, CauseReset, CauseReset},
	{"close_notify", func(_ *testing.T, _ io.Writer, _ *net.TCPConn, notify func()) { notify() }, CauseUnknown, CauseCloseNotify},
	{"close_notify and FIN", func(_ *testing.T, _ io.Writer, raw *net.TCPConn, notify func()) {
		notify()
		raw.Close()
	}, CauseFIN, CauseCloseNotify},
	{"surplus", func(t *testing.T, w io.Writer, _ *net.TCPConn, _ func()) { write(t, w, "surplus, a lot of it") }, CauseSurplus, CauseSurplus},
	{"408", func(t *testing.T, w io.Writer, _ *net.TCPConn, _ func()) { write(t, w, requestTimeout) }, CauseRequestTimeout, CauseRequestTimeout},
	{"408 and FIN", func(t *testing.T, w io.Writer, raw *net.TCPConn, notify func()) {
		write(t, w, requestTimeout)
		notify()
		raw.Close()
	}, CauseRequestTimeout, CauseRequestTimeout},
	{"408 and RST", func(t *testing.T, w io.Writer, raw *net.TCPConn, _ func()) {
		write(t, w, requestTimeout)
		reset(t, raw)
	}, CauseRequestTimeout, CauseRequestTimeout},
	{"another status", func(t *testing.T, w io.Writer, _ *net.TCPConn, _ func()) {
		write(t, w, "HTTP/1.1 400 Bad Request\r\n\r\n")
	}, CauseSurplus, CauseSurplus},
}

// wantCause looks more than once where looks may repeat: the cause must stay the same.
func wantCause(t *testing.T, look func() (Verdict, error), want Cause) {
	t.Helper()
	verdict, err := look()
	if verdict != Dead || CauseOf(err) != want {
		t.Fatalf("the look gives %v, %v: %v; want dead: %v", verdict, err, CauseOf(err), want)
	}
	if want == CauseReset {
		return // the kernel tells it once
	}
	if verdict, err = look(); verdict != Dead || CauseOf(err) != want {
		t.Fatalf("the second look gives %v, %v; want dead: %v", verdict, err, want)
	}
}

func TestCauseOfAPlainConnectionsEnd(t *testing.T) {
	for _, e := range endings {
		if e.plain == CauseUnknown {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			client, server := pair(t)
			e.act(t, server, server, func() {})
			awaitEvent(t, client, unix.POLLIN)
			if e.plain != CauseReset {
				wantCause(t, func() (Verdict, error) { return Socket(client) }, e.plain)
			}
			wantCause(t, NewProbe(client).Look, e.plain)
		})
	}
}

func TestCauseOfATLSConnectionsEnd(t *testing.T) {
	for _, e := range endings {
		for name, version := range versions {
			t.Run(e.name+"/"+name, func(t *testing.T) {
				p := newTLSPair(t, version)
				p.wantUsable(t)
				e.act(t, p.server, p.serverRaw.TCPConn, func() { p.server.CloseWrite() })
				awaitEvent(t, p.raw, unix.POLLIN)
				wantCause(t, NewProbe(p.client).Look, e.secure)
				if e.secure == CauseRequestTimeout {
					wantRead(t, iotest.OneByteReader(p.client), requestTimeout)
				}
			})
		}
	}
}

// A wrapper's connection is read from, and its TLS layer too.
func TestCauseThatAVigilFinds(t *testing.T) {
	for _, e := range endings {
		for _, secure := range []bool{false, true} {
			want := e.plain
			if secure {
				want = e.secure
			}
			if want == CauseUnknown {
				continue
			}
			t.Run(fmt.Sprintf("%s/TLS %v", e.name, secure), func(t *testing.T) {
				raw, far := pair(t)
				var client net.Conn = hiddenConn{raw}
				w, notify := io.Writer(far), func() {}
				if secure {
					tc, server := NewTLSClient(client, clientConfig(t)), tls.Server(far, serverConfig(t))
					shake(t, tc, server)
					client, w, notify = tc, server, func() { server.CloseWrite() }
				}
				ended := make(chan error, 1)
				v := NewVigil(client, func(err error) { ended <- err })
				v.Begin()
				e.act(t, w, far, notify)
				if err := <-ended; CauseOf(err) != want {
					t.Fatalf("the vigil ended with %v: %v, want %v", err, CauseOf(err), want)
				}
				if want != CauseReset {
					wantCause(t, v.Look, want)
				}
				if want == CauseRequestTimeout {
					wantRead(t, iotest.OneByteReader(v), requestTimeout)
				}
				if want == CauseCloseNotify || want == CauseFIN {
					if n, err := v.Read(make([]byte, 1)); n != 0 || err != io.EOF {
						t.Errorf("Read gives %d, %v; want io.EOF itself", n, err)
					}
				}
			})
		}
	}
}

// A read loop has only the error of its Read.
func TestCauseOfRead(t *testing.T) {
	for _, e := range endings {
		if e.secure == CauseSurplus || e.secure == CauseRequestTimeout {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			p := newTLSPair(t, tls.VersionTLS13)
			p.wantUsable(t)
			e.act(t, p.server, p.serverRaw.TCPConn, func() { p.server.CloseWrite() })
			_, err := p.client.Read(make([]byte, 1))
			if got := CauseOfRead(p.client, err); got != e.secure {
				t.Errorf("%v is %v, want %v", err, got, e.secure)
			}
		})
	}
	client, server := pair(t)
	server.Close()
	_, err := client.Read(make([]byte, 1))
	if got := CauseOfRead(client, err); got != CauseFIN {
		t.Errorf("%v is %v, want a FIN", err, got)
	}
}

func TestCauseOfAForeignTLSLayersEnd(t *testing.T) {
	client, raw, server := bareTLS(t, tls.VersionTLS13)
	write(t, server, "answer")
	wantRead(t, client, "answer")
	server.CloseWrite()
	awaitEvent(t, raw, unix.POLLIN)
	wantCause(t, NewProbe(client).Look, CauseCloseNotify)
}

func TestCauseOfOtherErrors(t *testing.T) {
	for _, err := range []error{nil, errPending, net.ErrClosed, errStuck, syscall.ETIMEDOUT, errors.New("x")} {
		if got := CauseOf(err); got != CauseUnknown {
			t.Errorf("%v is %v, want unknown", err, got)
		}
	}
	if !errors.Is(errRequestTimeout, ErrSurplus) || !errors.Is(errCloseNotify, io.EOF) {
		t.Error("what a cause is made of doesn't say what it said before")
	}
}

func TestSurplusThatIsA408(t *testing.T) {
	for _, tt := range []struct {
		head string
		want Cause
	}{
		{"HTTP/1.1 408 ", CauseRequestTimeout},
		{"HTTP/1.0 408 ", CauseRequestTimeout},
		{"HTTP/1.0 408", CauseRequestTimeout}, // no more has come
		{"HTTP/1.1 408\r", CauseRequestTimeout},
		{"HTTP/1.1 408\n", CauseRequestTimeout},
		{"HTTP/1.1 4080", CauseSurplus},
		{"HTTP/1.1 40", CauseSurplus},
		{"HTTP/1.1 200 ", CauseSurplus},
		{"HTTP/2.0 408 ", CauseSurplus},
		{"HTTP/1.x 408 ", CauseSurplus},
		{"http/1.1 408 ", CauseSurplus},
		{"\x15\x03\x03", CauseSurplus},
		{"", CauseSurplus},
	} {
		if got := CauseOf(surplus([]byte(tt.head))); got != tt.want {
			t.Errorf("%q is %v, want %v", tt.head, got, tt.want)
		}
	}
}

func TestCauseNames(t *testing.T) {
	got := ""
	for c := range CauseRequestTimeout + 2 {
		got += c.String() + " "
	}
	if want := "unknown fin reset close_notify surplus 408 cause 6 "; got != want {
		t.Errorf("names are %q, want %q", got, want)
	}
}
