package bench

import (
	"slices"
	"strings"
)

// everywhere is what absent says of a client that is in no row.
const everywhere = "all rows"

// absent says where a client has no part in the run (Client.Has): names of protocols, of
// scenarios, and of single rows as "scenario protocol". Empty: it's in all rows.
func (p *plan) absent(c Client) string {
	out := func(is func(row) bool) bool {
		of := slices.DeleteFunc(slices.Clone(p.rows), func(w row) bool { return !is(w) })
		return len(of) > 0 && !slices.ContainsFunc(of, func(w row) bool { return c.has(w.scenario, w.proto) })
	}
	if out(func(row) bool { return true }) {
		return everywhere
	}
	var names, protos []string
	for _, q := range p.protos() {
		if out(func(w row) bool { return w.proto.name == q.name }) {
			protos = append(protos, q.name)
		}
	}
	names = append(names, protos...)
	for _, w := range p.rows {
		in := func(v row) bool {
			return v.scenario.name == w.scenario.name && !slices.Contains(protos, v.proto.name)
		}
		name := w.scenario.name
		switch {
		case !in(w) || c.has(w.scenario, w.proto):
			continue
		case !out(in):
			name += " " + w.proto.name
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// refuseEmpty refuses a run of clients that have no part in any of its rows.
func (p *plan) refuseEmpty() error {
	if p.rounds() > 0 {
		return nil
	}
	names := namesOf(p.Clients, func(c Client) string { return c.Name })
	return &UsageError{Option: "client", Value: strings.Join(names, ","), Reason: "has no part in any of the rows chosen"}
}
