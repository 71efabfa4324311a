package scenario

import (
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"example.com/connwise/pool"
)

// A path is a way to a site with a transport of its own.
type path struct {
	*pair
	way way
	url string
}

// paths makes one for each way of each protocol. They are for tests that take their time,
// so that it is taken once.
func (r *rig) paths(how func(speech) manners, cfg func(*site) pool.Config) (ps []*path) {
	r.t.Helper()
	for _, sp := range speeches {
		for _, w := range ways {
			if !w.in(sp) {
				continue
			}
			s := r.site(sp, how(sp))
			tr, url := r.by(w, s, cfg(s))
			ps = append(ps, &path{&pair{s, tr}, w, url})
		}
	}
	return ps
}

func eachPath(ps []*path, test func(i int, p *path)) {
	together(len(ps), func(i int) { test(i, ps[i]) })
}

func (p *path) String() string { return p.name + ", " + p.way.name }

// pacer sends POSTs on the path.
func (p *path) pacer(kind bodyKind) *pacer {
	return &pacer{do: doer(p.tr.RoundTrip), kind: kind, method: http.MethodPost, url: p.url}
}

// timers are how servers measure for how long a connection was idle: exactly; as proxies do
// on a busy machine, which closed from 17 ms before to 47 ms after their time; and with
// coarse ticks, up to 2.4 times of it.
var timers = []func(T time.Duration) time.Duration{
	func(T time.Duration) time.Duration { return T },
	func(T time.Duration) time.Duration { return T + time.Duration(rand.IntN(64)-17)*time.Millisecond },
	func(T time.Duration) time.Duration { return T + time.Duration(rand.IntN(14))*T/10 },
}

// A client that knows the timeout never meets it, however it comes to the server, however
// the server's timer works, and however it closes.
func TestOnNoWayDoesAPostMeetTheKnownTimeout(t *testing.T) {
	judged(t, 40*time.Millisecond, knownTimeout)
}

func knownTimeout(j *judge) {
	const T, margin = 400 * time.Millisecond, 160 * time.Millisecond // for a machine that is busy
	r := newRig(j.T, plain)
	n := 0
	ps := r.paths(func(sp speech) manners {
		n++
		f := farewells[n%len(farewells)]
		for !f.in(sp) {
			n++
			f = farewells[n%len(farewells)]
		}
		timer := timers[n%len(timers)]
		return manners{by: f, timeout: func() time.Duration { return timer(T) }}
	}, func(s *site) pool.Config {
		if n%2 == 0 {
			return pool.Config{Hosts: map[string]pool.HostConfig{s.addr: {ProxyIdleTimeout: T, IdleMargin: margin}}}
		}
		return pool.Config{ProxyIdleTimeout: T, IdleMargin: margin}
	})
	eachPath(ps, func(i int, p *path) {
		l := p.pacer(bodyKinds[i%len(bodyKinds)])
		l.pace(j, T+time.Duration(i%11-5)*time.Millisecond, T/8, T-time.Duration(i%7)*5*time.Millisecond)
		if l.oldest >= T-margin {
			j.T.Errorf("%v: a connection was used after %v", p, l.oldest)
		}
		if l.reused == 0 {
			j.Errorf("%v: no connection was reused after %v", p, T/8)
		}
		p.once(j, 4)
	})
}

// The server ends each connection behind its answer, without having said so. What has
// arrived is found; what crosses the next request is told for what it is, and nothing runs
// twice.
func TestOnNoWayDoesACloseBehindAnAnswerLoseARequest(t *testing.T) {
	const rounds = 16
	r := newRig(t, plain)
	ps := r.paths(func(sp speech) manners {
		f := farewells[0]
		if sp.tls {
			f = farewells[1]
		}
		return manners{by: f, timeout: func() time.Duration { return 0 }}
	}, func(*site) pool.Config { return pool.Config{} })
	eachPath(ps, func(i int, p *path) {
		failed := 0
		for k := range rounds {
			c := newPatient(t, http.MethodPost, p.url, bodyKinds[k%len(bodyKinds)])
			err := doer(p.tr.RoundTrip).send(c)
			came := p.count(c.id)
			switch {
			case err == nil && came != 1:
				t.Errorf("%v: a request that has an answer came %d times", p, came)
			case err != nil:
				failed++
				if pe := poolError(t, err); pe.Phase.Unprocessed() || pe.Phase == pool.PhaseUnknown || !pe.Reused || came > 1 {
					t.Errorf("%v: it came %d times: %#v", p, came, pe)
				}
			}
		}
		// A server that does so is found out by its second connection.
		if failed > rounds/2 {
			t.Errorf("%v: %d of %d requests crossed a close", p, failed, rounds)
		}
	})
}

// What is known of one host says nothing of another, on one transport.
func TestHostsHaveTimeoutsOfTheirOwn(t *testing.T) {
	for _, known := range []bool{true, false} {
		t.Run(label("known", known), func(t *testing.T) {
			judged(t, 40*time.Millisecond, func(j *judge) { ownTimeouts(j, known) })
		})
	}
}

func ownTimeouts(j *judge, known bool) {
	const short, long = 200 * time.Millisecond, 600 * time.Millisecond
	t := j.T
	r := newRig(t, plain)
	var all [][2]*pair
	for _, sp := range speeches {
		a := r.site(sp, manners{timeout: func() time.Duration { return short }})
		b := r.site(sp, manners{timeout: func() time.Duration { return long }})
		var cfg pool.Config
		if known {
			cfg.Hosts = map[string]pool.HostConfig{a.addr: {ProxyIdleTimeout: short}, b.addr: {ProxyIdleTimeout: long}}
		}
		tr := r.client(sp, cfg)
		all = append(all, [2]*pair{{a, tr}, {b, tr}})
	}
	together(len(all), func(i int) {
		a, b := all[i][0], all[i][1]
		if !known {
			a.teach(t)
		}
		la, lb := a.lanes(1)[0], b.lanes(1)[0]
		together(2, func(k int) {
			if k == 0 {
				la.pace(j, short, short-time.Millisecond, short/4, short+time.Millisecond)
			} else {
				lb.pace(j, short+50*time.Millisecond, short+100*time.Millisecond)
			}
		})
		if la.oldest >= short || la.reused == 0 {
			j.Errorf("%s: of the one that closes soon %d connections were reused, one after %v", a.name, la.reused, la.oldest)
		}
		if lb.reused != 2 {
			j.Errorf("%s: of the one that closes late %d connections were reused of 2", b.name, lb.reused)
		}
	})
}

// A load balancer forgets connections at a time that the client knows: none is used then,
// on which its request would hang.
func TestNoWayLeadsThroughAForgottenFlow(t *testing.T) {
	const T = 200 * time.Millisecond
	r := newRig(t, plain)
	var relays []*relay
	var ps []*pair
	for _, sp := range speeches {
		s := r.site(sp, manners{})
		l := r.relay(s.addr)
		cfg := pool.Config{ProxyIdleTimeout: T, Base: &http.Transport{DialContext: hookTo(l.addr)}}
		relays, ps = append(relays, l), append(ps, &pair{s, r.client(sp, cfg)})
	}
	together(len(ps), func(i int) {
		p, do := ps[i], doer(ps[i].tr.RoundTrip)
		for _, kind := range bodyKinds {
			if err := do.send(newPatient(t, http.MethodPost, p.url, kind)); err != nil {
				t.Errorf("%s: %v", p.name, err)
			}
			pause(T)
			relays[i].forget()
			pause(T / 4)
			start := time.Now()
			if err := do.send(newPatient(t, http.MethodPost, p.url, kind)); err != nil {
				t.Errorf("%s: %v", p.name, err)
			}
			if took := time.Since(start); took > time.Second {
				t.Errorf("%s: a request took %v", p.name, took)
			}
			pause(T) // for the next kind
		}
		p.once(t, 2*len(bodyKinds))
	})
}
