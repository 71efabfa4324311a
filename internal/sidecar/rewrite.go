package sidecar

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strconv"
	"strings"

	"example.com/connwise/retry"
)

// The values of forward.host that are no names.
const (
	hostUpstream = "upstream"
	hostClient   = "client"
)

// The values of forward.x_forwarded.
const (
	forwardedAppend  = "append"
	forwardedReplace = "replace"
	forwardedKeep    = "keep"
)

// rewrite aims the request at the upstream. The hop-by-hop fields are gone already.
func (g *generation) rewrite(pr *httputil.ProxyRequest) {
	pr.Out.URL.RawQuery = pr.In.URL.RawQuery // ReverseProxy has left out what it couldn't parse
	pr.SetURL(g.set.target)
	if pr.In.Method == http.MethodOptions && pr.In.RequestURI == "*" && g.set.target.Path == "" {
		pr.Out.URL.Path = "*" // RFC 9112 section 3.2.4
	}
	switch g.set.Host {
	case hostUpstream: // SetURL has seen to it
	case hostClient:
		pr.Out.Host = pr.In.Host
	default:
		pr.Out.Host = g.set.Host
	}
	setForwarded(pr, g.set.XForwarded)
	dropH2C(pr.Out.Header)
	dropTrailers(pr)
	if g.set.Via != "" {
		pr.Out.Header.Add("Via", via(pr.In, g.set.Via))
	}
	if len(pr.In.Trailer) > 0 && pr.Out.Body != nil {
		pr.Out.Body = &trailerBody{ReadCloser: pr.Out.Body, in: pr.In, out: pr.Out.Trailer}
	}
}

// via is the sidecar's entry: the protocol in which the request came, and a pseudonym (RFC 9110
// section 7.6.3). A gateway has to put it on requests; on answers it may, and this one doesn't.
func via(r *http.Request, name string) string {
	if r.ProtoMajor == 1 {
		return fmt.Sprintf("1.%d %s", r.ProtoMinor, name)
	}
	return fmt.Sprintf("%d %s", r.ProtoMajor, name)
}

// setForwarded sets the X-Forwarded fields, which ReverseProxy has taken away from what goes
// out, along with Forwarded (RFC 7239): that one is kept where they are, and never written.
func setForwarded(pr *httputil.ProxyRequest, how string) {
	in, out := pr.In.Header, pr.Out.Header
	keep := func(names ...string) {
		for _, n := range names {
			if v, ok := in[n]; ok && !listedAsHop(in, n) {
				out[n] = append([]string(nil), v...)
			}
		}
	}
	switch how {
	case forwardedReplace:
		pr.SetXForwarded()
	case forwardedKeep:
		keep("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto")
	default:
		keep("X-Forwarded-For")
		prior := out["X-Forwarded-For"]
		pr.SetXForwarded()
		if _, _, err := net.SplitHostPort(pr.In.RemoteAddr); err != nil && len(prior) > 0 {
			out["X-Forwarded-For"] = prior // a client on a socket has no address to append
		}
		keep("Forwarded", "X-Forwarded-Host", "X-Forwarded-Proto")
	}
}

// dropH2C takes an offer to go on in HTTP/2 out of Upgrade. It is about the client's own connection, its
// HTTP2-Settings are gone already, and RFC 9113 section 3.1 has done away with it; Java's client sends
// it with each request. What else is offered stays.
func dropH2C(h http.Header) {
	offers := h.Get("Upgrade")
	if !strings.Contains(strings.ToLower(offers), "h2c") {
		return
	}
	others := slices.DeleteFunc(splitList(offers), func(o string) bool { return strings.EqualFold(o, "h2c") })
	if h.Set("Upgrade", strings.Join(others, ", ")); len(others) == 0 {
		h.Del("Upgrade")
		h.Del("Connection")
	}
}

// dropTrailers takes out of the client's trailers what isn't for the upstream, or what the sidecar
// vouches for in the head: a server may merge the two (RFC 9110 section 6.5.1).
func dropTrailers(pr *httputil.ProxyRequest) {
	for name := range pr.Out.Trailer {
		if slices.Contains(notTrailers, name) || listedAsHop(pr.In.Header, name) {
			delete(pr.Out.Trailer, name)
		}
	}
}

var notTrailers = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authorization", "Te", "Upgrade", "Host",
	"Via", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"}

// listedAsHop tells whether the client has named the field in Connection: it isn't for the upstream.
func listedAsHop(h http.Header, name string) bool {
	for _, line := range h["Connection"] {
		for f := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(f), name) {
				return true
			}
		}
	}
	return false
}

// modify takes from the upstream's answer what only the sidecar may say, and says how often the
// request was sent again.
func (g *generation) modify(resp *http.Response) error {
	dropOwn(resp.Header)
	dropOwn(resp.Trailer)
	unsniffed(resp)
	if resp.StatusCode != http.StatusSwitchingProtocols { // that one's body is the connection
		resp.Body = &answerBody{resp.Body, g, resp.Request}
	}
	if report := retry.ReportOf(resp); report != nil {
		resp.Header.Set(fieldRetries, strconv.Itoa(report.Retries))
		g.p.log.DebugContext(resp.Request.Context(), "retried and answered", "method", resp.Request.Method,
			"path", resp.Request.URL.Path, "status", resp.StatusCode, "report", report)
	}
	return nil
}
