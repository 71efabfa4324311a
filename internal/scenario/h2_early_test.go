package scenario

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"

	"golang.org/x/net/http2"
)

// A lateSocket is a connection whose socket can be had once at once, and then when early is
// closed. So the client's part of opening it takes long.
type lateSocket struct {
	*net.TCPConn
	early <-chan struct{}
	asked atomic.Bool
}

func (s *lateSocket) SyscallConn() (syscall.RawConn, error) {
	if s.asked.Swap(true) {
		select {
		case <-s.early:
		case <-time.After(patience):
		}
	}
	return s.TCPConn.SyscallConn()
}

// The peer's limit on streams may be known before the client has its connection ready. The
// requests for which it has no stream get connections of their own.
func TestAStreamLimitThatComesEarlyLeavesNobodyWaiting(t *testing.T) {
	const n = 4
	r := newRig(t, mode{"h2c", false})
	early := make(chan struct{})
	crowd := newGathering(n)
	p := r.h2peer(peer.H2Options{Handler: func(c *peer.H2Conn) {
		if c.Settings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1}) != nil || c.Ping(false, [8]byte{1}) != nil {
			return
		}
		for f, err := c.Read(); err == nil; f, err = c.Read() {
			if f.Type == http2.FramePing && f.Ack() && c.Num == 0 {
				close(early) // what came before it has been heeded
			}
			if c.Respond(f) != nil {
				return
			}
			if f.Request != nil {
				crowd.wait(c.Done())
				if c.Answer(f.Request) != nil {
					return
				}
			}
		}
	}})
	var tr *pool.Transport
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if p.conns() == 0 && !within(patience, func() bool { return gauges(tr).Waiting == n }) {
			return nil, errors.New("the requests don't come")
		}
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &lateSocket{TCPConn: c.(*net.TCPConn), early: early}, nil
	}
	tr = r.h2pool(pool.Config{Base: &http.Transport{DialContext: dial}})
	together(n, func(i int) {
		if err := doer(tr.RoundTrip).send(newPatient(t, http.MethodPost, p.url, bodyKinds[i%len(bodyKinds)])); err != nil {
			t.Error(err)
		}
	})
	if p.conns() != n {
		t.Errorf("%d connections for %d requests at once", p.conns(), n)
	}
}
