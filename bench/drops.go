package bench

import "example.com/connwise/internal/peer"

// drops returns the ways in which restart's peer drops connections, to take turns.
// Each hits so many requests where it is about requests. Those for connections without
// any have to come when no call is under way, which quietly sees to.
func (s *server) drops(requests int, quietly func(func() error) func() error) []func() error {
	if s.h2 != nil {
		return s.drops2(requests, quietly)
	}
	drop := func(d peer.Drop) func() error {
		return func() error {
			_, err := s.h1.Drop(d)
			return err
		}
	}
	cut := func(at peer.CutPoint, style peer.Style) func() error {
		return func() error { return s.h1.SetCut(peer.Cut{At: at, Style: style, Next: requests}) }
	}
	return []func() error{
		quietly(func() error {
			if err := s.h1.Down(restartAway); err != nil {
				return err
			}
			return drop(peer.Drop{Style: peer.FIN})()
		}),
		quietly(drop(peer.Drop{Style: peer.BareFIN})),
		quietly(drop(peer.Drop{Style: peer.RST})),
		drop(peer.Drop{Style: peer.BareFIN, Busy: true}),
		cut(peer.CutAfter, peer.RST),
		cut(peer.CutHalf, peer.BareFIN),
	}
}

// drops2 are those of HTTP/2.
func (s *server) drops2(requests int, quietly func(func() error) func() error) []func() error {
	end := func(g peer.H2GoAway) func() error {
		return func() error {
			_, err := s.h2.GoAway(g)
			return err
		}
	}
	refuse := func() error {
		f := s.faults.http2()
		f.Refuse = requests
		return s.h2.SetFaults(f)
	}
	return []func() error{
		quietly(func() error {
			if err := s.h2.Down(restartAway); err != nil {
				return err
			}
			return end(peer.H2GoAway{Quiet: true})()
		}),
		quietly(end(peer.H2GoAway{Quiet: true, Style: peer.BareFIN})),
		end(peer.H2GoAway{}),
		quietly(end(peer.H2GoAway{Quiet: true, Style: peer.RST})),
		end(peer.H2GoAway{Grace: restartEvery / 2}),
		refuse,
	}
}
