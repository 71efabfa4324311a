package scenario

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/connwise/pool"
)

// However few connections are allowed and whatever else is set, in a storm of hurried requests,
// upgrades among them, while others warm, drain and close: the server never has more of
// them open than allowed, every error is the pool's, and then plain requests go through at
// once. So it is with a dial hook that does what it must not.
func TestAttackLimitInAStorm(t *testing.T) {
	seed := rand.Uint64()
	if s := os.Getenv("STORM_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	rounds := 1
	if s := os.Getenv("STORM_ROUNDS"); s != "" {
		rounds, _ = strconv.Atoi(s)
	}
	for range rounds {
		var cases []func()
		for _, sp := range speeches {
			for _, hooked := range []bool{false, true} {
				s := &storm{seed: seed, sp: sp, hooked: hooked}
				seed++
				cases = append(cases, func() { t.Run(label(sp.name, "hooked:", hooked, "seed:", s.seed), s.run) })
			}
		}
		side(t, cases)
	}
}

// A storm is one of these. Its settings follow from its seed.
type storm struct {
	*testing.T
	seed   uint64
	sp     speech
	hooked bool
	tr     *pool.Transport
	url    string
}

func (s *storm) rand(n int) *rand.Rand { return rand.New(rand.NewPCG(s.seed, uint64(n))) }

// of returns one of vs.
func of[T any](rnd *rand.Rand, vs ...T) T { return vs[rnd.IntN(len(vs))] }

func (s *storm) config() pool.Config {
	const ms = time.Millisecond
	rnd := s.rand(0)
	cfg := pool.Config{
		Base:               &http.Transport{},
		MaxConnsPerHost:    of(rnd, 1, 2, 3),
		MaxWait:            of(rnd, 0, 0, 3*ms, 50*ms),
		MaxWaiters:         of(rnd, 0, 0, 5, 20),
		MinIdlePerHost:     of(rnd, 0, 1),
		MaxRequestsPerConn: of(rnd, 0, 1, 2, 5),
		MaxConnAge:         of(rnd, 0, 0, 20*ms),
		ConfirmAfter:       of(rnd, 0, 0, 1, 5*ms),
	}
	if s.hooked {
		cfg.Base.DialContext = oddDials(s.rand(1))
	}
	return cfg
}

func (s *storm) run(t *testing.T) {
	const workers, each = 40, 10
	s.T = t
	r := newPart(t, s.sp.mode)
	url, census := r.serveCounted(s.sp)
	cfg := s.config()
	s.url, s.tr = url, r.client(s.sp, cfg)
	over := make(chan struct{})
	var meddlers sync.WaitGroup
	for i := range 2 {
		meddlers.Go(func() { s.meddle(s.rand(10+i), over) })
	}
	together(workers, func(i int) {
		rnd := s.rand(100 + i)
		for range each {
			s.hurry(rnd)
		}
	})
	close(over)
	meddlers.Wait()
	if n := census.peak(); n > cfg.MaxConnsPerHost {
		t.Errorf("%d connections were open at the server, with a limit of %d", n, cfg.MaxConnsPerHost)
	}
	if n := gauges(s.tr).Waiting; n != 0 {
		t.Errorf("%d wait, and all have left", n)
	}
	s.calm()
	shutDown(t, s.tr)
}

// calm sends plain requests, one after the other: they are served at once.
func (s *storm) calm() {
	if s.hooked {
		return // it goes on to be odd
	}
	s.plain(false)
	if !s.sp.h2 || s.sp.tls {
		s.plain(true)
		s.plain(false)
	}
}

// plain sends a request. A wait of a few milliseconds may end while a dial that the storm has
// left holds the last slot: then it is sent again.
func (s *storm) plain(upgrade bool) {
	for start := time.Now(); ; {
		err := s.send(upgrade)
		took := time.Since(start)
		switch {
		case err != nil && (!errors.Is(err, pool.ErrWaitTimeout) || took > soon):
			s.Errorf("afterwards, upgrade %t, after %v: %v; %+v", upgrade, took, err, gauges(s.tr))
			return
		case err == nil && took > 2*soon:
			s.Errorf("afterwards, upgrade %t: it took %v", upgrade, took)
			return
		case err == nil:
			return
		}
	}
}

func (s *storm) send(upgrade bool) error {
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/?n=0", nil)
	if err != nil {
		return err
	}
	if upgrade {
		switching(q)
	}
	resp, err := s.tr.RoundTrip(q)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func switching(q *http.Request) {
	q.Header.Set("Connection", "Upgrade")
	q.Header.Set("Upgrade", "x")
}

// hurry sends a request of a random kind with little time.
func (s *storm) hurry(rnd *rand.Rand) {
	ctx, cancel := context.WithTimeout(s.Context(), of(rnd, time.Duration(rnd.IntN(12_000))*time.Microsecond, time.Second))
	defer cancel()
	if rnd.IntN(10) == 0 {
		ctx = pool.AvoidAddr(ctx, s.url[strings.LastIndex(s.url, "/")+1:])
	}
	body := of[io.Reader](rnd, nil, strings.NewReader("some content"), io.MultiReader(strings.NewReader("some content")))
	q, err := http.NewRequestWithContext(ctx, of(rnd, http.MethodGet, http.MethodPost, http.MethodDelete), s.url+"/?n="+strconv.Itoa(rnd.IntN(hustles)), body)
	if err != nil {
		s.Error(err)
		return
	}
	if (!s.sp.h2 || s.sp.tls) && body == nil && rnd.IntN(3) == 0 {
		switching(q)
	}
	resp, err := s.tr.RoundTrip(q)
	if err != nil {
		if _, ok := errors.AsType[*pool.Error](err); !ok {
			s.Errorf("%T: %v", err, err)
		}
		return
	}
	if rnd.IntN(3) > 0 && resp.StatusCode == http.StatusOK {
		io.Copy(io.Discard, resp.Body)
	}
	resp.Body.Close()
}

// meddle does what others may do at any time.
func (s *storm) meddle(rnd *rand.Rand, over chan struct{}) {
	host := s.url[strings.LastIndex(s.url, "/")+1:]
	for {
		select {
		case <-over:
			return
		case <-time.After(time.Duration(rnd.IntN(4000)) * time.Microsecond):
		}
		switch rnd.IntN(4) {
		case 0:
			s.tr.CloseIdleConnections()
		case 1:
			s.tr.Drain(host)
		case 2:
			s.tr.Stats()
		default:
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rnd.IntN(5000))*time.Microsecond)
			s.tr.Warm(ctx, s.url, rnd.IntN(5)) // its error depends on luck
			cancel()
		}
	}
}

// oddDials is a hook that panics, ends its goroutine, hangs, is late, or returns nothing now
// and then.
func oddDials(rnd *rand.Rand) hook {
	var mu sync.Mutex
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		mu.Lock()
		n, d := rnd.IntN(30), time.Duration(rnd.IntN(10_000))*time.Microsecond
		mu.Unlock()
		switch n {
		case 0:
			panic("odd")
		case 1:
			return nil, nil
		case 2:
			runtime.Goexit()
		case 3:
			<-ctx.Done()
			return nil, ctx.Err()
		case 4:
			return nil, errHook
		case 5: // it heeds its context, but not at once
			<-time.After(d)
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
}
