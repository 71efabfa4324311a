package sidecar

import (
	"log/slog"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"time"
)

// A generation is the settings between two reloads, and what works by them.
type generation struct {
	p       *Proxy
	set     *Settings
	up      *upstream
	reverse *httputil.ReverseProxy
}

// flushAfter is how long a part of an answer of known length may wait in the buffer for more.
// Answers of unknown length and event streams don't wait (httputil.ReverseProxy sees to that).
const flushAfter = 20 * time.Millisecond

func newGeneration(p *Proxy, s *Settings, u *upstream) *generation {
	g := &generation{p: p, set: s, up: u}
	g.reverse = &httputil.ReverseProxy{
		Rewrite:        g.rewrite,
		Transport:      u.transport,
		FlushInterval:  flushAfter,
		BufferPool:     buffers{},
		ModifyResponse: g.modify,
		ErrorHandler:   g.answerFailure,
		ErrorLog:       slog.NewLogLogger(p.log.Handler(), slog.LevelDebug), // answerBody tells it better,
	}
	return g
}

// serve has the request from the server until its answer is written.
func (g *generation) serve(w http.ResponseWriter, r *http.Request) {
	if g.set.LogRequests {
		l := &logged{ResponseWriter: w, began: time.Now()}
		w = l
		defer func() { g.logRequest(l, r) }()
	}
	if r.Method == http.MethodConnect {
		w.Header().Set("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, TRACE")
		http.Error(w, "this is no forward proxy", http.StatusMethodNotAllowed)
		return
	}
	control := http.NewResponseController(w)
	// The upstream may answer before it has the whole body, as net/http's server wouldn't
	// let it by itself over HTTP/1.1. HTTP/2 is so in any case, and says that it isn't supported.
	_ = control.EnableFullDuplex()
	body := newClientBody(r)
	out := answerWriter{w, r.Context(), body}
	if r.ProtoMajor != 1 {
		out.body = nil
	}
	defer body.abandon(control)
	in := r.WithContext(withHeader(r.Context(), w.Header()))
	release, err := g.prepare(in, body)
	if err != nil {
		g.answerFailure(out, r, err)
		return
	}
	defer release()
	g.reverse.ServeHTTP(out, in)
	out.dropTrailers()
}

// logFailure tells of a request that was answered by the sidecar itself.
func (g *generation) logFailure(r *http.Request, a answer, err error) {
	g.p.tally.failure(a.status)
	level := slog.LevelWarn
	if a.status == statusClientLeft || a.status == http.StatusBadRequest { // not the upstream's doing
		level = slog.LevelInfo
	}
	g.p.log.LogAttrs(r.Context(), level, a.event(), slog.String("method", r.Method), slog.String("path", r.URL.Path),
		slog.Int("status", a.status), slog.String("phase", a.phase), slog.Bool("unprocessed", a.unprocessed),
		slog.Int("retries", a.retries), slog.String("error", firstLine(err.Error())))
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// buffers are httputil.ReverseProxy's for copying answers.
type buffers struct{}

const bufferSize = 32 << 10

var bufferPool = sync.Pool{New: func() any { return new([bufferSize]byte) }}

func (buffers) Get() []byte  { return bufferPool.Get().(*[bufferSize]byte)[:] }
func (buffers) Put(b []byte) { bufferPool.Put((*[bufferSize]byte)(b)) }
