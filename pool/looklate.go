package pool

// A request that leaves nothing to be done between the look at its connection and the first
// byte has the look taken with the write: on a plain socket the two, and the first read, are one
// call (internal/h1's duplex). If that finds the connection dead, nothing was sent, and the
// request takes another one as if the look had been taken before.

// looksLate tells whether the call can have it so: no code of the caller's runs, and nobody is
// told of the connection before.
func (c *call) looksLate() bool {
	return c.trace == nil && c.body == nil && c.caution == nil && !c.hooked()
}

// looksLate tells whether the granted connection can, and has been in the pool: what comes of one
// straight from its dial is told to the caller.
func (g *grant) looksLate() bool {
	return (g.reused || g.wasIdle) && g.c.late && g.c.trace == nil && !g.c.peerClosed.Load()
}

// foundStale retires the connection that the late look has found dead.
func (c *call) foundStale() {
	c.stale = true
	reason, err := c.g.c.judgeLook(c.g.c.probe.Glanced())
	c.h.foundDead(c.g, reason, err)
	c.g = grant{}
}
