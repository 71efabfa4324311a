package pool

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"testing/synctest"
	"time"
)

// A site plays the peers of a script by itself: it lets dials end and answers requests, and
// keeps count.
type site struct {
	s        *script
	dialTime time.Duration // what a dial takes
	answer   time.Duration // and an answer
	refuses  error         // what dials end with, if it isn't nil
	fresh    time.Duration // after how long it closes a connection without a request; zero: never
	farewell string        // what it sends before

	stop chan struct{}

	mu      sync.Mutex
	dials   []time.Time
	open    int
	most    int   // open at the most
	carried []int // requests of each connection
	peers   []*peerConn
}

// run plays until the returned function is called. The fields must be set.
func (st *site) run() (stop func()) {
	st.stop = make(chan struct{})
	go func() {
		for {
			select {
			case d := <-st.s.dials:
				go st.accept(d)
			case <-st.stop:
				return
			}
		}
	}()
	return func() {
		close(st.stop)
		synctest.Wait()
		for _, p := range st.peers {
			p.Close()
		}
	}
}

// pause ends with the site: nothing may sleep when the bubble ends.
func (st *site) pause(d time.Duration) {
	if d == 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-st.stop:
	}
}

func (st *site) accept(d *scriptDial) {
	st.mu.Lock()
	st.dials = append(st.dials, time.Now())
	refuses := st.refuses
	st.mu.Unlock()
	st.pause(st.dialTime)
	if refuses != nil {
		d.done <- refuses
		return
	}
	st.mu.Lock()
	n := len(st.carried)
	st.carried = append(st.carried, 0)
	st.peers = append(st.peers, d.peer)
	st.open++
	st.most = max(st.most, st.open)
	st.mu.Unlock()
	d.done <- nil
	st.serve(d.peer, n)
	st.mu.Lock()
	st.open--
	st.mu.Unlock()
}

func (st *site) serve(p *peerConn, n int) {
	defer p.Close()
	if st.fresh > 0 {
		p.SetReadDeadline(time.Now().Add(st.fresh))
	}
	for {
		req, err := http.ReadRequest(p.br)
		if err != nil {
			io.WriteString(p, st.farewell)
			return
		}
		p.SetReadDeadline(time.Time{})
		io.Copy(io.Discard, req.Body)
		st.mu.Lock()
		st.carried[n]++
		answer := st.answer
		st.mu.Unlock()
		st.pause(answer)
		if _, err := fmt.Fprintf(p, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"); err != nil {
			return
		}
	}
}

// set changes something of the site while it runs.
func (st *site) set(f func()) {
	st.mu.Lock()
	defer st.mu.Unlock()
	f()
}

func (st *site) dialled() int {
	synctest.Wait()
	st.mu.Lock()
	defer st.mu.Unlock()
	return len(st.dials)
}

// fetch makes one request and reports whether it found a connection ready.
func (s *script) fetch(method string) (ready bool, err error) {
	req := s.request(method, nil)
	trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { ready = i.Reused }}
	resp, err := s.tr.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err != nil {
		return ready, err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return ready, err
	}
	if resp.StatusCode != 200 {
		return ready, fmt.Errorf("status %d", resp.StatusCode)
	}
	return ready, nil
}

// mustFetch is fetch for a request that has to find a connection ready.
func (s *script) mustFetch() {
	s.Helper()
	if ready, err := s.fetch("GET"); err != nil || !ready {
		s.Errorf("at %v: connection ready: %v, error %v", time.Now().Format("05.000"), ready, err)
	}
}
