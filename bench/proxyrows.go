package bench

import (
	"slices"
	"time"
)

// A Skip is a row that couldn't be run.
type Skip struct {
	Scenario string `json:"scenario"`
	Proto    string `json:"proto"`
	Proxy    string `json:"proxy"`
	Reason   string `json:"reason"`
}

// resolveProxied is resolveRows with Proxies. A row that a proxy can't run is skipped, with
// the reason in the report.
func (p *plan) resolveProxied() error {
	switch {
	case p.target != nil:
		return &UsageError{Option: "proxy", Value: p.Proxies[0].Name, Reason: "stands before the peer, and can't stand before a target"}
	case p.All:
		return &UsageError{Option: "all", Value: "true", Reason: "behind proxies every scenario runs without it: name protocols for more"}
	}
	chosen, err := p.chosenProxied()
	if err != nil {
		return err
	}
	protos, err := p.chosenProtos()
	if err != nil {
		return err
	}
	for _, s := range chosen {
		for _, x := range p.Proxies {
			for _, q := range protos {
				if p.runsProxied(s, q) {
					p.addProxied(s, x, q)
				}
			}
		}
	}
	if len(p.rows)+len(p.skipped) == 0 {
		return &UsageError{Option: "proto", Value: namesList(protos), Reason: "none of the scenarios runs over it behind a proxy"}
	}
	return nil
}

// runsProxied says whether the run has this scenario over this protocol, behind whatever proxy.
func (p *plan) runsProxied(s proxied, q proto) bool {
	if len(p.Protos) > 0 {
		return slices.Contains(s.protos, q.name)
	}
	return slices.Contains(s.quick, q.name)
}

// addProxied adds the row, if the proxy can do it.
func (p *plan) addProxied(s proxied, x Proxy, q proto) {
	asked, lacks := s.asks(p, x, q)
	if !slices.Contains(x.Protos, q.name) {
		lacks = x.Name + " isn't configured for " + q.name
	}
	if lacks != "" {
		p.skipped = append(p.skipped, Skip{s.name, q.name, x.Name, lacks})
		return
	}
	asked.Proto = q.name
	p.rows = append(p.rows, row{scenario: s.scenario, proto: q, proxy: &x, asked: asked, usual: s.usual})
}

func (p *plan) chosenProxied() ([]proxied, error) {
	if len(p.Scenarios) == 0 {
		return slices.DeleteFunc(slices.Clone(proxiedScenarios), func(s proxied) bool { return !p.takesLoad(s.scenario) }), nil
	}
	var chosen []proxied
	for _, name := range p.Scenarios {
		i := slices.IndexFunc(proxiedScenarios, func(s proxied) bool { return s.name == name })
		if i < 0 {
			return nil, &UsageError{Option: "scenario", Value: name, Reason: "doesn't run behind a proxy", Known: ProxiedScenarioNames()}
		}
		if !p.takesLoad(proxiedScenarios[i].scenario) {
			return nil, p.refuseLoad(name)
		}
		if !slices.ContainsFunc(chosen, func(s proxied) bool { return s.name == name }) {
			chosen = append(chosen, proxiedScenarios[i])
		}
	}
	return chosen, nil
}

// length is how long a row's rounds are together. Behind a proxy that is what its scenario
// needs, where neither Duration nor Requests say more.
func (p *plan) length(w row) time.Duration {
	if p.own.Duration == 0 && p.own.Requests == 0 && w.usual > 0 {
		return w.usual
	}
	return p.Duration
}

// proxyNotes say what the proxies are.
func (p *plan) proxyNotes() []ProxyNote {
	var notes []ProxyNote
	for _, x := range p.Proxies {
		notes = append(notes, ProxyNote{x.Name, x.Note})
	}
	return notes
}
