package health

// TrackReads has the connection keep track of whether somebody who calls Read all the time, as
// HTTP/2's read loop does, has taken something from the socket that Read hasn't returned yet.
// resting is true while a Read waits and the TLS layer has nothing left to work on; it may be
// called at any time. ok is false if that can't be known. TrackReads is called before the
// first such Read.
func (c *TLSClient) TrackReads() (resting func() bool, ok bool) {
	if c.quiet == nil {
		e, end := c.below.(*endConn)
		return c.below.waits, end && e.rc != nil
	}
	c.quiet.patient = newPatientReader(c.quiet.Conn)
	if c.quiet.patient == nil {
		return nil, false
	}
	return c.quiet.patient.waiting.Load, true
}
