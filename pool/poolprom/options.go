package poolprom

import "github.com/prometheus/client_golang/prometheus"

// defaultMaxHosts is enough for the dependencies of a service.
const defaultMaxHosts = 50

// Options are a collector's. The zero Options work. What Prometheus doesn't take (a constant label
// with the name of another one, say) is an error when the collector is registered.
type Options struct {
	// Namespace is what the names begin with. Empty: "connwise".
	Namespace string
	// ConstLabels are added to every series. They must not be named as those that the series
	// have already (see the package's comment).
	ConstLabels prometheus.Labels
	// MaxHosts is how many hosts have series of their own. Zero: 50. Negative: all, without a
	// bound.
	MaxHosts int
}

func (o Options) namespace() string {
	if o.Namespace == "" {
		return "connwise"
	}
	return o.Namespace
}

// room is how many more hosts may have series where n have.
func (o Options) room(n int) int {
	switch {
	case o.MaxHosts < 0:
		return int(^uint(0) >> 1)
	case o.MaxHosts == 0:
		return defaultMaxHosts - n
	}
	return o.MaxHosts - n
}
