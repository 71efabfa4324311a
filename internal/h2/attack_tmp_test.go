package h2

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

func tcpRig(t *testing.T, opt Options) (*Conn, *recorder, net.Conn, *http2.Framer) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	nc, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	peer, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	rec := newRecorder()
	c := NewConn(nc, &opt, rec)
	t.Cleanup(func() { c.Close(); peer.Close(); <-rec.ended })
	io.ReadFull(peer, make([]byte, len(http2.ClientPreface)))
	fr := http2.NewFramer(peer, peer)
	fr.AllowIllegalWrites = true
	return c, rec, peer, fr
}

func TestTmpQuadratic(t *testing.T) {
	for _, f := range []int{16, 64, 256, 1000, 16000} {
		c, rec, peer, fr := tcpRig(t, Options{})
		fr.WriteSettings()
		a := startOn(t, c, get(t))
		for {
			f, err := fr.ReadFrame()
			if err != nil {
				t.Fatal(err)
			}
			if f.Header().Type == http2.FrameHeaders {
				break
			}
		}
		go io.Copy(io.Discard, peer)
		// literal with a 9 MB value
		var b []byte
		b = append(b, 0x00, 1, 'a')
		n := 9 << 20
		b = append(b, 0x7f)
		v := n - 127
		for v >= 128 {
			b = append(b, byte(v)|0x80)
			v >>= 7
		}
		b = append(b, byte(v))
		s := time.Now()
		var out bytes.Buffer
		fw := http2.NewFramer(&out, nil)
		fw.AllowIllegalWrites = true
		fw.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: b})
		piece := bytes.Repeat([]byte{'x'}, f)
		for i := 0; i < n; i += f {
			fw.WriteContinuation(1, false, piece)
		}
		total, err := peer.Write(out.Bytes())
		<-a.ret
		<-rec.ended
		fmt.Println("fragment", f, time.Since(s), total, err, a.err)
	}
}

func TestTmpSettings(t *testing.T) {
	c, rec, peer, fr := tcpRig(t, Options{})
	fr.WriteSettings()
	for range 1000 {
		startOn(t, c, small(t, "x"))
	}
	go io.Copy(io.Discard, peer)
	time.Sleep(500 * time.Millisecond)
	var ss []http2.Setting
	for i := range 2700 {
		ss = append(ss, http2.Setting{ID: http2.SettingInitialWindowSize, Val: uint32(1000 + i)})
	}
	s := time.Now()
	for i := range 10000 {
		if err := fr.WriteSettings(ss...); err != nil {
			fmt.Println(i, err)
			break
		}
	}
	<-rec.ended
	fmt.Println(time.Since(s), rec.ends)
	_ = hpack.HeaderField{}
}
