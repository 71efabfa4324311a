package peer

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// runH2 runs test with an H2Server over plain connections and over TLS.
func runH2(t *testing.T, o H2Options, test func(t *testing.T, s *h2Rig)) {
	for _, name := range []string{"h2c", "h2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, o := &h2Rig{t: t}, o
			if name == "h2" {
				r.authority = newAuthority(t)
				o.TLS = r.authority.serverConfig()
				o.TLS.NextProtos = nil
			}
			s, err := StartH2(o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			r.H2Server = s
			test(t, r)
		})
	}
}

// An h2Rig is a server with the means to call it.
type h2Rig struct {
	*H2Server
	t         *testing.T
	authority *Authority // nil: plain
	lastID    atomic.Int64
}

// client is net/http's.
func (r *h2Rig) client() *http.Client {
	tr := &http.Transport{Protocols: new(http.Protocols)}
	if r.authority == nil {
		tr.Protocols.SetUnencryptedHTTP2(true)
	} else {
		tr.Protocols.SetHTTP1(true)
		tr.Protocols.SetHTTP2(true)
		tr.TLSClientConfig = &tls.Config{RootCAs: r.authority.Roots()}
	}
	r.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience}
}

// call sends a request with the next id and checks that the answer is its own.
func (r *h2Rig) call(c *http.Client, method, body string) (*http.Response, error) {
	url := "http://" + r.Addr()
	if r.authority != nil {
		url = "https://" + r.Addr()
	}
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	id := strconv.FormatInt(r.lastID.Add(1), 10)
	req.Header.Set(HeaderID, id)
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(b))
	if err == nil && (resp.StatusCode != 200 || resp.Header.Get(HeaderID) != id) {
		err = errors.New("answer " + resp.Status + " of request " + resp.Header.Get(HeaderID) + " to request " + id)
	}
	return resp, err
}

// clean checks that the clients kept to the protocol.
func (r *h2Rig) clean() H2Report {
	r.t.Helper()
	rep := r.Report()
	if len(rep.Violations) > 0 {
		r.t.Errorf("violations: %q", rep.Violations)
	}
	return rep
}

// executedOnce checks that ids 1 to n were, and nothing else.
func (r *h2Rig) executedOnce(n uint64) {
	r.t.Helper()
	if got, want := r.Report().Executed, (Executions{{First: 1, N: n, Count: 1}}); !slices.Equal(got, want) {
		r.t.Errorf("executed %v, want %v", got, want)
	}
}

// An h2Hand is one connection to an H2Server, driven frame by frame.
type h2Hand struct {
	t     *testing.T
	raw   *net.TCPConn
	rw    net.Conn
	fr    *http2.Framer
	block bytes.Buffer
	enc   *hpack.Encoder
}

// hand dials and sends the preface and SETTINGS.
func (r *h2Rig) hand() *h2Hand {
	r.t.Helper()
	nc, err := net.Dial("tcp", r.Addr())
	if err != nil {
		r.t.Fatal(err)
	}
	h := &h2Hand{t: r.t, raw: nc.(*net.TCPConn), rw: nc}
	r.t.Cleanup(func() { nc.Close() })
	if r.authority != nil {
		h.rw = tls.Client(nc, &tls.Config{RootCAs: r.authority.Roots(), ServerName: "127.0.0.1", NextProtos: []string{"h2"}})
	}
	nc.SetDeadline(time.Now().Add(patience))
	h.fr = http2.NewFramer(h.rw, h.rw)
	h.fr.AllowIllegalWrites = true
	h.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	h.enc = hpack.NewEncoder(&h.block)
	_, err = io.WriteString(h.rw, http2.ClientPreface)
	h.check(err)
	h.check(h.fr.WriteSettings())
	return h
}

func (h *h2Hand) check(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// headers opens a stream; the request's id is the stream's.
func (h *h2Hand) headers(stream uint32, end bool, more ...string) {
	h.t.Helper()
	h.block.Reset()
	fields := append([]string{
		":method", "POST", ":scheme", "http", ":path", "/", ":authority", "x", "x-request-id", strconv.Itoa(int(stream)),
	}, more...)
	for i := 0; i < len(fields); i += 2 {
		h.check(h.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}))
	}
	h.check(h.fr.WriteHeaders(http2.HeadersFrameParam{
		StreamID: stream, BlockFragment: h.block.Bytes(), EndHeaders: true, EndStream: end,
	}))
}

// want reads on to a frame of that type, and acknowledges SETTINGS and PING on the way.
func (h *h2Hand) want(typ http2.FrameType) *H2Frame {
	h.t.Helper()
	for {
		fr, err := h.fr.ReadFrame()
		if err != nil {
			h.t.Fatalf("waiting for %v: %v", typ, err)
		}
		f := newH2Frame(fr)
		switch {
		case f.Type == http2.FrameSettings && !f.Ack():
			h.check(h.fr.WriteSettingsAck())
		case f.Type == http2.FramePing && !f.Ack():
			h.check(h.fr.WritePing(true, [8]byte(f.Data)))
		}
		if f.Type == typ {
			f.Data = bytes.Clone(f.Data)
			return f
		}
	}
}

// wantEnd reads on to the connection's end.
func (h *h2Hand) wantEnd() {
	h.t.Helper()
	for {
		if _, err := h.fr.ReadFrame(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			h.t.Fatalf("the connection ended with %v", err)
		}
	}
}
