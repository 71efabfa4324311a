package h2

// An inflow is a window for what the peer sends (RFC 9113 section 5.2): of a stream, or of
// the connection. Guarded by Conn.mu.
type inflow struct {
	size  int32 // of the whole window
	avail int32 // what the peer may send
	due   int32 // credit that hasn't been given back
}

// take notes n bytes that came, and reports whether the peer was allowed to send them.
func (f *inflow) take(n int32) bool {
	if n > f.avail {
		return false
	}
	f.avail -= n
	return true
}

// refund notes n bytes that needn't be kept any more, and reports whether their credit is
// worth a frame of its own.
func (f *inflow) refund(n int32) (urgent bool) {
	f.due += n
	return f.due >= f.size/2
}

// give returns the credit that is due for a frame, zero if it isn't worth one. What goes out
// anyway may have more of them.
func (f *inflow) give() uint32 {
	if f.due < f.size/8 || f.due == 0 {
		return 0
	}
	n := f.due
	f.avail += n
	f.due = 0
	return uint32(n)
}

// creditsLocked appends the credit that is due: the connection's, if it is worth a frame, and
// that of streams whose bodies are being read.
func (c *Conn) creditsLocked() {
	if len(c.out.b) == 0 && !c.creditUrgent {
		return
	}
	c.creditUrgent = false
	start := len(c.out.b)
	if n := c.inflow.give(); n > 0 {
		c.out.b = appendWindow(c.out.b, 0, n)
	}
	for i, x := range c.creditors {
		c.creditors[i] = nil
		x.crediting = false
		if n := x.inflow.give(); n > 0 && x.state == stateOpen && !x.peerEnd {
			c.out.b = appendWindow(c.out.b, x.id, n)
		}
	}
	c.creditors = c.creditors[:0]
	if n := len(c.out.b) - start; n > 0 {
		c.out.add(nil, n, 0)
	}
}
