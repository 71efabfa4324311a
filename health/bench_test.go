//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package health

import (
	"crypto/tls"
	"testing"
)

func BenchmarkLook(b *testing.B) {
	b.Run("conn=plain", func(b *testing.B) {
		client, _ := pair(b)
		benchmarkLook(b, NewProbe(client))
	})
	b.Run("conn=crypto-tls", func(b *testing.B) {
		client, _, server := bareTLS(b, tls.VersionTLS13)
		write(b, server, "answer")
		wantRead(b, client, "answer")
		benchmarkLook(b, NewProbe(client))
	})
	b.Run("conn=TLSClient", func(b *testing.B) {
		p := newTLSPair(b, tls.VersionTLS13)
		p.wantUsable(b)
		benchmarkLook(b, NewProbe(p.client))
	})
	b.Run("conn=TLSClient-after-a-read", func(b *testing.B) {
		p := newTLSPair(b, tls.VersionTLS13)
		p.wantUsable(b)
		b.ReportAllocs()
		for b.Loop() {
			p.client.quiet.settled = -1 // as a read leaves it
			p.client.Look()
		}
	})
}

func benchmarkLook(b *testing.B, p *Probe) {
	b.ReportAllocs()
	for b.Loop() {
		if v, err := p.Look(); v != Alive {
			b.Fatal(v, err)
		}
	}
}

func BenchmarkSocket(b *testing.B) {
	client, _ := pair(b)
	b.ReportAllocs()
	for b.Loop() {
		Socket(client)
	}
}

func BenchmarkWatch(b *testing.B) {
	client, _ := pair(b)
	b.ReportAllocs()
	for b.Loop() {
		Watch(client, func() {}).Stop()
	}
}

func BenchmarkParseKeepAlive(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		ParseKeepAlive("timeout=5, max=1000")
	}
}
