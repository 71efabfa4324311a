package sidecar

import (
	"bufio"
	"context"
	"net"
	"net/http"
)

// The fields of answers that are the sidecar's own. See answerFailure.
const (
	fieldUnprocessed = "Connwise-Unprocessed"
	fieldPhase       = "Connwise-Phase"
	fieldRetries     = "Connwise-Retries"
)

var ownFields = [...]string{fieldUnprocessed, fieldPhase, fieldRetries}

// dropOwn takes out of h what only the sidecar may say.
func dropOwn(h http.Header) {
	for _, f := range ownFields {
		h.Del(f)
	}
}

// An answerWriter is the client's side of the upstream's answer, with what httputil.ReverseProxy
// gives no other way to.
type answerWriter struct {
	http.ResponseWriter
	ctx  context.Context // the request's
	body *clientBody     // the request's; nil over HTTP/2, where an answer leaves it alone
}

// Unwrap is for http.ResponseController.
func (w answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader takes from interim answers what only the sidecar may say, as modify does from final
// ones. A final answer that is there before the request's end is the last one on its connection:
// where the rest of the request ends, and the next one begins, may never be known, and net/http's server,
// asked for full duplex, reads it in two places at once.
func (w answerWriter) WriteHeader(status int) {
	switch {
	case status < 200:
		dropOwn(w.Header())
	case w.body != nil && !w.body.ended.Load():
		w.Header().Set("Connection", "close")
	}
	w.ResponseWriter.WriteHeader(status)
}

// dropTrailers does the same for the trailers that ReverseProxy has put into the header. modify has
// seen to it that none is announced.
func (w answerWriter) dropTrailers() {
	for _, f := range ownFields {
		delete(w.Header(), http.TrailerPrefix+f)
	}
}

// Hijack returns a connection that begins with what the server has read behind the request: of what
// it returns ReverseProxy reads the connection only. The connection ends with the request, also where
// ReverseProxy would wait for a client that takes nothing.
func (w answerWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	socket := c
	context.AfterFunc(w.ctx, func() { _ = socket.Close() }) // it may be closed already
	if rw.Reader.Buffered() > 0 {
		c = earlyConn{c, rw.Reader}
	}
	return c, rw, nil
}

// An earlyConn begins with what is in early. The rest is read from the connection itself: an end that
// early's source finds would end the request, though the other direction may go on.
type earlyConn struct {
	net.Conn
	early *bufio.Reader
}

func (c earlyConn) Read(p []byte) (int, error) {
	if n := c.early.Buffered(); n > 0 {
		return c.early.Read(p[:min(len(p), n)])
	}
	return c.Conn.Read(p)
}

// CloseWrite tells the client that nothing more comes. Without it ReverseProxy would end both directions.
func (c earlyConn) CloseWrite() error {
	if cw, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return cw.CloseWrite()
	}
	return http.ErrNotSupported
}
