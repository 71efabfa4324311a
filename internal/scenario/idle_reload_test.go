package scenario

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"example.com/connwise/pool"
)

// A server ends each connection with its twentieth answer without a word, and is reloaded
// five times a second: what is idle is closed then, what is busy behind its answer. Few
// requests meet a close on the wire, their errors say so, and nothing runs twice.
func TestAReloadUnderLoadLosesNoRequest(t *testing.T) {
	long(t)
	judged(t, 10*time.Millisecond, reloaded)
}

func reloaded(j *judge) {
	const workers, each, every, span = 10, 20, 200 * time.Millisecond, 1200 * time.Millisecond
	t := j.T
	r := newRig(t, plain)
	ps := r.pairs(func(speech) manners { return manners{requests: each} }, noConfig)
	over := make(chan struct{})
	time.AfterFunc(span, func() { close(over) })
	var reloads sync.WaitGroup
	for i, p := range ps {
		reloads.Go(func() {
			pause(time.Duration(i) * every / 4)
			for tick := time.NewTicker(every); ; {
				select {
				case <-tick.C:
					p.reload(farewells[0])
				case <-over:
					return
				}
			}
		})
	}
	eachPair(ps, func(p *pair) {
		var mu sync.Mutex
		sent, failed := 0, 0
		together(workers, func(i int) {
			for k := i; ; k++ {
				select {
				case <-over:
					return
				default:
				}
				c := newPatient(t, http.MethodPost, p.url, bodyKinds[k%len(bodyKinds)])
				err := doer(p.tr.RoundTrip).send(c)
				mu.Lock()
				sent++
				if err != nil {
					failed++
					pe := poolError(t, err)
					if pe.Phase == pool.PhaseUnknown || pe.Phase.Unprocessed() && p.count(c.id) > 0 {
						t.Errorf("%s: it came %d times: %#v", p.name, p.count(c.id), pe)
					}
				}
				mu.Unlock()
				pause(10*time.Millisecond + time.Duration(rand.IntN(20))*time.Millisecond) // not all at once
			}
		})
		t.Logf("%s: %d of %d requests met a close, on %d connections", p.name, failed, sent, p.conns())
		if failed > 6+sent/50 {
			j.Errorf("%s: %d of %d requests met a close", p.name, failed, sent)
		}
		if got := p.received(); got < sent-failed || got > sent {
			t.Errorf("%s: the server got %d requests, %d were sent, and %d failed", p.name, got, sent, failed)
		}
		if n := p.twice(); n > 0 {
			t.Errorf("%s: %d requests ran twice", p.name, n)
		}
	})
	reloads.Wait()
}
