package bench

import (
	"runtime"
	"slices"
	"strings"
)

// scenarios are the chosen ones, each once.
func (p *plan) scenarios() []scenario {
	var list []scenario
	for _, w := range p.rows {
		if !slices.ContainsFunc(list, func(s scenario) bool { return s.name == w.scenario.name }) {
			list = append(list, w.scenario)
		}
	}
	return list
}

// protos are those of the rows, each once.
func (p *plan) protos() []proto {
	var list []proto
	for _, w := range p.rows {
		if !slices.Contains(list, w.proto) {
			list = append(list, w.proto)
		}
	}
	return list
}

// resolveClients leaves out of a run against a target the clients that can't be in it.
func (p *plan) resolveClients() error {
	if p.target == nil {
		return nil
	}
	all := p.Clients
	p.Clients = nil
	for _, c := range all {
		if c.Native == nil {
			p.Clients = append(p.Clients, c)
		}
	}
	if len(p.Clients) == 0 {
		return &UsageError{Option: "client", Value: all[0].Name, Reason: "can't be kept from sending a call twice, and so can't run against a target"}
	}
	return nil
}

// resolveRows takes the scenarios and protocols that were named. Where none was, a run has
// those that are quick, or with All all of them; against a target those that are gentle.
func (p *plan) resolveRows() error {
	if len(p.Proxies) > 0 {
		return p.resolveProxied()
	}
	chosen, err := p.chosenScenarios()
	if err != nil {
		return err
	}
	protos, err := p.chosenProtos()
	if err != nil {
		return err
	}
	for _, s := range chosen {
		before := len(p.rows)
		for _, q := range protos {
			if p.runs(s, q) {
				p.rows = append(p.rows, rowsOf(s, q, len(p.Scenarios) > 0)...)
			}
		}
		if len(p.rows) == before && len(p.Scenarios) > 0 {
			return &UsageError{Option: "proto", Value: namesList(protos), Reason: "scenario " + s.name + " doesn't run over it", Known: s.protos}
		}
	}
	if len(p.rows) == 0 { // protocols alone were named, of no quick scenario
		return &UsageError{Option: "proto", Value: namesList(protos), Reason: "none of the scenarios runs over it without being named"}
	}
	return nil
}

// runs says whether the run has this scenario over this protocol.
func (p *plan) runs(s scenario, q proto) bool {
	switch {
	case s.protos != nil && !slices.Contains(s.protos, q.name), s.linux && runtime.GOOS != "linux":
		return false
	case len(p.Scenarios) > 0 || p.All || p.target != nil:
		return true
	case len(p.Protos) > 0: // as if they were all
		return len(s.quick) > 0
	}
	return slices.Contains(s.quick, q.name)
}

func rowsOf(s scenario, q proto, named bool) []row {
	if s.sizes == nil {
		return []row{{scenario: s, proto: q}}
	}
	var rows []row
	for _, n := range s.sizes(q, named) {
		rows = append(rows, row{scenario: s, proto: q, size: n})
	}
	return rows
}

func (p *plan) chosenScenarios() ([]scenario, error) {
	var chosen []scenario
	for _, name := range p.Options.Scenarios {
		i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })
		switch {
		case i < 0:
			return nil, &UsageError{Option: "scenario", Value: name, Reason: "unknown", Known: ScenarioNames()}
		case !p.takesLoad(scenarios[i]):
			return nil, p.refuseLoad(name)
		case p.target != nil && !scenarios[i].target:
			return nil, &UsageError{Option: "scenario", Value: name, Reason: "is for the peer alone, and can't run against a target", Known: scenariosThat(func(s scenario) bool { return s.target })}
		case !slices.ContainsFunc(chosen, func(s scenario) bool { return s.name == name }):
			chosen = append(chosen, scenarios[i])
		}
	}
	if len(chosen) > 0 && p.All {
		return nil, &UsageError{Option: "all", Value: "true", Reason: "stands for every scenario: name none beside it"}
	}
	if len(chosen) == 0 {
		for _, s := range scenarios {
			if (p.target == nil || s.gentle) && p.takesLoad(s) {
				chosen = append(chosen, s)
			}
		}
	}
	return chosen, nil
}

func (p *plan) chosenProtos() ([]proto, error) {
	var chosen []proto
	for _, name := range p.Options.Protos {
		i := slices.IndexFunc(protos, func(q proto) bool { return q.name == name })
		switch {
		case i < 0:
			return nil, &UsageError{Option: "proto", Value: name, Reason: "unknown", Known: ProtoNames()}
		case p.target != nil && protos[i].tls != (p.target.Scheme == "https"):
			return nil, &UsageError{Option: "proto", Value: name, Reason: "doesn't fit the target's scheme " + p.target.Scheme}
		case !slices.Contains(chosen, protos[i]):
			chosen = append(chosen, protos[i])
		}
	}
	if len(chosen) == 0 {
		for _, q := range protos {
			if p.target == nil || !q.h2 && q.tls == (p.target.Scheme == "https") {
				chosen = append(chosen, q)
			}
		}
	}
	return chosen, nil
}

func namesList(ps []proto) string {
	return strings.Join(namesOf(ps, func(q proto) string { return q.name }), ",")
}
