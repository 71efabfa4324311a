package h1

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"

	"example.com/connwise/internal/wire"
)

const switching = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n"

func TestSwitchOfProtocols(t *testing.T) {
	for _, early := range []string{"", "early bytes"} {
		r := newRig(t, Options{ReadStall: 1, HeaderTimeout: 1 << 40}) // stalls don't apply
		a := r.start(get(t))
		r.hearsHead()
		r.says(switching + early)
		rw, ok := a.answer(101).Body.(io.ReadWriteCloser)
		if !ok {
			t.Fatalf("Body is %T", a.resp.Body)
		}
		p := make([]byte, 4)
		for want := early; want != ""; {
			n, err := rw.Read(p)
			if string(p[:n]) != want[:n] || err != nil {
				t.Fatalf("Read = %q, %v; want %q", p[:n], err, want)
			}
			want = want[n:]
		}
		r.says("late")
		if _, err := io.ReadFull(rw, p); string(p) != "late" || err != nil {
			t.Fatalf("Read = %q, %v", p, err)
		}
		io.WriteString(rw, "ping")
		r.hears("ping")
		if err := rw.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Errorf("CloseWrite: %v", err)
		}
		r.hearsEnd()
		a.open()
		rw.Close()
		a.wantEnd(wire.EndUpgraded)
		r.wantClosed()
		rw.Close()
		if _, err := rw.Read(p); err != http.ErrBodyReadAfterClose {
			t.Errorf("Read after Close: %v", err)
		}
		if _, err := rw.Write(p); err == nil {
			t.Error("Write after Close succeeded")
		}
	}
}

func TestCancelClosesATunnel(t *testing.T) {
	r := newRig(t, Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	a := r.start(wire.Request{Request: request(t, "GET", nil).WithContext(ctx)})
	r.hearsHead()
	r.says(switching)
	a.answer(101)
	cancel(errOwn)
	a.wantEnd(wire.EndCancelled)
	if _, err := a.resp.Body.Read(make([]byte, 1)); !errors.Is(err, errOwn) {
		t.Errorf("Read: %v", err)
	}
	r.wantClosed()
}

func TestTunnelWithoutCloseWrite(t *testing.T) {
	r := newRig(t, Options{})
	r.c = NewConn(struct{ net.Conn }{r.nc}, &Options{})
	a := r.start(get(t))
	r.hearsHead()
	r.says(switching)
	err := a.answer(101).Body.(interface{ CloseWrite() error }).CloseWrite()
	if !errors.Is(err, http.ErrNotSupported) {
		t.Errorf("CloseWrite: %v", err)
	}
	a.resp.Body.Close()
	a.wantEnd(wire.EndUpgraded)
}

// TestTunnelWritesAfterTheBody: a body that is still on its way goes first.
func TestTunnelWritesAfterTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		pr, pw := io.Pipe()
		a := r.start(post(t, pr))
		r.hearsHead()
		r.says(switching)
		rw := a.answer(101).Body.(io.ReadWriteCloser)
		wrote := make(chan error, 1)
		go func() { _, err := io.WriteString(rw, "tunnel"); wrote <- err }()
		r.silent()
		io.WriteString(pw, "body")
		pw.Close()
		r.hears(chunkOf("body") + "0\r\n\r\n" + "tunnel")
		if err := <-wrote; err != nil {
			t.Error(err)
		}
		rw.Close()
		a.wantEnd(wire.EndUpgraded)
	})
}
