package dialer

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A socksServer is a scripted SOCKS5 proxy (RFC 1928, RFC 1929).
type socksServer struct {
	user, password string // empty user: no authentication
	reply          byte   // zero: connect to the origin
	origin         string // where to connect, whatever was asked for
	asked          chan string
}

func (s *socksServer) serve(c net.Conn) {
	defer c.Close()
	if !s.greet(c) {
		return
	}
	target, ok := readSocksTarget(c)
	if !ok {
		return
	}
	s.asked <- target
	if s.reply != 0 {
		c.Write([]byte{5, s.reply, 0, 1, 0, 0, 0, 0, 0, 0})
		io.Copy(io.Discard, c) // until the client closes
		return
	}
	up, err := net.Dial("tcp", s.origin)
	if err != nil {
		return
	}
	defer up.Close()
	c.Write([]byte{5, 0, 0, 1, 127, 0, 0, 1, 0, 80})
	splice(c, c, up)
}

// greet agrees on a method, and does what it wants.
func (s *socksServer) greet(c net.Conn) bool {
	methods, ok := readCounted(c, 1)
	if !ok {
		return false
	}
	if s.user == "" {
		c.Write([]byte{5, 0})
		return true
	}
	if !strings.Contains(methods, "\x02") {
		c.Write([]byte{5, 0xff})
		return false
	}
	c.Write([]byte{5, 2})
	user, ok := readCounted(c, 1)
	if !ok {
		return false
	}
	password, ok := readCounted(c, 0)
	if !ok || user != s.user || password != s.password {
		c.Write([]byte{1, 1})
		return false
	}
	c.Write([]byte{1, 0})
	return true
}

// readCounted skips some bytes and reads a string with its length before it.
func readCounted(r io.Reader, skip int) (string, bool) {
	head := make([]byte, skip+1)
	if _, err := io.ReadFull(r, head); err != nil {
		return "", false
	}
	b := make([]byte, head[skip])
	_, err := io.ReadFull(r, b)
	return string(b), err == nil
}

func readSocksTarget(r io.Reader) (string, bool) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(r, head); err != nil {
		return "", false
	}
	var host string
	if head[3] == 3 {
		var ok bool
		if host, ok = readCounted(r, 0); !ok {
			return "", false
		}
	} else {
		ip := make(net.IP, map[byte]int{1: 4, 4: 16}[head[3]])
		io.ReadFull(r, ip)
		host = ip.String()
	}
	var port [2]byte
	_, err := io.ReadFull(r, port[:])
	return net.JoinHostPort(host, strconv.Itoa(int(binary.BigEndian.Uint16(port[:])))), err == nil
}

func TestSOCKS(t *testing.T) {
	plain := newPeer(t, echo)
	secure := newPeer(t, withTLS(serverTLS(t), echo))
	tests := []struct {
		name, scheme, user string
		server             socksServer
		addr               string
		tls                bool
	}{
		{"plain", "socks5", "", socksServer{origin: plain.addr}, "127.0.0.1:80", false},
		{"IPv6", "socks5", "", socksServer{origin: plain.addr}, "[::1]:80", false},
		{"name", "socks5", "", socksServer{origin: plain.addr}, "origin.test:80", false},
		{"name, socks5h", "socks5h", "", socksServer{origin: plain.addr}, "origin.test:80", false},
		{"TLS", "socks5", "", socksServer{origin: secure.addr}, "origin.test:443", true},
		{"password", "socks5", "bob:p%40ss@", socksServer{origin: plain.addr, user: "bob", password: "p@ss"}, "origin.test:80", false},
		{"password not asked for", "socks5", "bob:p%40ss@", socksServer{origin: plain.addr}, "origin.test:80", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.server.asked = make(chan string, 1)
			p := newPeer(t, tt.server.serve)
			// The Dialer's resolver knows no name: the proxy has to resolve.
			d := &Dialer{Resolver: names{}}
			r := Route{Addr: tt.addr, Forward: true, Proxy: proxyURL(t, tt.scheme+"://"+tt.user+p.addr)}
			if tt.tls {
				r.TLS = clientTLS(t)
			}
			l, err := d.Dial(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Conn.Close()
			wantEcho(t, l.Conn)
			if _, ok := l.Conn.(*net.TCPConn); !ok && !tt.tls {
				t.Errorf("the link has a %T", l.Conn)
			}
			if got := <-tt.server.asked; got != tt.addr {
				t.Errorf("the proxy is asked for %s", got)
			}
		})
	}
}

func TestSOCKSRefused(t *testing.T) {
	for _, auth := range []bool{false, true} {
		for reply := byte(1); reply < 10; reply++ {
			s := &socksServer{reply: reply, asked: make(chan string, 1)}
			user := ""
			if auth {
				s.user, s.password, user = "bob", "secret", "bob:secret@"
			}
			p := newPeer(t, s.serve)
			_, err := (&Dialer{}).Dial(t.Context(), Route{Addr: "origin.test:80", Proxy: proxyURL(t, "socks5://"+user+p.addr)})
			wantError(t, err, StageProxy)
			se, ok := errors.AsType[*SOCKSError](err)
			if !ok || se.Reply != reply {
				t.Errorf("reply %d, auth %v: error is %v", reply, auth, err)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("text is %q", err)
			}
			if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op == "proxyconnect" {
				t.Errorf("errors.As finds %v", op)
			}
		}
	}
}

func TestSOCKSThatFails(t *testing.T) {
	closed := make(chan time.Time, 1)
	after := func(answer string) func(net.Conn) {
		return func(c net.Conn) {
			io.WriteString(c, answer)
			silent(closed)(c)
		}
	}
	tests := []struct {
		name, answer string
		timeout      bool
	}{
		{"silence", "", true},
		{"silence after the method", "\x05\x00", true},
		{"half a reply", "\x05\x00\x05\x00", true},
		{"no method", "\x05\xff", false},
		{"other protocol", "HTTP/1.1 400 Bad Request\r\n\r\n", false},
		{"other version in the reply", "\x05\x00\x04\x05\x00\x01", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPeer(t, after(tt.answer))
			start := time.Now()
			_, err := (&Dialer{ProxyTimeout: 300 * time.Millisecond}).Dial(t.Context(), Route{Addr: "origin.test:80", Proxy: proxyURL(t, "socks5://"+p.addr)})
			wantSoon(t, "Dial", start, time.Now(), 2*time.Second)
			e := wantError(t, err, StageProxy)
			if e.Timeout() != tt.timeout || errors.Is(err, os.ErrDeadlineExceeded) != tt.timeout {
				t.Errorf("error %v: Timeout is %v", err, e.Timeout())
			}
			if _, ok := errors.AsType[*SOCKSError](err); ok {
				t.Errorf("error %v has a reply that nobody sent", err)
			}
			wantEvent(t, "the connection to the proxy is closed", closed)
		})
	}
	t.Run("wrong password", func(t *testing.T) {
		s := &socksServer{user: "bob", password: "right", asked: make(chan string, 1)}
		p := newPeer(t, s.serve)
		_, err := (&Dialer{}).Dial(t.Context(), Route{Addr: "origin.test:80", Proxy: proxyURL(t, "socks5://bob:wrong@"+p.addr)})
		wantError(t, err, StageProxy)
		if _, ok := errors.AsType[*SOCKSError](err); ok || strings.Contains(err.Error(), "wrong") {
			t.Errorf("error is %v", err)
		}
	})
}

// A deafConn has no deadlines, as a caller's own connection may not.
type deafConn struct{ net.Conn }

func (deafConn) SetDeadline(time.Time) error      { return nil }
func (deafConn) SetReadDeadline(time.Time) error  { return nil }
func (deafConn) SetWriteDeadline(time.Time) error { return nil }

func TestSOCKSOnAConnectionWithoutDeadlines(t *testing.T) {
	closed := make(chan time.Time, 1)
	p := newPeer(t, silent(closed))
	hook := func(_ context.Context, network, addr string) (net.Conn, error) {
		c, err := net.Dial(network, addr)
		return deafConn{c}, err
	}
	done := make(chan error, 1)
	go func() {
		d := &Dialer{ProxyTimeout: 100 * time.Millisecond}
		_, err := d.Dial(t.Context(), Route{Addr: "origin.test:80", Proxy: proxyURL(t, "socks5://"+p.addr), Connect: hook})
		done <- err
	}()
	if e := wantError(t, wantEvent(t, "Dial returns", done), StageProxy); !e.Timeout() {
		t.Errorf("error is %v", e)
	}
	wantEvent(t, "the connection is closed", closed)
}
