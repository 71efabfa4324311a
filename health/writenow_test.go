//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package health

import (
	"bytes"
	"crypto/sha256"
	"io"
	"net"
	"testing"
	"time"
)

// lag writes until the socket takes no more, and returns all that was written.
func lag(t *testing.T, c *TLSClient) []byte {
	t.Helper()
	var all []byte
	for i := byte(0); len(all) < 64<<20; i++ {
		p := bytes.Repeat([]byte{i}, 50<<10)
		n, left, err := c.WriteNow(p)
		if n != len(p) || err != nil {
			t.Fatalf("WriteNow = %d, %v", n, err)
		}
		all = append(all, p...)
		if left {
			return all
		}
	}
	t.Fatal("the socket takes everything")
	return nil
}

func flushAll(c *TLSClient) error {
	for {
		if left, err := c.Flush(16 << 10); !left || err != nil {
			return err
		}
	}
}

func TestWriteNowKeepsWhatTheSocketDoesntTake(t *testing.T) {
	for name, version := range versions {
		t.Run(name, func(t *testing.T) {
			p := newTLSPair(t, version)
			all := lag(t, p.client)
			flushed := make(chan error, 1)
			go func() { flushed <- flushAll(p.client) }()
			h := sha256.New()
			if n, err := io.CopyN(h, p.server, int64(len(all))); err != nil {
				t.Fatalf("%d of %d bytes: %v", n, len(all), err)
			}
			if err := <-flushed; err != nil {
				t.Fatal(err)
			}
			if want := sha256.Sum256(all); !bytes.Equal(h.Sum(nil), want[:]) {
				t.Error("the bytes aren't the same")
			}
			if n, left, err := p.client.WriteNow([]byte("after")); n != 5 || left || err != nil {
				t.Fatalf("WriteNow = %d, %v, %v", n, left, err)
			}
			wantRead(t, p.server, "after")
			write(t, p.client, "and Write")
			wantRead(t, p.server, "and Write")
		})
	}
}

// The peer's key update makes the layer answer while records wait: the answer must not
// overtake them.
func TestLayerAnswersBehindWhatIsKept(t *testing.T) {
	p, f := newForgedPair(t)
	all := lag(t, p.client)
	write(t, p.serverRaw, string(f.keyUpdate(true)))
	write(t, p.serverRaw, string(f.record(recordData, []byte("x"))))
	wantRead(t, p.client, "x") // the key update has been answered
	got := make(chan error, 1)
	go func() {
		b := make([]byte, len(all))
		_, err := io.ReadFull(p.server, b)
		if err == nil && !bytes.Equal(b, all) {
			err = io.ErrUnexpectedEOF
		}
		got <- err
	}()
	if err := flushAll(p.client); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.client.WriteNow([]byte("with new keys")); err != nil {
		t.Fatal(err)
	}
	wantRead(t, p.server, "with new keys")
}

func TestWriteNowTellsThatNothingLeft(t *testing.T) {
	p := newTLSPair(t, versions["TLS 1.3"])
	reset(t, p.serverRaw.TCPConn)
	p.client.Read(make([]byte, 1)) // the reset has arrived
	if n, left, err := p.client.WriteNow([]byte("late")); n != 0 || left || err == nil {
		t.Fatalf("WriteNow = %d, %v, %v; want 0 and an error", n, left, err)
	}
}

func TestCloseDoesntWaitForWhatIsKept(t *testing.T) {
	p := newTLSPair(t, versions["TLS 1.3"])
	lag(t, p.client)
	flushed := make(chan error, 1)
	go func() { flushed <- flushAll(p.client) }()
	closed := make(chan struct{})
	go func() {
		p.client.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(3 * time.Second):
		t.Error("Close waits")
	}
	if err := <-flushed; err == nil {
		t.Error("Flush succeeded on a closed connection")
	}
}

func TestWritesNowOnlyOverSockets(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	c := NewTLSClient(a, clientConfig(t))
	if c.WritesNow() {
		t.Error("WritesNow over a pipe")
	}
	if _, ok := c.TrackReads(); ok {
		t.Error("TrackReads over a pipe")
	}
}

func TestTrackReads(t *testing.T) {
	for name, version := range versions {
		t.Run(name, func(t *testing.T) {
			p := newTLSPair(t, version)
			resting, ok := p.client.TrackReads()
			if !ok {
				t.Fatal("reads can't be tracked")
			}
			got, next := make(chan string), make(chan bool)
			go func() {
				for range next {
					b := make([]byte, 10)
					n, _ := p.client.Read(b)
					got <- string(b[:n])
				}
				close(got)
			}()
			for range 3 {
				next <- true
				eventually(t, "Read waits", resting)
				write(t, p.server, "data")
				if s := <-got; s != "data" {
					t.Fatalf("read %q", s)
				}
				if resting() {
					t.Error("resting, though a Read has returned and none waits")
				}
			}
			close(next)
			<-got
		})
	}
}
