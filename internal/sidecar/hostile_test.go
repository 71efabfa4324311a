package sidecar

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
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

// TestAdminKnowsItsName checks that a page of the Web, whose name has been made to mean this machine (DNS
// rebinding), can't read statistics and settings.
func TestAdminKnowsItsName(t *testing.T) {
	for _, tt := range []struct {
		host, anywhere string
		status         int
	}{
		{"", "false", 200}, {"localhost:1", "false", 200}, {"[::1]", "false", 200},
		{"attacker.example", "false", 421}, {"attacker.example:9090", "false", 421}, {"metrics.example", "true", 200},
	} {
		r := start(t, "upstream=http://127.0.0.1:1", "admin=127.0.0.1:0", "listen_anywhere="+tt.anywhere)
		for _, path := range []string{"/", "/-/config"} {
			req, _ := http.NewRequestWithContext(t.Context(), "GET", r.admin+path, nil)
			req.Host = tt.host
			resp, err := newClient(t).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != tt.status {
				t.Errorf("%s at %q, anywhere %s: %s, want %d", path, tt.host, tt.anywhere, resp.Status, tt.status)
			}
		}
	}
}

// TestReloadTellsWhatIsInForce checks that a setting that only a restart changes isn't shown as changed.
func TestReloadTellsWhatIsInForce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "proxy.yml")
	write := func(drain, via string) {
		text := "upstream: http://127.0.0.1:1\nlisten: 127.0.0.1:0\ndrain: " + drain + "\nforward:\n  via: " + via + "\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("7s", "one")
	r := startFrom(t, Source{File: file})
	write("9s", "two")
	if err := r.reload(); err != nil {
		t.Fatal(err)
	}
	if text := r.p.Settings().YAML(); !strings.Contains(text, "drain: 7s\n") || !strings.Contains(text, "via: two\n") {
		t.Errorf("the settings in force are said to be\n%s", text)
	}
	r.log.wait(t, "setting is in force after a restart only")
}

// TestNoLoop refuses an upstream that is the sidecar itself, however it is written.
func TestNoLoop(t *testing.T) {
	for _, tt := range []struct {
		upstream, listen string
		ok               bool
	}{
		{"http://127.0.0.1:8080", "127.0.0.1:8080", false},
		{"http://localhost:8080/x", "127.0.0.1:8080", false},
		{"http://127.0.0.1:8080", "localhost:8080", false},
		{"http://[::1]:8080", "localhost:8080", false},
		{"http://localhost", "127.0.0.1:80", false},
		{"http://127.0.0.3:8080", "0.0.0.0:8080", false},
		{"http://127.0.0.1:8080", ":8080", false},
		{"unix:/run/a.sock", "unix:/run/a.sock", false},
		{"http://127.0.0.2:8080", "127.0.0.1:8080", true},
		{"http://localhost:8081", "127.0.0.1:8080", true},
		{"https://localhost:8080", "127.0.0.1:8080", true}, // it speaks no TLS
		{"http://example:8080", "0.0.0.0:8080", true},
	} {
		_, err := Load(Source{Flags: []Flag{{"upstream", tt.upstream}, {"listen", tt.listen}, {"listen_anywhere", "true"}}})
		if (err == nil) != tt.ok {
			t.Errorf("upstream %s, listen %s: %v", tt.upstream, tt.listen, err)
		}
	}
}
