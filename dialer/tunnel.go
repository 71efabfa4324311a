package dialer

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	maxProxyHead = 256 << 10 // of an answer to CONNECT with the 1xx before it, in bytes
	maxProxyBody = 4 << 10   // of a refusal
	// refusalTime bounds the wait for a refusal's body, which is for people only.
	refusalTime = 500 * time.Millisecond
	// bodyOverhead is how many bytes a refusal's body may take on the wire.
	bodyOverhead = 64 << 10
)

var errProxyHead = fmt.Errorf("the head of the proxy's answer is larger than %d bytes", maxProxyHead)

// tunnel asks the HTTP proxy at the other end of c to connect to r.Addr. It returns c, or a
// connection that first gives what came behind the proxy's answer. On failure c is closed.
func (d *Dialer) tunnel(ctx context.Context, c net.Conn, r *Route) (net.Conn, error) {
	inner, cancel := within(ctx, StageProxy, limit(d.ProxyTimeout, defaultProxyTimeout))
	defer cancel()
	// Closing is what ends a Read on every kind of connection.
	stop := context.AfterFunc(inner, func() { c.Close() })
	tunnel, err := connectBy(inner, c, r)
	if !stop() && err == nil {
		err = inner.Err() // closed at the last moment
	}
	if err == nil {
		return tunnel, nil
	}
	c.Close()
	// A refusal stays one if the time ends while its body is read.
	if _, refused := errors.AsType[*ProxyError](err); refused && ctx.Err() == nil {
		return nil, err
	}
	return nil, because(ctx, inner, err)
}

func connectBy(ctx context.Context, c net.Conn, r *Route) (net.Conn, error) {
	h, err := proxyHeader(ctx, r)
	if err != nil {
		return nil, err
	}
	req := &http.Request{
		Method: http.MethodConnect,
		URL:    &url.URL{Opaque: r.Addr},
		Host:   r.Addr,
		Header: h,
	}
	if err := req.Write(c); err != nil {
		return nil, err
	}
	lr := &io.LimitedReader{R: c, N: maxProxyHead}
	src := &noting{Reader: lr}
	br := bufio.NewReader(src)
	res, err := readAnswer(br, req)
	if err != nil {
		switch {
		case lr.N <= 0:
			err = &ProxyError{Err: errProxyHead}
		case src.err == nil: // the proxy is there, and what it said is wrong
			err = &ProxyError{Err: err}
		}
		return nil, err
	}
	if err := onAnswer(ctx, r, req, res); err != nil {
		return nil, err
	}
	// RFC 9110 section 9.3.6: any 2xx switches to a tunnel, and its Content-Length and
	// Transfer-Encoding mean nothing.
	if res.StatusCode/100 == 2 {
		return withPrefix(c, br)
	}
	lr.N = bodyOverhead
	return nil, refusal(c, res)
}

// A noting reader keeps the error of the connection, which the parser hides.
type noting struct {
	io.Reader
	err error
}

func (n *noting) Read(p []byte) (int, error) {
	k, err := n.Reader.Read(p)
	if err != nil {
		n.err = err
	}
	return k, err
}

// onAnswer calls the caller's function, which may read the answer's body.
func onAnswer(ctx context.Context, r *Route, req *http.Request, res *http.Response) error {
	if r.OnProxyResponse == nil {
		return nil
	}
	_, err := await(ctx, func() (struct{}, error) {
		return struct{}{}, hookError(r.OnProxyResponse(ctx, r.Proxy, req, res))
	}, nil)
	return err
}

func hookError(err error) error {
	if err == nil {
		return nil
	}
	return &HookError{err}
}

// readAnswer reads the final answer to CONNECT. What br may read bounds the 1xx before it.
func readAnswer(br *bufio.Reader, req *http.Request) (*http.Response, error) {
	for {
		res, err := http.ReadResponse(br, req)
		if err != nil {
			return nil, err
		}
		if res.StatusCode/100 != 1 || res.StatusCode == http.StatusSwitchingProtocols {
			return res, nil
		}
	}
}

// refusal reads the rest of an answer that isn't 2xx.
func refusal(c net.Conn, res *http.Response) error {
	timer := time.AfterFunc(refusalTime, func() { c.Close() })
	defer timer.Stop()
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxProxyBody)) // what came is enough
	_, text, _ := strings.Cut(res.Status, " ")
	return &ProxyError{Status: res.StatusCode, StatusText: text, Header: res.Header, Body: body}
}

// proxyHeader returns the header for CONNECT. It is the caller's own copy.
func proxyHeader(ctx context.Context, r *Route) (http.Header, error) {
	h := r.ProxyHeader
	if r.GetProxyHeader != nil {
		var err error
		h, err = await(ctx, func() (http.Header, error) {
			h, err := r.GetProxyHeader(ctx, r.Proxy, r.Addr)
			return h, hookError(err)
		}, nil)
		if err != nil {
			return nil, err
		}
	}
	if h = h.Clone(); h == nil {
		h = make(http.Header)
	}
	if auth := ProxyAuthorization(r.Proxy); auth != "" && h.Get("Proxy-Authorization") == "" {
		h.Set("Proxy-Authorization", auth)
	}
	return h, nil
}

// ProxyAuthorization returns the value of the Proxy-Authorization field for the user info
// of a proxy's URL (RFC 7617), empty without one.
func ProxyAuthorization(proxy *url.URL) string {
	if proxy == nil || proxy.User == nil {
		return ""
	}
	password, _ := proxy.User.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(proxy.User.Username()+":"+password))
}
