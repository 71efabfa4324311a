package retry_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// What an origin does with a request, or with a connection before any.
const (
	serve     = "serve"     // answer 200 and keep the connection
	serve500  = "500"       // answer with that status
	serve503  = "503"       // and with that, with a Retry-After
	serve429  = "429"       // and with that, with Retry-After: 0
	thenFIN   = "thenFIN"   // answer 200 and close the connection when it is idle
	thenBare  = "thenBare"  // the same, under TLS without a close_notify
	thenRST   = "thenRST"   // the same, by a reset
	cutFIN    = "cutFIN"    // read the whole request and close without an answer
	cutBare   = "cutBare"   // the same, without a close_notify
	cutRST    = "cutRST"    // the same, by a reset
	cutHead   = "cutHead"   // the same, behind an answer's first bytes
	cutBody   = "cutBody"   // the same, in the answer's body
	cutJunk   = "cutJunk"   // the same, behind bytes that are no TLS record, nor HTTP
	half      = "half"      // read a half of the body, reset
	stall     = "stall"     // read the head, and then nothing
	never     = "never"     // read the whole request, answer nothing
	hsRST     = "hsRST"     // reset the connection in the TLS handshake
	hsFIN     = "hsFIN"     // close it
	hsAlert   = "hsAlert"   // refuse the handshake
	hsSilence = "hsSilence" // say nothing
	slowly    = "slowly"    // take time for the handshake, and again for the answer
)

// slowness is how long slowly takes for each.
const slowness = 150 * time.Millisecond

const originName = "example.com"

// A seen is a request that the origin's application received whole.
type seen struct {
	method, key, body string
	at                time.Time // when it was whole
}

// An origin is an HTTP/1.1 server that does to its connections what a script says, and
// counts what it received. Its nth connection follows the script's nth entry: what to do
// with each of its requests. Connections and requests past the script are served.
type origin struct {
	t      testing.TB
	ln     net.Listener
	tls    *tls.Config // nil: plain HTTP
	script [][]string
	fields string        // of the answers that aren't 200
	over   chan struct{} // closed at the end, for connections that read nothing
	wg     sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool // true: open
	n     int               // connections accepted
	seen  []seen
}

// newOrigin starts one.
func newOrigin(t testing.TB, secure bool, script ...[]string) *origin {
	t.Helper()
	o := &origin{t: t, script: script, fields: "Retry-After: 0", over: make(chan struct{}), conns: map[net.Conn]bool{}}
	if secure {
		o.tls = serverTLS()
	}
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.ln = ln
	o.wg.Go(o.accept)
	t.Cleanup(o.close)
	return o
}

// url has a name of the certificate in it; the client's resolver knows where it is.
func (o *origin) url() string {
	_, port, _ := net.SplitHostPort(o.ln.Addr().String())
	scheme := "http://"
	if o.tls != nil {
		scheme = "https://"
	}
	return scheme + originName + ":" + port + "/things"
}

func (o *origin) close() {
	close(o.over)
	o.mu.Lock()
	o.ln.Close()
	for c := range o.conns {
		c.Close()
	}
	o.mu.Unlock()
	o.wg.Wait()
}

func (o *origin) accept() {
	for {
		c, err := o.ln.Accept()
		if err != nil {
			return
		}
		o.mu.Lock()
		o.conns[c] = true // close may have been called: then it has closed the listener, and waits
		n := o.n
		o.n++
		o.mu.Unlock()
		var acts []string
		if n < len(o.script) {
			acts = o.script[n]
		}
		o.wg.Go(func() { o.run(c.(*net.TCPConn), acts) })
	}
}

func (o *origin) run(raw *net.TCPConn, acts []string) {
	defer func() {
		raw.Close()
		o.mu.Lock()
		delete(o.conns, raw)
		o.mu.Unlock()
	}()
	var c net.Conn = raw
	if len(acts) > 0 && !o.handshake(raw, acts[0]) {
		return
	}
	if o.tls != nil {
		s := tls.Server(raw, o.tls)
		if s.Handshake() != nil {
			return
		}
		c = s
	}
	br := bufio.NewReader(c)
	for {
		act := serve
		if len(acts) > 0 {
			act, acts = acts[0], acts[1:]
		}
		if !o.exchange(c, raw, br, act) {
			return
		}
	}
}

// handshake does what act says before the TLS handshake. False: the connection is over.
func (o *origin) handshake(raw *net.TCPConn, act string) bool {
	switch act {
	case hsRST:
		raw.Read(make([]byte, 1)) // a reset before it may look like one of connect
		raw.SetLinger(0)
	case hsFIN:
	case hsAlert:
		refuse := o.tls.Clone()
		refuse.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return nil, errors.New("refused") }
		tls.Server(raw, refuse).Handshake()
	case hsSilence:
		io.Copy(io.Discard, raw)
	case slowly:
		<-time.After(slowness)
		return true
	default:
		return true
	}
	return false
}

// exchange reads a request and does what act says. False: the connection is over.
func (o *origin) exchange(c net.Conn, raw *net.TCPConn, br *bufio.Reader, act string) bool {
	req, err := http.ReadRequest(br)
	if err != nil {
		return false
	}
	switch act {
	case half:
		io.CopyN(io.Discard, req.Body, req.ContentLength/2)
		raw.SetLinger(0)
		return false
	case stall:
		<-o.over
		return false
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return false
	}
	o.mu.Lock()
	o.seen = append(o.seen, seen{req.Method, req.Header.Get("X-Key"), string(body), time.Now()})
	o.mu.Unlock()
	return o.answer(req.Method, c, raw, br, act)
}

func (o *origin) answer(method string, c net.Conn, raw *net.TCPConn, br *bufio.Reader, act string) bool {
	switch act {
	case cutRST, cutBare:
		end(raw, act == cutRST)
		return false
	case cutFIN:
		c.Close()
		return false
	case cutJunk:
		io.WriteString(raw, "\x17\x03\x03\x00\x05junk!")
		raw.CloseWrite()
		io.Copy(io.Discard, raw) // a close with something unread would be a reset, which may take the junk away
		return false
	case cutHead:
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-")
		c.Close()
		return false
	case cutBody:
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
		c.Close()
		return false
	case never:
		io.Copy(io.Discard, br)
		return false
	case slowly:
		<-time.After(slowness)
	case serve500, serve503, serve429:
		text := fmt.Sprintf("HTTP/1.1 %s No\r\n%s\r\nContent-Length: 2\r\n\r\nno", act, o.fields)
		if method == http.MethodHead {
			text = text[:len(text)-2]
		}
		io.WriteString(c, text)
		return true
	}
	answer := "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	if method == http.MethodHead {
		answer = answer[:len(answer)-2]
	}
	io.WriteString(c, answer)
	switch act {
	case thenRST, thenBare:
		end(raw, act == thenRST)
		return false
	case thenFIN:
		c.Close()
		return false
	}
	return true
}

// end closes a connection below TLS.
func end(raw *net.TCPConn, reset bool) {
	if reset {
		raw.SetLinger(0)
	}
	raw.Close()
}

// requests returns what the application received so far, in order.
func (o *origin) requests() []seen {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.seen)
}

// times returns when each of them had come.
func (o *origin) times() (at []time.Time) {
	for _, s := range o.requests() {
		at = append(at, s.at)
	}
	return at
}

func (o *origin) accepted() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.n
}

// wantSeen checks that the application received exactly these, in order.
func (o *origin) wantSeen(want ...seen) {
	o.t.Helper()
	got := o.requests()
	if len(got) != len(want) {
		o.t.Errorf("the server saw %d requests, want %d: %.200v", len(got), len(want), got)
		return
	}
	for i := range want {
		if got[i].method != want[i].method || got[i].body != want[i].body {
			o.t.Errorf("request %d is %s with %d bytes, want %s with %d: %.100q", i+1,
				got[i].method, len(got[i].body), want[i].method, len(want[i].body), got[i].body)
		}
	}
}

// serverTLS and rootPool share one certificate, for originName and 127.0.0.1. It's of the kind
// whose handshakes cost least.
var certificate = sync.OnceValues(func() (*tls.Config, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	now := time.Now()
	text := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		DNSNames: []string{originName}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, text, text, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	srv := httptest.NewTLSServer(nil) // whose certificate is trusted too
	defer srv.Close()
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	roots.AddCert(leaf)
	own := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	return &tls.Config{Certificates: []tls.Certificate{own}, NextProtos: []string{"http/1.1"}}, roots
})

func serverTLS() *tls.Config {
	conf, _ := certificate()
	return conf.Clone()
}

func rootPool() *x509.CertPool {
	_, roots := certificate()
	return roots
}
