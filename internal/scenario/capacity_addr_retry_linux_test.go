package scenario

import (
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// bury makes host n of the town swallow connections: it answers no SYN.
func (tn *town) bury(n int) {
	tn.r.t.Helper()
	port, _ := strconv.Atoi(tn.port)
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err == nil {
		tn.r.onEnd(func() { syscall.Close(fd) })
		err = syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 44, 0, byte(n)}})
	}
	if err == nil {
		err = syscall.Listen(fd, 0)
	}
	if err != nil {
		tn.r.t.Fatal(err)
	}
	for range 8 {
		c, err := net.DialTimeout("tcp", tn.addr(n), 100*time.Millisecond)
		if err != nil {
			return
		}
		tn.r.onEnd(func() { c.Close() })
	}
	tn.r.t.Fatal("the backlog doesn't fill up")
}

// The first address is dead. That costs one request a quarter of a second, and no further
// one anything; requests that come together with the first share its loss.
func TestADeadAddressCostsItsTimeOnce(t *testing.T) {
	tn := newRig(t, mode{}).town()
	tn.bury(1)
	tn.inhabit(2, nil)
	tn.resolvesTo(1, 2)
	tr := tn.r.pool(pool.Config{Dialer: tn.dialer(nil), MaxIdlePerHost: 1})
	for i := range 5 {
		start := time.Now()
		v, err := tn.visit(tr.RoundTrip, http.MethodPost)
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(start)
		if i == 0 && (took < 250*time.Millisecond || took > 600*time.Millisecond) {
			t.Errorf("the first request took %v", took)
		}
		if i > 0 && took > 200*time.Millisecond {
			t.Errorf("request %d took %v", i, took)
		}
		if v.host != "2" {
			t.Errorf("host %s has answered", v.host)
		}
		tr.CloseIdleConnections()
	}
	if n := tn.dialled(1); n != 1 {
		t.Errorf("the dead address was dialled %d times", n)
	}
}

// A server breaks in a way that shows in requests only: what reaches it is reset. There are
// more idle connections to it than a request has attempts, but the name has another address,
// and the second attempt goes there.
func TestASecondAttemptGoesToAnotherAddress(t *testing.T) {
	const idle = 5
	for _, m := range []struct {
		name    string
		n, most int // requests at the same time, and the retries that each may need
	}{
		{"one", 1, 1},
		{"several", 3, 2}, // a connection that comes free before the dial is done is taken
	} {
		t.Run(m.name, func(t *testing.T) {
			tn := newRig(t, mode{}).town()
			var broken atomic.Bool
			arrived, release := make(chan struct{}, idle), make(chan struct{})
			tn.inhabit(1, func(http.ResponseWriter, *http.Request) {
				if broken.Load() {
					panic(http.ErrAbortHandler)
				}
				arrived <- struct{}{}
				<-release
			})
			tn.inhabit(2, nil)
			tn.resolvesTo(1, 2)
			tr := tn.r.pool(pool.Config{Dialer: tn.dialer(nil)})
			warm := make(chan error, idle)
			for range idle {
				go func() {
					_, err := tn.visit(tr.RoundTrip, http.MethodPost)
					warm <- err
				}()
			}
			for range idle {
				<-arrived
			}
			close(release)
			for range idle {
				if err := <-warm; err != nil {
					t.Fatal(err)
				}
			}
			broken.Store(true)
			do := &retry.Transport{Base: tr, Policy: retry.Policy{Interval: 20 * time.Millisecond}}
			together(m.n, func(int) {
				var report retry.Report
				send := func(req *http.Request) (*http.Response, error) {
					return do.RoundTrip(req.WithContext(retry.WithReport(req.Context(), &report)))
				}
				v, err := tn.visit(send, http.MethodGet)
				if err != nil {
					t.Error(err)
				} else if v.host != "2" || report.Retries > m.most {
					t.Errorf("host %s has answered after %d retries: %v", v.host, report.Retries, report.Errors)
				}
			})
			if n := tn.dialled(1); n != idle {
				t.Errorf("the broken address was dialled %d times, want %d", n, idle)
			}
		})
	}
}
