// Package poolprom shows the connection pools of package pool, and the retries of package retry,
// to Prometheus.
//
//	reg.MustRegister(
//		poolprom.New(p, poolprom.Options{}),       // a *pool.Transport or a *pool.Guard
//		poolprom.NewRetry(rt, poolprom.Options{}), // a *retry.Transport
//	)
//
// A scrape takes one snapshot, and costs nothing between scrapes: no request is counted twice.
// The package that a program's requests go through doesn't import Prometheus's.
//
// # Names
//
// All begin with connwise_pool_ or connwise_retry_ (Options.Namespace), and are in Prometheus's
// base units. A pool's have the labels host ("host:port"), scheme ("http" or "https"; empty for a
// Guard) and proxy ("scheme://host:port", never with credentials; empty for a direct way). Values
// of labels are those of the JSON in lower case with underscores: peer_closed_idle.
//
// # Hosts
//
// A crawler's million hosts would be a million times some fifty series. So only
// Options.MaxHosts hosts have series of their own, those with the most requests; what the
// others do, and those that the pool has forgotten, is summed as host="other" (scheme and proxy are
// empty then). A host that has series keeps them while the pool remembers it, unless another one
// comes to have twice as many requests. Its counters then end, and what it does from
// then on counts in "other"; so no counter ever goes back or jumps because a host has moved, and
// rate and increase are right for each of them. Until a host has lost its series the sum over
// all hosts is the pool's total.
//
// # Several pools
//
// Two collectors of the same kind in one registry need Options.ConstLabels that differ, such as
// pool="payments".
//
// The dashboard (dashboard.json) and the alerts (alerts.yml) beside this package use these names.
package poolprom
