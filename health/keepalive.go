package health

import (
	"strings"
	"time"
)

// maxAnnounced bounds what ParseKeepAlive believes, in seconds: a day. Nobody keeps an
// idle connection that long; a bigger number is a mistake or an attack.
const maxAnnounced = 24 * 60 * 60

// ParseKeepAlive returns the idle time that a server announces by the value of a
// Keep-Alive header field: "timeout=5, max=100" says that the server closes a connection
// after 5 s without a request. The field is no part of RFC 9110, but of RFC 2068 section
// 19.7.1.1 and of many servers. Several fields may be given joined by commas.
//
// Names are read without regard to case, values may be quoted. ok is false without a
// timeout, and with one that isn't a whole number from 1 to 86,400. If there are
// several, all have to be valid, and the smallest counts.
func ParseKeepAlive(v string) (idle time.Duration, ok bool) {
	for param := range strings.SplitSeq(v, ",") {
		name, value, _ := strings.Cut(param, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "timeout") {
			continue
		}
		n, valid := seconds(unquote(strings.TrimSpace(value)))
		if !valid {
			return 0, false
		}
		if d := time.Duration(n) * time.Second; !ok || d < idle {
			idle, ok = d, true
		}
	}
	return idle, ok
}

func unquote(s string) string {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return strings.TrimSpace(s[1 : len(s)-1])
	}
	return s
}

// seconds parses decimal digits only: no sign, no fraction, no underscore.
func seconds(s string) (n int, ok bool) {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		if n = 10*n + int(c-'0'); n > maxAnnounced {
			return 0, false
		}
	}
	return n, n > 0
}
