package h2

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"example.com/connwise/health"
	"example.com/connwise/internal/wire"
)

// serveEnv makes the test binary a server, so that the benchmarks' numbers are the client's
// alone.
const serveEnv = "H2_BENCH_SERVER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(serveEnv); mode != "" {
		serve(mode == "tls")
		return
	}
	goleak.VerifyTestMain(m)
}

// serve answers until its standard input ends.
func serve(secure bool) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(benchAnswer))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP2(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.EnableHTTP2 = secure
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	fmt.Println(s.URL)
	io.Copy(io.Discard, os.Stdin)
}

func benchAnswer(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/down":
		b := make([]byte, 64<<10)
		for range 100 << 20 / len(b) {
			w.Write(b)
		}
	case "/up":
		io.Copy(io.Discard, r.Body)
	default:
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"id":12345,"ok":true}`)
	}
}

// benchServer starts a server in a process of its own and returns its URL.
func benchServer(b *testing.B, secure bool) string {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	mode := map[bool]string{false: "plain", true: "tls"}[secure]
	cmd.Env = append(os.Environ(), serveEnv+"="+mode)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// A client makes one request, and reads the answer to its end.
type client func(ctx context.Context, req *http.Request) error

func stdClient(b *testing.B) client {
	t := &http.Transport{Protocols: new(http.Protocols), TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableCompression: true}
	t.Protocols.SetHTTP2(true)
	t.Protocols.SetUnencryptedHTTP2(true)
	b.Cleanup(t.CloseIdleConnections)
	return func(ctx context.Context, req *http.Request) error {
		resp, err := t.RoundTrip(req)
		return finish(resp, err)
	}
}

type doneOwner struct{}

func (doneOwner) StreamDone(wire.End) {}

func ownClient(b *testing.B, url string) client {
	addr, secure := strings.CutPrefix(url, "https://")
	nc, err := net.Dial("tcp", strings.TrimPrefix(addr, "http://"))
	if err != nil {
		b.Fatal(err)
	}
	if secure {
		tc := health.NewTLSClient(nc, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
		if err := tc.Handshake(); err != nil {
			b.Fatal(err)
		}
		nc = tc
	}
	rec := newRecorder()
	c := NewConn(nc, &Options{}, rec)
	b.Cleanup(func() {
		c.Close()
		<-rec.ended
	})
	return func(ctx context.Context, req *http.Request) error {
		x := new(Exchange)
		resp, err := x.Start(c, wire.Request{Request: req}, doneOwner{})
		return finish(resp, err)
	}
}

func finish(resp *http.Response, err error) error {
	if err != nil {
		return err
	}
	io.Copy(io.Discard, resp.Body)
	return resp.Body.Close()
}

func BenchmarkGet(b *testing.B) {
	for _, secure := range []bool{false, true} {
		url := benchServer(b, secure)
		for _, width := range []int{1, 16, 64, 200} {
			for _, who := range []string{"connwise", "net-http"} {
				b.Run(fmt.Sprintf("tls=%v/width=%d/client=%s", secure, width, who), func(b *testing.B) {
					do := stdClient(b)
					if who == "connwise" {
						do = ownClient(b, url)
					}
					benchGet(b, do, url, width)
				})
			}
		}
	}
}

func benchGet(b *testing.B, do client, url string, width int) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	one := func() {
		req, _ := http.NewRequestWithContext(ctx, "GET", url+"/v1/things", nil)
		if err := do(ctx, req); err != nil {
			b.Error(err)
		}
	}
	one()
	b.ReportAllocs()
	b.ResetTimer()
	before := cpuTime()
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	for range width {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				one()
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(cpuTime()-before)/float64(b.N)/1000, "cpu-us/op")
}

func BenchmarkBulk(b *testing.B) {
	for _, secure := range []bool{false, true} {
		url := benchServer(b, secure)
		for _, path := range []string{"/down", "/up"} {
			for _, who := range []string{"connwise", "net-http"} {
				b.Run(fmt.Sprintf("tls=%v/dir=%s/client=%s", secure, path[1:], who), func(b *testing.B) {
					do := stdClient(b)
					if who == "connwise" {
						do = ownClient(b, url)
					}
					benchBulk(b, do, url+path)
				})
			}
		}
	}
}

func benchBulk(b *testing.B, do client, url string) {
	const size = 100 << 20
	b.SetBytes(size)
	before := cpuTime()
	for b.Loop() {
		req, _ := http.NewRequest("GET", url, nil)
		if strings.HasSuffix(url, "up") {
			req, _ = http.NewRequest("POST", url, io.LimitReader(zeros{}, size))
			req.ContentLength = size
		}
		if err := do(context.Background(), req); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpuTime()-before)/float64(b.N)/1e6, "cpu-ms/op")
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
