//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package health

import (
	"net"
	"testing"

	"example.com/connwise/internal/fakenet"
)

func TestProbeKnowsWhatItCannotSee(t *testing.T) {
	client, server := pair(t)
	fake, _ := fakenet.Pipe()
	for _, tt := range []struct {
		name string
		c    net.Conn
		want bool
	}{
		{"a socket", client, true},
		{"a hidden socket", struct{ net.Conn }{server}, false},
		{"no socket", fake, false},
		{"a TLS client over a socket", NewTLSClient(client, nil), true},
		{"a TLS client over a hidden one", NewTLSClient(struct{ net.Conn }{server}, nil), false},
	} {
		if got := NewProbe(tt.c).Sees(); got != tt.want {
			t.Errorf("%s: Sees is %v, want %v", tt.name, got, tt.want)
		}
	}
}
