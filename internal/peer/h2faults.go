package peer

import (
	"time"

	"golang.org/x/net/http2"
)

// H2Faults say how H2Conn.Serve treats its connections. The zero H2Faults serve for
// ever, at once, with an empty body.
type H2Faults struct {
	// MaxStreams is SETTINGS_MAX_CONCURRENT_STREAMS. A stream beyond it is refused.
	// Zero: none is announced, and there is no limit.
	MaxStreams int `json:"max_streams,omitempty"`
	// SettingsDelay holds the first SETTINGS back for so long.
	SettingsDelay time.Duration `json:"settings_delay_ns,omitempty"`
	// Window is SETTINGS_INITIAL_WINDOW_SIZE, and the connection's window. Zero: 1 MiB.
	Window int `json:"window,omitempty"`

	// StreamsPerConn ends a connection, as H2GoAway says, with so many streams: they
	// are answered, and later ones neither executed nor answered. Zero: no limit.
	StreamsPerConn int `json:"streams_per_conn,omitempty"`
	// GoAway is how StreamsPerConn and IdleTimeout end a connection. With the Style Silence a
	// connection that is idle isn't ended, but falls silent.
	GoAway H2GoAway `json:"go_away"`
	// Unannounced makes GoAway quiet for one of so many connections: for 2, the second, the
	// fourth and so on, as they are accepted. The last answer and the FIN leave in one segment
	// where the system can do it. Zero: for none.
	Unannounced int `json:"unannounced,omitempty"`
	// IdleTimeout ends a connection that has carried a stream, so long after the last
	// one ended. PINGs don't count as use. Zero: never.
	IdleTimeout time.Duration `json:"idle_timeout_ns,omitempty"`

	// Waves are of refusals by themselves.
	Waves H2Waves `json:"waves,omitzero"`
	// Cuts are of single requests, when they are complete.
	Cuts Cuts[H2Cut] `json:"cuts,omitzero"`
	// Refuse is how many of the coming streams, over all connections, are answered by
	// RST_STREAM(REFUSED_STREAM) and not executed. Negative: all.
	Refuse int `json:"refuse,omitempty"`
	// SilentConns is how many connections fall silent, the first that come: after
	// SilentAfter answers they read and drop everything, and write nothing.
	SilentConns int `json:"silent_conns,omitempty"`
	SilentAfter int `json:"silent_after,omitempty"`
	// Ping is what the server takes for a flood of PINGs.
	Ping H2PingPolicy `json:"ping"`

	// Delay is the time between a request's execution and its answer.
	Delay time.Duration `json:"delay_ns,omitempty"`
	// BodySize and Upload are what they are in Faults.
	BodySize int   `json:"body_size,omitempty"`
	Upload   int64 `json:"upload,omitempty"`
}

// An H2GoAway is how a connection is ended: GOAWAY, the accepted streams are finished,
// and the connection is closed.
type H2GoAway struct {
	// Grace makes it two GOAWAYs (RFC 9113 section 6.8): one with the last id 2^31-1 at
	// once, and after Grace one with the true id. Zero: only the latter.
	Grace time.Duration `json:"grace_ns,omitempty"`
	// Quiet sends no GOAWAY at all, as many proxies do at their idle timeout.
	Quiet bool `json:"quiet,omitempty"`
	// Style is how the connection is closed. Empty: FIN.
	Style Style `json:"style,omitempty"`
	// Now closes it at once: what was accepted isn't finished.
	Now bool `json:"now,omitempty"`
}

// An H2Cut is what becomes of a request in place of an answer.
type H2Cut struct {
	// At says how far it gets; CutHead is CutAfter, as a header can't be sent by halves.
	At CutPoint `json:"at"`
	// Code is that of the RST_STREAM which ends the stream.
	Code http2.ErrCode `json:"code,omitempty"`
	// GoAway ends the connection in the place of RST_STREAM. Its last id is the highest stream
	// that was executed: those below are finished, this one but for its answer, those above
	// are dropped.
	GoAway bool `json:"go_away,omitempty"`
}

// H2Waves are times in which a server refuses streams, as one that is overloaded: of each
// Every streams that come for the first time the last Length, by RST_STREAM(REFUSED_STREAM).
// No request is refused more than Most times, for being one too many neither, so that one
// who tries again gets through.
type H2Waves struct {
	Every  int `json:"every,omitempty"` // zero: there are none
	Length int `json:"length,omitempty"`
	Most   int `json:"most,omitempty"`
}

// An H2PingPolicy is a server's limit on PINGs. Too many end the connection by
// GOAWAY(ENHANCE_YOUR_CALM). The zero H2PingPolicy has no limit.
type H2PingPolicy struct {
	// MaxQuiet is how many PINGs may come without a HEADERS or DATA frame sent by the
	// server in between. Zero: no limit.
	MaxQuiet int `json:"max_quiet,omitempty"`
	// MinGap and MaxStrikes: a PING less than MinGap behind the one before it is a
	// strike, and with MaxStrikes of them the connection ends.
	MinGap     time.Duration `json:"min_gap_ns,omitempty"`
	MaxStrikes int           `json:"max_strikes,omitempty"`
}

// h2Strikes count against an H2PingPolicy.
type h2Strikes struct {
	quiet, strikes int
	last           time.Time
}

// sent is called for HEADERS and DATA.
func (s *h2Strikes) sent() { s.quiet = 0 }

// ping counts one, and reports whether it was one too many.
func (s *h2Strikes) ping(p H2PingPolicy, now time.Time) bool {
	s.quiet++
	if !s.last.IsZero() && now.Sub(s.last) < p.MinGap {
		s.strikes++
	}
	s.last = now
	return p.MaxQuiet > 0 && s.quiet > p.MaxQuiet || p.MaxStrikes > 0 && s.strikes >= p.MaxStrikes
}
