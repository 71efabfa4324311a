package probe

import (
	"context"
	"errors"
	"sync"
	"time"
)

// The results of a Check.
const (
	resultAnswered = "answered"
	resultBefore   = "ended before"
	resultEnded    = "ended"
	resultSilent   = "no answer"
)

// check sends a second request on connections of growing ages: each is twice as old as the one
// before, and the last Options.Max. What a NAT or a firewall has dropped without a word is
// found so, and only so.
func (m *measurement) check(ctx context.Context) {
	n := m.p.opt.Conns
	checks := make([]Check, n)
	var wg sync.WaitGroup
	for i := range n {
		age := m.p.opt.Max >> (n - 1 - i)
		wg.Go(func() { checks[i] = Check{Millis(age), m.again(ctx, age)} })
	}
	wg.Wait()
	m.Checks = checks
}

// again uses a connection again at that age, and says what came of it.
func (m *measurement) again(ctx context.Context, age time.Duration) string {
	s, err := m.open(ctx)
	if err != nil {
		return m.p.mask.text(err.Error())
	}
	defer s.Close()
	a, err := s.ask(ctx)
	switch {
	case err != nil:
		return m.p.mask.text(err.Error())
	case a.last != "":
		return resultBefore
	}
	if e := s.watch(ctx, age); e.ended() {
		return resultBefore
	}
	if ctx.Err() != nil {
		return "interrupted"
	}
	_, err = s.ask(ctx)
	if _, ok := isEnd(err); ok {
		return resultEnded
	}
	switch {
	case err == nil:
		return resultAnswered
	case errors.Is(err, errSilent):
		return resultSilent
	}
	return m.p.mask.text(err.Error())
}
