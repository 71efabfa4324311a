// Package probe measures from outside what a server or proxy does with its connections: which
// protocols it speaks, how long it lets a connection idle and how it closes it, how many
// requests it takes on one, and what it announces of all that.
//
// It measures by waiting. Several connections carry one request each, at staggered moments,
// and are then held until the peer ends them, all at the same time: it takes as long as the
// peer's timeout, and no longer. Beside them a few connections carry nothing at all, and one
// carries requests in sequence until the peer wants no more. What will be sent is known
// before (Plan), and every number in it is bounded.
//
//	probe.go     New and Run: what is done in which order
//	options.go   Options, and what is refused of them
//	plan.go      what will be sent
//	link.go      one connection: dialled, with TLS, and how its end is told
//	session.go   HTTP on a link: h1.go, and h2.go with h2frames.go
//	ending.go    what became of one connection
//	measure.go   one protocol, everything at the same time
//	hold.go      connections that are held until they end
//	count.go     requests in sequence on one connection
//	check.go     connections that are used again at growing ages
//	summary.go   many endings in a few numbers
//	advice.go    the pool.Config that follows
//
// It goes straight to the server: proxies of the environment are not used. It sees what is
// between them as one peer. Its sockets send no TCP keep-alive probes, which would keep
// a NAT or a firewall from dropping an idle connection.
package probe
