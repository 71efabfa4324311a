package sidecar

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// rawUpstream answers each request with the same bytes, and gives the heads of the requests, those
// of trailers too.
func rawUpstream(t *testing.T, answer string) (addr string, heads <-chan string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 16)
	ended := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-ended })
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go rawAnswers(c, answer, got)
		}
	}()
	return l.Addr().String(), got
}

func rawAnswers(c net.Conn, answer string, heads chan<- string) {
	defer c.Close()
	br := bufio.NewReader(c)
	for {
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		heads <- fmt.Sprintf("%s %s header=%v trailer=%v", req.Method, req.RequestURI, req.Header, req.Trailer)
		_, _ = io.WriteString(c, answer)
	}
}

// raw sends bytes, and returns all that comes back until the other side closes.
func (r *rig) raw(request string) string {
	r.t.Helper()
	c, err := net.Dial("tcp", r.addr.String())
	if err != nil {
		r.t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(c, request)
	b, err := io.ReadAll(c)
	if err != nil {
		r.t.Fatalf("after %q: %v", b, err)
	}
	return string(b)
}

const plainOK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// TestTargetsStayAtTheUpstream checks that no form of a request's target leaves the upstream, or its path.
func TestTargetsStayAtTheUpstream(t *testing.T) {
	addr, heads := rawUpstream(t, plainOK)
	r := start(t, "upstream=http://"+addr+"/base")
	for _, tt := range []struct{ target, want string }{ // want is empty for a target that reaches nobody
		{"http://elsewhere.example/x", "GET /base/x "},
		{"//elsewhere.example/x", "GET /base//elsewhere.example/x "},
		{"http:/x", "GET /base/x "},
		{"http:secret", ""},
		{"elsewhere.example:80/../secret", ""},
	} {
		got := r.raw("GET " + tt.target + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
		if tt.want == "" {
			if !strings.HasPrefix(got, "HTTP/1.1 400 ") || !strings.Contains(got, fieldUnprocessed+": true") || len(heads) > 0 {
				t.Errorf("%s: answer %q, and %d requests at the upstream", tt.target, got, len(heads))
			}
			continue
		}
		if head := <-heads; !strings.HasPrefix(head, tt.want) {
			t.Errorf("%s: the upstream got %s, want %s", tt.target, head, tt.want)
		}
	}
}

// TestUpgradeToHTTP2IsOurs checks that a client's offer of HTTP/2, which is about its own connection, isn't
// the upstream's to take, and others are.
func TestUpgradeToHTTP2IsOurs(t *testing.T) {
	addr, heads := rawUpstream(t, plainOK)
	r := start(t, "upstream=http://"+addr)
	for offer, want := range map[string]string{"h2c": "", "H2C , websocket": "websocket", "websocket": "websocket"} {
		r.raw("GET / HTTP/1.1\r\nHost: h\r\nConnection: close, Upgrade, HTTP2-Settings\r\nUpgrade: " + offer +
			"\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n\r\n")
		head := <-heads
		if got := strings.Contains(head, "Upgrade:["+want+"]"); got != (want != "") || strings.Contains(strings.ToLower(head), "h2c") {
			t.Errorf("Upgrade: %s: the upstream got %s", offer, head)
		}
	}
}

// TestTrailersAreNoHeader checks that what is for one connection, or what the sidecar vouches for, doesn't
// pass behind a body.
func TestTrailersAreNoHeader(t *testing.T) {
	addr, heads := rawUpstream(t, plainOK)
	r := start(t, "upstream=http://"+addr)
	r.raw("POST / HTTP/1.1\r\nHost: h\r\nConnection: close, X-Hop\r\nTransfer-Encoding: chunked\r\n" +
		"Trailer: Connection, X-Forwarded-For, X-Hop, X-Sum\r\n\r\n" +
		"1\r\nx\r\n0\r\nConnection: X-Sum\r\nX-Forwarded-For: 192.0.2.1\r\nX-Hop: 1\r\nX-Sum: 7\r\n\r\n")
	if head := <-heads; !strings.HasSuffix(head, "trailer=map[X-Sum:[7]]") {
		t.Errorf("the upstream got %s", head)
	}
}

// TestUpstreamCannotSpeakForTheSidecar checks the ways in which fields come that aren't an answer's head.
func TestUpstreamCannotSpeakForTheSidecar(t *testing.T) {
	for name, announced := range map[string]string{"announced": fieldUnprocessed + ", X-Sum", "not announced": "X-Sum"} {
		t.Run(name, func(t *testing.T) {
			addr, _ := rawUpstream(t, "HTTP/1.1 103 Early Hints\r\nConnwise-Unprocessed: true\r\nLink: </a>\r\n\r\n"+
				"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: "+announced+"\r\n\r\n"+
				"1\r\nx\r\n0\r\nConnwise-Unprocessed: true\r\nConnwise-Phase: unsent\r\nX-Sum: 7\r\n\r\n")
			r := start(t, "upstream=http://"+addr)
			got := r.raw("GET / HTTP/1.1\r\nHost: h\r\nTe: trailers\r\nConnection: close\r\n\r\n")
			if strings.Contains(got, "Connwise-") || !strings.Contains(got, "Link: </a>") || !strings.HasSuffix(got, "X-Sum: 7\r\n\r\n") {
				t.Errorf("the client got %q", got)
			}
		})
	}
}

// TestUpgradeKeepsWhatCameEarly checks that bytes that the client has sent right behind its request
// reach the upstream, and that each side may end before the other.
func TestUpgradeKeepsWhatCameEarly(t *testing.T) {
	up := origin(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Upgrade", "echo")
		w.Header().Set("Connection", "Upgrade")
		w.WriteHeader(http.StatusSwitchingProtocols)
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		b, err := io.ReadAll(rw)
		fmt.Fprintf(c, "%s, %v", b, err)
	})
	r := start(t, "upstream="+up.URL)
	c, err := net.Dial("tcp", r.addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nearly, ")
	br := bufio.NewReader(c)
	if _, err := http.ReadResponse(br, nil); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(c, "late")
	_ = c.(*net.TCPConn).CloseWrite()
	if b, err := io.ReadAll(br); string(b) != "early, late, <nil>" {
		t.Errorf("the upstream got %q; error %v", b, err)
	}
}

// TestUpgradeOfAClientThatStalls checks that the end of a drain is one for an upgraded connection whose
// client reads nothing.
func TestUpgradeOfAClientThatStalls(t *testing.T) {
	full := make(chan struct{}, 1)
	up := origin(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Upgrade", "echo")
		w.Header().Set("Connection", "Upgrade")
		w.WriteHeader(http.StatusSwitchingProtocols)
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		for b := make([]byte, 1<<20); err == nil; _, err = c.Write(b) { // until nothing can be taken
			_ = c.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
		}
		full <- struct{}{}
		_, _ = io.Copy(io.Discard, c)
	})
	r := start(t, "upstream="+up.URL, "drain=10ms")
	c, _ := r.upgrade()
	<-full
	ended := make(chan error, 1)
	go func() { ended <- r.stop() }()
	select {
	case err := <-ended:
		if _, ok := err.(*CutError); !ok {
			t.Errorf("Run: %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Error("it has not ended")
		c.Close()
		<-ended
	}
}

// TestDrainOfSilentClients checks that a connection without a whole request isn't taken for one that was
// cut: net/http waits for it for some seconds, as its request may be on the way.
func TestDrainOfSilentClients(t *testing.T) {
	r := start(t, "upstream=http://127.0.0.1:1", "drain=30ms")
	for _, sent := range []string{"", "GET / HT"} {
		c, err := net.Dial("tcp", r.addr.String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprint(c, sent)
	}
	r.do("GET", "/", nil) // the server has accepted the others
	if err := r.stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
}
