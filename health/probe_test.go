//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package health

import (
	"crypto/tls"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// bareTLS returns a client of crypto/tls itself, as a dial hook may return it.
func bareTLS(t testing.TB, version uint16, change ...func(client, server *tls.Config)) (client *tls.Conn, raw *net.TCPConn, server *tls.Conn) {
	t.Helper()
	raw, serverRaw := pair(t)
	cc, sc := clientConfig(t), serverConfig(t)
	sc.MinVersion, sc.MaxVersion = version, version
	for _, f := range change {
		f(cc, sc)
	}
	client, server = tls.Client(raw, cc), tls.Server(serverRaw, sc)
	shake(t, client, server)
	return client, raw, server
}

func TestProbeOfBareTLS(t *testing.T) {
	for name, version := range versions {
		dataVerdict, dataReason := Dead, ErrSurplus
		if version == tls.VersionTLS13 {
			dataVerdict, dataReason = Unknown, errPending // may be a ticket
		}
		tests := []struct {
			name   string
			act    func(server *tls.Conn)
			want   Verdict
			reason error
		}{
			{"nothing", nil, Alive, nil},
			{"close_notify", func(s *tls.Conn) { s.CloseWrite() }, Dead, errAlert},
			{"FIN", func(s *tls.Conn) { s.NetConn().Close() }, Dead, io.EOF},
			{"data", func(s *tls.Conn) { io.WriteString(s, "surplus") }, dataVerdict, dataReason},
		}
		for _, tt := range tests {
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				client, raw, server := bareTLS(t, version)
				write(t, server, "answer")
				wantRead(t, client, "answer")
				p := NewProbe(client)
				wantLook(t, p.Look, Alive, nil)
				if tt.act != nil {
					tt.act(server)
					awaitEvent(t, raw, unix.POLLIN)
				}
				wantLook(t, p.Look, tt.want, tt.reason)
				wantLook(t, NewProbe(struct{ *tls.Conn }{client}).Look, tt.want, tt.reason)
			})
		}
	}
}

// A reader of errAlert has to see the end of the connection in it.
func TestAlertIsAnEnd(t *testing.T) {
	if !isReason(errAlert, io.EOF) {
		t.Error("errAlert isn't io.EOF")
	}
}

// Tickets that wait are no reason to give up a connection, and stay for the TLS layer.
func TestProbeLeavesTickets(t *testing.T) {
	client, raw, server := bareTLS(t, tls.VersionTLS13, lateTickets)
	awaitEvent(t, raw, unix.POLLIN)
	p := NewProbe(client)
	for range 3 {
		wantLook(t, p.Look, Unknown, errPending)
	}
	write(t, server, "answer")
	wantRead(t, client, "answer")
	wantLook(t, p.Look, Alive, nil)
}

// Behind tickets, an alert is still found, and on Linux a FIN.
func TestProbeSeesTheEndBehindTickets(t *testing.T) {
	t.Run("close_notify", func(t *testing.T) {
		client, raw, server := bareTLS(t, tls.VersionTLS13, lateTickets)
		awaitEvent(t, raw, unix.POLLIN)
		server.CloseWrite()
		eventually(t, "the alert is found", func() bool {
			v, err := NewProbe(client).Look()
			return v == Dead && isReason(err, io.EOF)
		})
	})
	t.Run("FIN", func(t *testing.T) {
		if runtime.GOOS != "linux" {
			t.Skip("needs POLLRDHUP")
		}
		client, raw, server := bareTLS(t, tls.VersionTLS13, lateTickets)
		awaitEvent(t, raw, unix.POLLIN)
		wantLook(t, NewProbe(client).Look, Unknown, errPending)
		server.NetConn().(*net.TCPConn).CloseWrite()
		eventually(t, "the FIN is found", func() bool {
			v, err := NewProbe(client).Look()
			return v == Dead && err == io.EOF
		})
	})
}

// Another TLS stack has no crypto/tls state to ask for its version.
type otherTLS struct{ net.Conn }

func (o otherTLS) Handshake() error  { return nil }
func (o otherTLS) NetConn() net.Conn { return o.Conn }

func TestProbeOfAnotherTLSStack(t *testing.T) {
	client, server := pair(t)
	p := NewProbe(otherTLS{client})
	wantLook(t, p.Look, Alive, nil)
	write(t, server, "\x17\x03\x03\x00\x20")
	awaitEvent(t, client, unix.POLLIN)
	wantLook(t, p.Look, Unknown, errPending)
	server.Close()
	awaitEvent(t, client, unix.POLLIN)
	if runtime.GOOS == "linux" {
		eventually(t, "the FIN is found", func() bool { v, _ := p.Look(); return v == Dead })
	}
}

func TestLookAllocatesNothing(t *testing.T) {
	client, server := pair(t)
	bare, _, bareServer := bareTLS(t, tls.VersionTLS13)
	through := newTLSPair(t, tls.VersionTLS13)
	through.wantUsable(t)
	write(t, bareServer, "answer")
	wantRead(t, bare, "answer")
	dead, deadServer := pair(t)
	deadServer.Close()
	awaitEvent(t, dead, unix.POLLIN)
	tests := []struct {
		name string
		c    net.Conn
	}{
		{"plain", client}, {"plain, other end", server}, {"crypto/tls", bare}, {"TLSClient", through.client}, {"dead", dead},
	}
	for _, tt := range tests {
		p := NewProbe(tt.c)
		p.Look()
		if n := testing.AllocsPerRun(200, func() { p.Look() }); n != 0 {
			t.Errorf("%s: %v allocations per look", tt.name, n)
		}
	}
}

// A look must come back while a Read waits, for the case that someone looks too early.
func TestLookDoesNotWaitForARead(t *testing.T) {
	client, server := pair(t)
	read := make(chan struct{})
	go func() {
		defer close(read)
		client.Read(make([]byte, 1))
	}()
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		NewProbe(client).Look()
	}()
	select {
	case <-looked:
	case <-time.After(patience):
		t.Error("the look waits")
	}
	server.Close()
	<-read
}

func record(typ byte, n int) string {
	return string([]byte{typ, 3, 3, byte(n >> 8), byte(n)}) + string(make([]byte, n))
}

func TestJudgeRecords(t *testing.T) {
	const v12, v13, unknown = tls.VersionTLS12, tls.VersionTLS13, 0
	ticket := record(recordData, 255)
	tests := []struct {
		name    string
		b       string
		version uint16
		want    Verdict
		reason  error
	}{
		{"a byte", "\x17", v13, Unknown, errPending},
		{"a header", "\x17\x03\x03\x00\xff", v13, Unknown, errPending},
		{"header of an alert", "\x15\x03\x03\x00\x1a", v12, Dead, errAlert},
		{"alert", record(recordAlert, 26), v12, Dead, errAlert},
		{"alert of 1.3", record(recordData, 19), v13, Dead, errAlert},
		{"its header", "\x17\x03\x03\x00\x13", v13, Dead, errAlert},
		{"alert's size, version unknown", record(recordData, 19), unknown, Dead, errAlert},
		{"key update", record(recordData, 22), v13, Unknown, errPending},
		{"ticket", ticket, v13, Unknown, errPending},
		{"two tickets", ticket + ticket, v13, Unknown, errPending},
		{"tickets and alert", ticket + ticket + record(recordData, 19), v13, Dead, errAlert},
		{"tickets and plain alert", ticket + record(recordAlert, 2), v13, Dead, errAlert},
		{"data of 1.2", record(recordData, 40), v12, Dead, ErrSurplus},
		{"its header in 1.2", "\x17\x03\x03\x00\x40", v12, Dead, ErrSurplus},
		{"handshake of 1.2", record(22, 40), v12, Unknown, errPending},
		{"handshake and data of 1.2", record(22, 40) + record(recordData, 40), v12, Dead, ErrSurplus},
		{"empty record", record(recordData, 0), v13, Unknown, errPending},
	}
	for _, tt := range tests {
		if v, err := judgeRecords([]byte(tt.b), tt.version); v != tt.want || err != tt.reason {
			t.Errorf("%s: %v, %v; want %v, %v", tt.name, v, err, tt.want, tt.reason)
		}
	}
}

// No bytes that wait can make a connection Alive, and a longer look can only find more.
func FuzzJudgeRecords(f *testing.F) {
	f.Add([]byte(record(recordData, 19)), uint16(tls.VersionTLS13), 3)
	f.Add([]byte(record(22, 4)+record(recordAlert, 2)), uint16(tls.VersionTLS12), 11)
	f.Fuzz(func(t *testing.T, b []byte, version uint16, cut int) {
		v, err := judgeRecords(b, version)
		if v == Alive || err == nil {
			t.Fatalf("%x: %v, %v", b, v, err)
		}
		if cut < 0 || cut > len(b) {
			return
		}
		if part, _ := judgeRecords(b[:cut], version); part == Dead && v != Dead {
			t.Fatalf("%x: %v, but its first %d bytes %v", b, v, cut, part)
		}
	})
}

// However the stream is cut into reads, the tracker knows where a record ends.
func FuzzRecordTracker(f *testing.F) {
	f.Add([]byte(record(recordData, 300)+record(recordAlert, 0)), 1)
	f.Add([]byte(record(recordData, 300)+"\x17\x03"), 7)
	f.Fuzz(func(t *testing.T, b []byte, step int) {
		if step < 1 {
			return
		}
		rest, mid := b, false
		for len(rest) > 0 {
			if mid = len(rest) < recordHeaderLen || len(rest) < recordHeaderLen+int(rest[3])<<8+int(rest[4]); mid {
				break
			}
			rest = rest[recordHeaderLen+int(rest[3])<<8+int(rest[4]):]
		}
		var tr recordTracker
		for p := b; len(p) > 0; p = p[min(step, len(p)):] {
			tr.feed(p[:min(step, len(p))])
		}
		if tr.mid() != mid {
			t.Fatalf("%x in steps of %d: mid is %v, want %v", b, step, tr.mid(), mid)
		}
	})
}
