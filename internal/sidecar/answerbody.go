package sidecar

import (
	"context"
	"io"
	"log/slog"
	"net/http"
)

// headerKey is that of the http.Header of the client's answer in a request's context.
type headerKey struct{}

// withHeader has modify find the header of the client's answer.
func withHeader(ctx context.Context, h http.Header) context.Context {
	return context.WithValue(ctx, headerKey{}, h)
}

// unsniffed keeps net/http's server from making up a Content-Type that the upstream hasn't given.
func unsniffed(resp *http.Response) {
	if _, ok := resp.Header["Content-Type"]; ok {
		return
	}
	if h, ok := resp.Request.Context().Value(headerKey{}).(http.Header); ok {
		h["Content-Type"] = nil
	}
}

// An answerBody tells of an answer that broke off. ReverseProxy ends the client's connection then.
type answerBody struct {
	io.ReadCloser
	g   *generation
	req *http.Request
}

func (b *answerBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		b.brokeOff(err)
	}
	return n, err
}

func (b *answerBody) brokeOff(err error) {
	ctx := b.req.Context()
	if ctx.Err() != nil {
		b.g.p.log.InfoContext(ctx, "client left during the answer", "method", b.req.Method, "path", b.req.URL.Path)
		return
	}
	b.g.p.tally.add(func(c *Counters) { c.BrokenOff++ })
	b.g.p.log.LogAttrs(ctx, slog.LevelWarn, "answer broke off", slog.String("method", b.req.Method),
		slog.String("path", b.req.URL.Path), slog.String("error", firstLine(err.Error())))
}
