//go:build darwin || dragonfly || linux || netbsd || openbsd

package pool

import (
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
)

// served answers the next request on nc.
func served(t *testing.T, nc net.Conn) {
	t.Helper()
	nc.SetDeadline(time.Now().Add(10 * time.Second))
	p := make([]byte, 4<<10)
	for got := ""; !strings.HasSuffix(got, "\r\n\r\n") && !strings.HasSuffix(got, "payload"); {
		n, err := nc.Read(p)
		if err != nil {
			t.Fatalf("the server has %q, %v", got, err)
		}
		got += string(p[:n])
	}
	io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
}

// hasArrived waits until something has come on an idle connection.
func hasArrived(nc net.Conn) {
	rc, _ := nc.(*net.TCPConn).SyscallConn()
	rc.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK)
		return err != syscall.EAGAIN
	})
}

// A connection on which something came is found dead by the look that goes with the write just
// as by the one before it: the request goes to another one, the server sees it once, and
// everything is counted the same.
func TestLateLook(t *testing.T) {
	var totals [2]Totals
	for i, trace := range []*httptrace.ClientTrace{{}, nil} { // with one, it is looked before
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		tr, _ := New(Config{})
		defer tr.Close()
		trip := func(method, body string) chan error {
			done := make(chan error, 1)
			req, _ := http.NewRequest(method, "http://"+ln.Addr().String()+"/", strings.NewReader(body))
			if trace != nil {
				req = req.WithContext(httptrace.WithClientTrace(req.Context(), trace))
			}
			go func() {
				resp, err := tr.RoundTrip(req)
				if err == nil {
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				done <- err
			}()
			return done
		}
		first := trip("GET", "")
		one, _ := ln.Accept()
		served(t, one)
		if err := <-first; err != nil {
			t.Fatal(err)
		}
		idle := tr.allHosts()[0].idle[0]
		if !idle.late {
			t.Fatal("the connection can't be looked at late")
		}
		io.WriteString(one, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
		hasArrived(idle.nc)
		second := trip("POST", "payload")
		two, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		served(t, two)
		if err := <-second; err != nil {
			t.Errorf("trace %v: %v", trace != nil, err)
		}
		if b, _ := io.ReadAll(one); len(b) > 0 {
			t.Errorf("trace %v: the first connection was given %q", trace != nil, b)
		}
		totals[i] = tr.Stats().Total
		if st := &totals[i]; st.Stale != 1 || st.IdleCloses["408"] != 1 || st.ClosedBy[ReasonUnsolicited] != 1 || st.Sent != 2 || st.Replaced != 0 {
			t.Errorf("trace %v: %+v", trace != nil, *st)
		}
		st := &totals[i] // what is no count
		st.WaitTime, st.WaitTimes, st.DialTimes, st.IdleAges = 0, Histogram{}, Histogram{}, nil
	}
	if !reflect.DeepEqual(totals[0], totals[1]) {
		t.Errorf("looked at before: %+v\nwith the write: %+v", totals[0], totals[1])
	}
}

// Who may meet code of the caller's between the look and the first byte is looked at before.
func TestWhoLooksLate(t *testing.T) {
	hook := func(*http.Request) error { return nil }
	for name, tt := range map[string]struct {
		late bool
		call *call
	}{
		"plain":                {true, &call{}},
		"traced":               {false, &call{trace: &httptrace.ClientTrace{}}},
		"with a streamed body": {false, &call{body: &upload{}}},
		"to be confirmed":      {false, &call{caution: &caution{}}},
		"with a hook":          {false, &call{opts: &options{beforeSend: hook}}},
	} {
		c := tt.call
		c.t = &Transport{set: &settings{}}
		if c.opts == nil {
			c.opts = &noOptions
		}
		if got := c.looksLate(); got != tt.late {
			t.Errorf("%s: %v, want %v", name, got, tt.late)
		}
	}
	closed := &conn{late: true}
	closed.peerClosed.Store(true)
	for name, tt := range map[string]struct {
		late bool
		g    grant
	}{
		"reused":           {true, grant{c: &conn{late: true}, reused: true}},
		"idle, not used":   {true, grant{c: &conn{late: true}, wasIdle: true}},
		"new":              {false, grant{c: &conn{late: true}}},
		"no socket":        {false, grant{c: &conn{}, reused: true}},
		"traced":           {false, grant{c: &conn{late: true, trace: &connTrace{}}, reused: true}},
		"known to be dead": {false, grant{c: closed, reused: true}},
	} {
		if got := tt.g.looksLate(); got != tt.late {
			t.Errorf("%s: %v, want %v", name, got, tt.late)
		}
	}
}
