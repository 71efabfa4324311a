package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/connwise/health"
)

// A measurement is one of one protocol under way.
type measurement struct {
	p *Probe

	mu sync.Mutex // guards the notes and RTT while several connections are measured
	Protocol
}

func (m *measurement) remark(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Notes = append(m.Notes, m.p.mask.text(fmt.Sprintf(format, args...)))
}

// run measures everything. l is the first connection, and may be nil. An error means that
// there was no answer to the first request.
func (m *measurement) run(ctx context.Context, l *link) error {
	if l == nil {
		var err error
		if l, err = m.p.dial(ctx, alpnOf(m.Proto)); err != nil {
			return err
		}
	}
	s, err := m.p.start(ctx, m.Proto, l)
	if err != nil {
		return err
	}
	a, err := s.ask(ctx)
	if err != nil {
		_ = s.Close()
		return fmt.Errorf("the first request: %w", err)
	}
	m.learn(l, s, a)
	m.measure(ctx, s, a)
	return nil
}

// learn takes what the first answer says.
func (m *measurement) learn(l *link, s session, a answer) {
	m.HTTP, m.Status, m.Server = m.p.mask.word(a.proto), a.status, m.p.mask.word(a.header.Get("Server"))
	m.RTT = Millis(l.rtt)
	if l.tls != nil {
		m.TLS, m.ALPN = tls.VersionName(l.tls.ConnectionState().Version), m.p.mask.word(l.alpn())
	}
	if h2, ok := s.(*h2session); ok {
		m.MaxStreams = h2.streams
	}
	hint := strings.Join(a.header.Values("Keep-Alive"), ", ")
	if m.KeepAlive = hintOf(hint); m.KeepAlive != nil {
		m.KeepAlive.Text = m.p.mask.word(hint)
	}
	if a.status >= 400 {
		m.remark("the answer is %d: errors may be treated differently from what the service answers", a.status)
	}
}

// hintOf reads a Keep-Alive header field; nil without one.
func hintOf(text string) *Hint {
	if text == "" {
		return nil
	}
	h := &Hint{Text: printable(text, maxWord)}
	if d, ok := health.ParseKeepAlive(text); ok {
		h.Timeout = Millis(d)
	}
	for param := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(param, "=")
		if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil && n > 0 && strings.EqualFold(strings.TrimSpace(name), "max") {
			h.Max = n
		}
	}
	return h
}

// measure does everything that comes after the first answer, at the same time. It closes s.
func (m *measurement) measure(ctx context.Context, s session, a answer) {
	unused, enough := context.WithCancel(ctx)
	defer enough()
	begun := time.Now()
	var wg sync.WaitGroup
	wg.Go(func() { m.count(ctx, s, a) })
	wg.Go(func() { m.Unused = m.hold(unused, "unused", unusedConns, m.untouched) })
	if a.last != "" {
		m.remark("the first answer ends its connection (%s): there is nothing to reuse", a.last)
		stop := time.AfterFunc(m.p.minUnused, enough)
		defer stop.Stop()
		wg.Wait()
		return
	}
	if m.p.opt.Verify {
		wg.Go(func() { m.check(ctx) })
	}
	m.Idle = m.hold(ctx, "idle", m.p.opt.Conns, m.asked)
	// Longer than twice the idle timeout is all that one wants to know of unused ones.
	watch := max(m.p.minUnused, 2*m.Idle.Max.Duration())
	if m.Idle.Ended == 0 {
		watch = m.p.minUnused
	}
	stop := time.AfterFunc(watch-time.Since(begun), enough)
	defer stop.Stop()
	wg.Wait()
}

// asked makes one request and watches its connection.
func (m *measurement) asked(ctx context.Context) (ending, error) {
	s, err := m.open(ctx)
	if err != nil {
		return ending{}, err
	}
	defer s.Close()
	a, err := s.ask(ctx)
	switch {
	case err != nil:
		return ending{}, err
	case a.last != "":
		return ending{}, errors.New("its answer ended the connection: " + a.last)
	}
	return m.watch(ctx, s), nil
}

// untouched watches a connection on which no request is sent.
func (m *measurement) untouched(ctx context.Context) (ending, error) {
	s, err := m.open(ctx)
	if err != nil {
		return ending{}, err
	}
	defer s.Close()
	return m.watch(ctx, s), nil
}

func (m *measurement) watch(ctx context.Context, s session) ending {
	m.p.note(func(pr *Progress) { pr.Open++ })
	e := s.watch(ctx, m.p.opt.Max)
	m.p.note(func(pr *Progress) {
		pr.Open--
		if e.ended() {
			pr.Ended++
		}
	})
	return e
}

func (m *measurement) open(ctx context.Context) (session, error) {
	l, err := m.p.dial(ctx, alpnOf(m.Proto))
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.RTT = min(m.RTT, Millis(l.rtt))
	m.mu.Unlock()
	return m.p.start(ctx, m.Proto, l)
}
