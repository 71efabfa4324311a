package benchhtml

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"example.com/connwise/bench"
)

// A scenario is the rows of one, in groups: those of a group differ by the client alone.
type scenario struct {
	name   string
	groups []*group
}

// about says what happens in it; behind proxies that is something else.
func (s *scenario) about() string {
	if slices.ContainsFunc(s.groups, func(g *group) bool { return g.proxy != "" }) {
		return bench.AboutProxied(s.name)
	}
	return bench.About(s.name)
}

// A group is a scenario's rows over one protocol, of one size, load and proxy.
type group struct {
	scenario, proto, load, proxy string
	size                         int64 // -1: none
	rows                         []bench.Result
}

func scenariosOf(rep bench.Report) []*scenario {
	var list []*scenario
	for _, r := range rep.Results {
		i := slices.IndexFunc(list, func(s *scenario) bool { return s.name == r.Scenario })
		if i < 0 {
			i, list = len(list), append(list, &scenario{name: r.Scenario})
		}
		list[i].add(r)
	}
	return list
}

func (s *scenario) add(r bench.Result) {
	g := group{scenario: r.Scenario, proto: r.Proto, load: r.Load, proxy: r.Proxy, size: -1}
	if r.Size != nil {
		g.size = *r.Size
	}
	i := slices.IndexFunc(s.groups, func(o *group) bool { return o.name() == g.name() })
	if i < 0 {
		i, s.groups = len(s.groups), append(s.groups, &g)
	}
	s.groups[i].rows = append(s.groups[i].rows, r)
}

// line is the name of the group without its size.
func (g *group) line() string {
	name := g.proto
	if g.load != "" {
		name += ", load " + g.load
	}
	if g.proxy != "" {
		name += ", behind " + g.proxy
	}
	return name
}

// name tells the group from the others of its scenario.
func (g *group) name() string {
	if g.size < 0 {
		return g.line()
	}
	unit := unitOf(g.scenario)
	if g.size == 1 {
		unit = strings.TrimSuffix(unit, "s")
	}
	return fmt.Sprintf("%s, %s %s", g.line(), count(&g.size), unit)
}

// unitOf is what a scenario's sizes count.
func unitOf(scenario string) string {
	switch scenario {
	case "idle-conns":
		return "idle connections"
	case "hosts":
		return "hosts"
	}
	return "in size"
}

// rowName is for the row's errors.
func rowName(r bench.Result) string {
	s := scenario{name: r.Scenario}
	s.add(r)
	return strings.Join([]string{r.Scenario, s.groups[0].name(), r.Client}, " ")
}

// sized are the groups that have sizes, those that differ by size alone together and in its
// order; and the others.
func (s *scenario) sized() (families [][]*group, others []*group) {
	for _, g := range s.groups {
		if g.size < 0 {
			others = append(others, g)
			continue
		}
		i := slices.IndexFunc(families, func(f []*group) bool { return f[0].line() == g.line() })
		if i < 0 {
			i, families = len(families), append(families, nil)
		}
		families[i] = append(families[i], g)
	}
	for _, f := range families {
		slices.SortStableFunc(f, func(a, b *group) int { return cmp.Compare(a.size, b.size) })
	}
	return families, others
}

// figures are all plots of a scenario. Of each family of sizes only the largest has those that
// its single groups have.
func (s *scenario) figures(look looks) []figure {
	families, single := s.sized()
	var list []figure
	for _, f := range families {
		list = append(list, growth(f, look))
		single = append(single, f[len(f)-1])
	}
	if len(families) == 0 {
		list = append(list, cpuBars(s.name, single, look))
	}
	for _, g := range single {
		list = append(list, latency(g, look), timeline(g, look))
	}
	return slices.DeleteFunc(list, func(f figure) bool { return f.SVG == "" })
}

// reference is the client with which a group's ratios compare: net/http, or the last one.
func (g *group) reference() string {
	for _, r := range g.rows {
		if r.Client == bench.NetHTTP().Name {
			return r.Client
		}
	}
	return g.rows[len(g.rows)-1].Client
}

// row returns a client's; nil if it has none.
func (g *group) row(client string) *bench.Result {
	for i := range g.rows {
		if g.rows[i].Client == client {
			return &g.rows[i]
		}
	}
	return nil
}
