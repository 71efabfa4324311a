package fakenet

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mustWrite(t *testing.T, c net.Conn, s string) {
	t.Helper()
	if n, err := io.WriteString(c, s); n != len(s) || err != nil {
		t.Fatalf("Write(%q) = %d, %v", s, n, err)
	}
}

func wantRead(t *testing.T, c net.Conn, want string, wantErr error) {
	t.Helper()
	p := make([]byte, 100)
	n, err := c.Read(p)
	if string(p[:n]) != want || !errors.Is(err, wantErr) {
		t.Fatalf("Read = %q, %v; want %q, %v", p[:n], err, want, wantErr)
	}
}

func wantWriteError(t *testing.T, c net.Conn, want error) {
	t.Helper()
	if n, err := io.WriteString(c, "x"); n != 0 || !errors.Is(err, want) {
		t.Fatalf("Write = %d, %v; want 0, %v", n, err, want)
	}
}

func TestBytesWaitUnread(t *testing.T) {
	a, b := Pipe()
	defer a.Close()
	mustWrite(t, a, "one")
	mustWrite(t, a, "two")
	if b.Unread() != 6 {
		t.Errorf("Unread = %d, want 6", b.Unread())
	}
	wantRead(t, b, "onetwo", nil)
	mustWrite(t, b, "three")
	b.Close()
	wantRead(t, a, "three", nil)
	wantRead(t, a, "", io.EOF)
	wantRead(t, a, "", io.EOF)
}

func TestFirstWriteAfterFinIsAcceptedAndSecondFails(t *testing.T) {
	a, b := Pipe()
	b.Close()
	mustWrite(t, a, "late")
	wantWriteError(t, a, syscall.EPIPE)
	wantRead(t, a, "", io.EOF)
	a.Close()
	wantRead(t, a, "", net.ErrClosed)
	wantWriteError(t, a, net.ErrClosed)
	if err := a.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("second Close = %v", err)
	}
}

func TestCloseWithUnreadBytesResets(t *testing.T) {
	a, b := Pipe()
	defer a.Close()
	mustWrite(t, b, "arrived")
	mustWrite(t, a, "unread")
	b.Close()
	wantWriteError(t, a, syscall.EPIPE)
	wantRead(t, a, "arrived", nil)
	wantRead(t, a, "", syscall.ECONNRESET)
	wantRead(t, a, "", io.EOF)
}

func TestReset(t *testing.T) {
	a, b := Pipe()
	defer a.Close()
	b.Reset()
	wantRead(t, a, "", syscall.ECONNRESET)
	wantWriteError(t, a, syscall.EPIPE)
	<-b.Closed()
}

func TestCloseWriteLeavesTheOtherDirection(t *testing.T) {
	a, b := Pipe()
	defer a.Close()
	defer b.Close()
	a.CloseWrite()
	wantRead(t, b, "", io.EOF)
	wantWriteError(t, a, syscall.EPIPE)
	mustWrite(t, b, "x")
	wantRead(t, a, "x", nil)
}

func TestFailWriteAfterIsExact(t *testing.T) {
	fault := errors.New("fault")
	a, b := Pipe()
	defer a.Close()
	defer b.Close()
	a.FailWriteAfter(5, fault)
	mustWrite(t, a, "abc")
	if n, err := io.WriteString(a, "defg"); n != 2 || !errors.Is(err, fault) {
		t.Fatalf("Write = %d, %v; want 2, %v", n, err, fault)
	}
	wantWriteError(t, a, fault)
	wantRead(t, b, "abcde", nil)
}

func TestBlockedCallsTakeFakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe()
		defer b.Close()
		defer a.Close()
		start := time.Now()
		a.SetReadDeadline(start.Add(time.Second))
		wantRead(t, a, "", os.ErrDeadlineExceeded)
		a.SetBuffer(2)
		a.SetWriteDeadline(start.Add(time.Minute))
		if n, err := io.WriteString(a, "abc"); n != 2 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("Write = %d, %v; want 2 and a timeout", n, err)
		}
		if d := time.Since(start); d != time.Minute {
			t.Errorf("took %v, want 1m", d)
		}
		a.SetDeadline(time.Time{})
		time.AfterFunc(time.Hour, func() { wantRead(t, b, "ab", nil) })
		mustWrite(t, a, "d")
		if d := time.Since(start); d != time.Hour+time.Minute {
			t.Errorf("took %v, want 1h1m", d)
		}
	})
}

func TestDeadlinesCanBeIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe()
		a.IgnoreDeadlines()
		a.SetDeadline(time.Now().Add(time.Second))
		time.AfterFunc(time.Minute, func() { b.Close() })
		wantRead(t, a, "", io.EOF)
		a.Close()
	})
}

func TestCloseEndsBlockedCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe()
		defer b.Close()
		a.SetBuffer(1)
		errs := make(chan error, 2)
		go func() { _, err := a.Read(make([]byte, 1)); errs <- err }()
		go func() { _, err := io.WriteString(a, "abc"); errs <- err }()
		synctest.Wait()
		a.Close()
		for range 2 {
			if err := <-errs; !errors.Is(err, net.ErrClosed) {
				t.Errorf("err = %v, want net.ErrClosed", err)
			}
		}
	})
}

func TestListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Listen(1)
		a, err := l.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Dial(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Dial with a full backlog = %v", err)
		}
		b, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		mustWrite(t, a, "hi")
		wantRead(t, b, "hi", nil)
		if a.LocalAddr().String() != b.RemoteAddr().String() {
			t.Error("addresses don't fit")
		}
		l.Close()
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept after Close = %v", err)
		}
		if _, err := l.DialContext(t.Context(), "tcp", "x:80"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("Dial after Close = %v", err)
		}
		a.Close()
		b.Close()
	})
}
