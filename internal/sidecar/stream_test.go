package sidecar

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestEventsStream checks that each part of an answer arrives before the next one is made.
func TestEventsStream(t *testing.T) {
	next := make(chan struct{})
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/sized" {
			w.Header().Set("Content-Length", "6")
		} else {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		for i := range 3 {
			fmt.Fprintf(w, "%d\n", i)
			_ = http.NewResponseController(w).Flush()
			<-next
		}
	})
	r := start(t, "upstream="+up.URL)
	for _, path := range []string{"/", "/sized"} {
		resp, err := newClient(t).Get(r.url + path)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(resp.Body)
		for i := range 3 {
			if !lines.Scan() || lines.Text() != fmt.Sprint(i) {
				t.Fatalf("%s: part %d is %q, error %v", path, i, lines.Text(), lines.Err())
			}
			next <- struct{}{}
		}
		resp.Body.Close()
	}
}

// TestBothDirectionsAtOnce has a client that waits for an answer's part before it sends the next of its
// request, over HTTP/1.1 and HTTP/2.
func TestBothDirectionsAtOnce(t *testing.T) {
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		_ = c.EnableFullDuplex()
		w.WriteHeader(200)
		_ = c.Flush()
		lines := bufio.NewScanner(r.Body)
		for lines.Scan() {
			fmt.Fprintf(w, "echo %s\n", lines.Text())
			_ = c.Flush()
		}
	})
	r := start(t, "upstream="+up.URL, "replay.wait=20ms")
	for _, h2 := range []bool{false, true} {
		client := newClient(t)
		if h2 {
			client.Transport.(*http.Transport).Protocols = onlyH2C()
		}
		pr, pw := io.Pipe()
		req, _ := http.NewRequestWithContext(t.Context(), "POST", r.url, pr)
		go func() { _, _ = io.WriteString(pw, "0\n") }()
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(resp.Body)
		for i := range 5 {
			if !lines.Scan() || lines.Text() != fmt.Sprint("echo ", i) {
				t.Fatalf("HTTP/2 %v: part %d is %q, error %v", h2, i, lines.Text(), lines.Err())
			}
			if i < 4 {
				fmt.Fprintln(pw, i+1)
			}
			if used := r.p.replay.used.Load(); i > 1 && used != 0 {
				t.Errorf("%d bytes of replay memory are taken for what is gone", used)
			}
		}
		pw.Close()
		if lines.Scan() || lines.Err() != nil {
			t.Errorf("HTTP/2 %v: after the end: %q, %v", h2, lines.Text(), lines.Err())
		}
		resp.Body.Close()
	}
}

// TestEarlyAnswer has an upstream that answers without reading: the client has the answer while it is
// still sending, and the handler ends.
func TestEarlyAnswer(t *testing.T) {
	up := origin(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	})
	for _, head := range []string{"Content-Length: 1000000\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"} {
		r := start(t, "upstream="+up.URL, "replay.wait=10ms")
		c, err := net.Dial("tcp", r.addr.String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: h\r\n%s", head)
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		br := bufio.NewReader(c)
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("status %s", resp.Status)
		}
		// The client sends no more, and stays: nobody waits for the rest of its body.
		if _, err := br.ReadByte(); err != io.EOF {
			t.Errorf("behind the answer: %v, want the connection's end", err)
		}
		if err := r.p.idle(t.Context()); err != nil {
			t.Error(err)
		}
		c.Close()
	}
}

// upgrader is an upstream that echoes lines after an upgrade.
func upgrader(t *testing.T) string {
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "echo" || r.Header.Get("Connection") != "Upgrade" {
			http.Error(w, "no upgrade", http.StatusBadRequest)
			return
		}
		w.Header().Set("Upgrade", "echo")
		w.Header().Set("Connection", "Upgrade")
		w.WriteHeader(http.StatusSwitchingProtocols)
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		_, _ = io.Copy(c, rw)
	})
	return up.URL
}

// upgrade opens an upgraded connection through the sidecar.
func (r *rig) upgrade() (net.Conn, *bufio.Reader) {
	r.t.Helper()
	c, err := net.Dial("tcp", r.addr.String())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprint(c, "GET /chat HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, Upgrade\r\nUpgrade: echo\r\n\r\n")
	br := bufio.NewReader(c)
	resp, err := http.ReadResponse(br, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("Upgrade") != "echo" {
		r.t.Fatalf("answer %s, %v", resp.Status, resp.Header)
	}
	return c, br
}

// TestUpgrade talks over an upgraded connection, which a drain waits for.
func TestUpgrade(t *testing.T) {
	r := start(t, "upstream="+upgrader(t), "log.requests=true")
	c, br := r.upgrade()
	for i := range 3 {
		if i == 2 {
			r.end()
			r.log.wait(t, "draining")
		}
		fmt.Fprintln(c, i)
		if line, err := br.ReadString('\n'); line != fmt.Sprintln(i) {
			t.Fatalf("echo %q, error %v", line, err)
		}
	}
	_ = c.(*net.TCPConn).CloseWrite()
	if _, err := br.ReadByte(); err != io.EOF {
		t.Errorf("at its end: %v", err)
	}
	if err := r.stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	if !strings.Contains(r.log.String(), "path=/chat proto=HTTP/1.1 status=101") {
		t.Error("the log has no line for it")
	}
}

// TestUpgradeIsCut at the end of a drain.
func TestUpgradeIsCut(t *testing.T) {
	r := start(t, "upstream="+upgrader(t), "drain=30ms")
	_, br := r.upgrade()
	if err, ok := r.stop().(*CutError); !ok || err.Requests != 1 {
		t.Errorf("Run: %v", err)
	}
	if _, err := br.ReadByte(); err == nil {
		t.Error("the connection is open")
	}
}

func TestInterimAnswersPass(t *testing.T) {
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</a.css>")
		w.WriteHeader(http.StatusEarlyHints)
	})
	r := start(t, "upstream="+up.URL)
	var hints []string
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
		hints = append(hints, fmt.Sprint(code, h.Get("Link")))
		return nil
	}})
	req, _ := http.NewRequestWithContext(ctx, "GET", r.url, nil)
	resp, err := newClient(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if fmt.Sprint(hints) != "[103</a.css>]" {
		t.Errorf("hints %v", hints)
	}
}

// TestExpectationIsTheUpstreams checks that a body isn't asked for before the upstream has asked for it.
func TestExpectationIsTheUpstreams(t *testing.T) {
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Expect") != "100-continue" {
			t.Errorf("Expect is %q", r.Header.Get("Expect"))
		}
		if r.URL.Path == "/no" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		b, _ := io.ReadAll(r.Body)
		_, _ = w.Write(b)
	})
	r := start(t, "upstream="+up.URL)
	for _, path := range []string{"/no", "/yes"} {
		c, err := net.Dial("tcp", r.addr.String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n", path)
		br := bufio.NewReader(c)
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			t.Fatal(err)
		}
		if path == "/no" {
			if resp.StatusCode != http.StatusForbidden {
				t.Errorf("status %s", resp.Status)
			}
			continue
		}
		if resp.StatusCode != http.StatusContinue {
			t.Fatalf("status %s", resp.Status)
		}
		fmt.Fprint(c, "hello")
		resp, err = http.ReadResponse(br, nil)
		if err != nil {
			t.Fatal(err)
		}
		if b, _ := io.ReadAll(resp.Body); resp.StatusCode != 200 || string(b) != "hello" {
			t.Errorf("status %s, body %q", resp.Status, b)
		}
	}
}

// TestSocketsOnBothSides goes by a path instead of ports. What a killed process has left is replaced;
// what is in use isn't.
func TestSocketsOnBothSides(t *testing.T) {
	dir, err := os.MkdirTemp("", "cw") // t.TempDir's may be longer than a socket's path
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	upPath, path := filepath.Join(dir, "up"), filepath.Join(dir, "in")
	l, err := net.Listen("unix", upPath)
	if err != nil {
		t.Fatal(err)
	}
	up := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "host=%s for=%q", r.Host, r.Header["X-Forwarded-For"])
	})}
	go up.Serve(l)
	defer up.Close()
	left, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	left.(*net.UnixListener).SetUnlinkOnClose(false)
	left.Close()

	r := start(t, "upstream=unix:"+upPath, "listen=unix:"+path, "socket_mode=0620")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o620 {
		t.Errorf("the socket's mode: %v, %v", info.Mode(), err)
	}
	if _, err := listen("unix:"+path, 0o600); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a second listener: %v", err)
	}
	client := newClient(t)
	client.Transport.(*http.Transport).DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	req, _ := http.NewRequestWithContext(t.Context(), "POST", "http://x/", strings.NewReader("b"))
	req.Header.Set("X-Forwarded-For", "192.0.2.1")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if want := `host=localhost for=["192.0.2.1"]`; string(b) != want {
		t.Errorf("the upstream got %s, want %s", b, want)
	}
	up.Close()
	resp, err = client.Post("http://x/", "", strings.NewReader("b"))
	if err != nil {
		t.Fatal(err)
	}
	b, _ = io.ReadAll(resp.Body)
	resp.Body.Close()
	wantAnswer(t, resp, string(b), answer{503, true, "dial", 2})
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket is still there")
	}
}

// TestReplayMemory is bounded for all requests together: what doesn't fit streams, and all is given back.
func TestReplayMemory(t *testing.T) {
	in, out := make(chan int64), make(chan struct{})
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		in <- r.ContentLength
		<-out
		_, _ = w.Write(b)
	})
	r := start(t, "upstream="+up.URL, "replay.body=1KiB", "replay.memory=2500B")
	content := bytes.Repeat([]byte("x"), 1000)
	bodies := make(chan string, 3)
	for i := range 3 {
		go func() {
			_, b := r.do("POST", "/", unsized(string(content)))
			bodies <- b
		}()
		want := int64(len(content)) // kept, and so of known length
		if i == 2 {
			want = -1
		}
		if n := <-in; n != want {
			t.Errorf("request %d came with length %d, want %d", i, n, want)
		}
		if used := r.p.replay.used.Load(); used > 2500 {
			t.Errorf("%d bytes are taken", used)
		}
	}
	for range 3 {
		out <- struct{}{}
		if b := <-bodies; b != string(content) {
			t.Errorf("an answer of %d bytes", len(b))
		}
	}
	if err := r.p.idle(t.Context()); err != nil {
		t.Error(err)
	}
	if used := r.p.replay.used.Load(); used != 0 {
		t.Errorf("%d bytes are taken at the end", used)
	}
}

// TestBodiesArriveWhole sends bodies around each border.
func TestBodiesArriveWhole(t *testing.T) {
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		_, _ = io.Copy(w, r.Body)
	})
	r := start(t, "upstream="+up.URL, "replay.body=8KiB")
	for _, n := range []int{0, 1, 4095, 4096, 4097, 8191, 8192, 8193, 12288, 12289, 300000} {
		content := strings.Repeat("0123456789", n/10+1)[:n]
		for _, body := range []io.Reader{unsized(content), strings.NewReader(content)} {
			if _, got := r.do("PUT", "/", body); got != content {
				t.Errorf("of %d bytes there came %d back", n, len(got))
			}
		}
	}
	if n := r.p.Counters().Streamed; n != 8 { // 8193 bytes and more, of known length or not
		t.Errorf("%d bodies have streamed, want 8", n)
	}
}

// TestOptionsOfTheServer passes "OPTIONS *" on.
func TestOptionsOfTheServer(t *testing.T) {
	s := &http.Server{DisableGeneralOptionsHandler: true, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.RequestURI)
	})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(l)
	defer s.Close()
	r := start(t, "upstream=http://"+l.Addr().String())
	c, err := net.Dial("tcp", r.addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := io.ReadAll(resp.Body); string(b) != "*" {
		t.Errorf("the upstream was asked for %q", b)
	}
}

// TestNothingIsMadeUp checks that a request gets no field that its client hasn't sent, and an answer none
// that says what it is.
func TestNothingIsMadeUp(t *testing.T) {
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		for k := range r.Header {
			if !strings.HasPrefix(k, "X-Forwarded-") && k != "Via" && k != "Connection" {
				t.Errorf("the upstream got %s: %q", k, r.Header[k])
			}
		}
		w.Header()["Content-Type"] = nil
		w.Header()["Date"] = nil
		if r.URL.Path == "/hints" {
			w.WriteHeader(http.StatusEarlyHints)
		}
		_, _ = io.WriteString(w, "<html>")
	})
	r := start(t, "upstream="+up.URL)
	for _, path := range []string{"/", "/hints"} {
		resp, body := r.do("GET", path, nil, "User-Agent", "")
		if _, ok := resp.Header["Content-Type"]; ok || body != "<html>" {
			t.Errorf("the answer is %q with %v", body, resp.Header)
		}
	}
	resp, _ := r.do("HEAD", "/", nil, "User-Agent", "")
	if resp.ContentLength != 6 {
		t.Errorf("HEAD says a length of %d", resp.ContentLength)
	}
}

// TestUnreadBodyEndsTheConnection has clients whose bodies are there, and that nobody has read when the
// answer comes. What is left of them must not be taken for the next request, nor stop the server.
func TestUnreadBodyEndsTheConnection(t *testing.T) {
	r := start(t, "upstream=unix:/nowhere/at/all", "replay.body=none", "retry.policy=off")
	for _, body := range []string{"Content-Length: 5\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		"Content-Length: 70000\r\n\r\n" + strings.Repeat("GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n", 2000)[:70000]} {
		c, err := net.Dial("tcp", r.addr.String())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: h\r\n%s", body)
		br := bufio.NewReader(c)
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusServiceUnavailable || !resp.Close {
			t.Errorf("status %s, the connection ends: %v", resp.Status, resp.Close)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		if _, err := br.ReadByte(); err != io.EOF {
			t.Errorf("behind the answer: %v, want the connection's end", err)
		}
		c.Close()
	}
	if strings.Contains(r.log.String(), "panic") {
		t.Error("the server has panicked")
	}
}
