package h2

import (
	"strings"

	"golang.org/x/net/http2"

	"example.com/connwise/internal/wire"
)

// onSettings applies the peer's SETTINGS and acknowledges them (RFC 9113 section 6.5.3).
func (c *Conn) onSettings(f *http2.SettingsFrame) error {
	if f.IsAck() {
		if c.ourAcks++; c.ourAcks > 1 {
			return protocolError("an acknowledgement of SETTINGS that were never sent")
		}
		return nil
	}
	// Each one may cost a walk through all streams.
	if err := c.flood.count(1 + f.NumSettings()/8); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.unlock()
	if c.over { // given up while the read loop was on its way here
		return nil
	}
	c.aliveLocked()
	first := !c.peer.seen
	if first {
		c.peer.streams = DefaultStreams
	}
	had := c.peer.streams
	if err := f.ForeachSetting(func(s http2.Setting) error { return c.settingLocked(s, first) }); err != nil {
		return err
	}
	if first {
		c.peer.seen = true
		c.vitals.settings.Stop()
		close(c.settled)
	}
	if c.peer.streams < had {
		c.trimLocked()
	}
	if first || c.peer.streams != had {
		c.events = append(c.events, event{kind: eventLimit, limit: c.peer.streams})
	}
	c.out.b = appendSettingsAck(c.out.b)
	return c.ackedLocked(frameHead)
}

// roomLocked is how many requests may still become streams; negative if the peer has lowered
// its limit below what is open.
func (c *Conn) roomLocked() int64 {
	if !c.peer.seen {
		return 1 // the owner of the connection decides
	}
	return int64(c.peer.streams) - int64(len(c.streams)+c.leaving+c.waiting.n)
}

// trimLocked drops the youngest of the requests that wait, where the peer has lowered its
// limit: from the acknowledgement on it may take another stream for a breach, and end the
// connection (RFC 9113 section 5.1.2).
func (c *Conn) trimLocked() {
	for c.waiting.n > 0 && c.roomLocked() < 0 {
		c.dropLocked(c.waiting.tail, wire.EndKept, ErrStreamLimit)
	}
}

// ackedLocked notes n bytes that the peer made necessary.
func (c *Conn) ackedLocked(n int) error {
	c.out.add(nil, n, 0)
	if c.acks++; c.acks > maxAcks {
		return &ConnError{Code: http2.ErrCodeEnhanceYourCalm, Reason: "the peer asks for answers and doesn't read them"}
	}
	return nil
}

func (c *Conn) settingLocked(s http2.Setting, first bool) error {
	if err := s.Valid(); err != nil {
		return err
	}
	switch s.ID {
	case http2.SettingHeaderTableSize:
		c.enc.SetMaxDynamicTableSize(min(s.Val, c.opt.encoderTable()))
	case http2.SettingEnablePush:
		if s.Val != 0 { // RFC 9113 section 6.5.2: not a server's to set
			return protocolError("the server enables push")
		}
	case http2.SettingMaxConcurrentStreams:
		c.peer.streams = s.Val
	case http2.SettingInitialWindowSize:
		return c.initialWindowLocked(int32(s.Val))
	case http2.SettingMaxFrameSize:
		c.peer.maxFrame = int(s.Val)
	case http2.SettingMaxHeaderListSize:
		c.peer.headerList = int64(s.Val)
	case http2.SettingEnableConnectProtocol:
		if c.peer.extendConnect && s.Val == 0 { // RFC 8441 section 3
			return protocolError("the server takes extended CONNECT back")
		}
		c.peer.extendConnect = s.Val == 1
	}
	return nil
}

// initialWindowLocked changes the windows of all streams by what their first one changes; they
// may become negative (RFC 9113 section 6.9.2).
func (c *Conn) initialWindowLocked(n int32) error {
	delta := int64(n) - int64(c.peer.window)
	for _, x := range c.streams {
		if int64(x.window)+delta > 1<<31-1 {
			return flowError("SETTINGS_INITIAL_WINDOW_SIZE overflows a stream's window")
		}
	}
	c.peer.window = n
	for _, x := range c.streams {
		c.widenLocked(x, int32(delta))
	}
	return nil
}

// widenLocked changes the window of x, and has its data sent if they couldn't before.
func (c *Conn) widenLocked(x *Exchange, n int32) {
	shut := x.window <= 0
	x.window += n
	switch {
	case shut && x.window > 0 && len(x.data) > 0:
		c.uploads.push(x)
	case x.window <= 0 && x.in == &c.uploads:
		x.leave()
	}
}

func (c *Conn) onWindowUpdate(f *http2.WindowUpdateFrame) error {
	c.mu.Lock()
	defer c.unlock()
	n := int32(f.Increment)
	if c.spent > 0 {
		c.spent -= min(c.spent, int64(n)) // it gives back what was used
	} else if err := c.flood.idle(); err != nil {
		return err
	}
	c.aliveLocked()
	if f.StreamID == 0 {
		if int64(c.window)+int64(n) > 1<<31-1 {
			return flowError("WINDOW_UPDATE overflows the connection's window")
		}
		c.window += n
		return nil
	}
	x := c.streams[f.StreamID]
	if x == nil {
		return c.unknownLocked(f.StreamID)
	}
	if int64(x.window)+int64(n) > 1<<31-1 {
		return http2.StreamError{StreamID: x.id, Code: http2.ErrCodeFlowControl}
	}
	c.widenLocked(x, n)
	return nil
}

func (c *Conn) onPing(f *http2.PingFrame) error {
	if err := c.flood.idle(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.unlock()
	if f.IsAck() {
		c.pongLocked(f.Data)
		return nil
	}
	c.aliveLocked()
	c.out.b = appendPing(c.out.b, http2.FlagPingAck, f.Data)
	return c.ackedLocked(frameHead + 8)
}

// onReset ends a stream whose peer doesn't go on with it. Behind a whole answer that is
// nothing but a word that the rest of the request isn't needed (RFC 9113 section 8.1).
func (c *Conn) onReset(f *http2.RSTStreamFrame) error {
	c.opt.count("recv_rststream_" + codeName(f.ErrCode))
	c.mu.Lock()
	defer c.unlock()
	c.aliveLocked()
	x := c.streams[f.StreamID]
	if x == nil {
		if err := c.unknownLocked(f.StreamID); err != nil || c.afloat.takeFrame() {
			return err
		}
		return c.flood.stray()
	}
	c.stainLocked(x)
	x.refused = f.ErrCode == http2.ErrCodeRefusedStream && !x.answered
	if x.peerEnd {
		c.closeLocked(x, wire.EndUpload)
		c.tellLocked(x)
		return nil
	}
	c.lostLocked(x, http2.StreamError{StreamID: x.id, Code: f.ErrCode, Cause: errFromPeer})
	return nil
}

// onGoAway retires the connection. Streams above the last id were not processed, whatever the
// code says (RFC 9113 section 6.8).
func (c *Conn) onGoAway(f *http2.GoAwayFrame) error {
	if err := c.flood.idle(); err != nil {
		return err
	}
	if f.ErrCode != http2.ErrCodeNo {
		c.opt.count("recv_goaway_" + codeName(f.ErrCode))
	}
	g := GoAway{LastStreamID: f.LastStreamID, Code: f.ErrCode, Debug: string(f.DebugData()[:min(len(f.DebugData()), maxDebug)])}
	c.mu.Lock()
	defer c.unlock()
	c.aliveLocked()
	if c.gotAway {
		g.LastStreamID = min(g.LastStreamID, c.goAway.LastStreamID) // what was said can't be taken back
	}
	c.gotAway = true
	c.goAway = g
	c.goAwayLocked(g)
	for id, x := range c.streams {
		if id > g.LastStreamID {
			c.stainLocked(x)
			x.refused = !x.answered
			c.lostLocked(x, &GoAwayError{GoAway: g, StreamID: id})
		}
	}
	return nil
}

// goAwayLocked lets no new stream begin.
func (c *Conn) goAwayLocked(g GoAway) {
	if g.Local && c.closing != nil {
		return
	}
	err := &GoAwayError{GoAway: g}
	c.closing = err
	c.tellPongLocked()
	c.events = append(c.events, event{kind: eventAway, away: g})
	for x := c.waiting.pop(); x != nil; x = c.waiting.pop() {
		c.dropLocked(x, wire.EndError, err)
	}
}

// retireLocked is goAwayLocked for a connection that has failed with err.
func (c *Conn) retireLocked(err error) {
	if c.closing == nil && !c.over {
		c.events = append(c.events, event{kind: eventAway, away: GoAway{Local: true, Failing: true}})
	}
	c.closing = c.lossLocked(err, 0)
	c.tellPongLocked()
	for x := c.waiting.pop(); x != nil; x = c.waiting.pop() {
		c.dropLocked(x, wire.EndError, c.closing)
	}
}

// lossLocked is err, with which the connection ends, as the error of a stream: with what the
// peer's GOAWAY said of it.
func (c *Conn) lossLocked(err error, id uint32) error {
	if !c.gotAway {
		return err
	}
	return &GoAwayError{GoAway: c.goAway, StreamID: id, Err: err}
}

// codeName is a code as CountError's names have it.
func codeName(code http2.ErrCode) string { return strings.ToLower(code.String()) }

// settingsLate ends a connection on which the peer hasn't said what HTTP/2 begins with.
func (c *Conn) settingsLate() {
	c.fail(&wire.TimeoutError{What: wire.WhatSettings, After: settingsTimeout})
}
