package probe

import (
	"encoding/json"
	"math"
	"time"
)

// A Report is what was measured.
type Report struct {
	URL       string     `json:"url"` // without a password
	Method    string     `json:"method"`
	Address   string     `json:"address"`     // that all connections went to
	Took      Millis     `json:"took_ms"`     // of the whole probe
	Max       Millis     `json:"max_ms"`      // the longest that a connection was to be watched
	Cut       bool       `json:"interrupted"` // it ended before its time
	Protocols []Protocol `json:"protocols"`
	Advice    *Advice    `json:"recommended,omitempty"` // nil: too little is known
}

// A Protocol is what was measured of one protocol.
type Protocol struct {
	Proto  string `json:"proto"`           // H1, H1S, H2 or H2C
	Error  string `json:"error,omitempty"` // why nothing could be measured; the rest is empty then
	HTTP   string `json:"http"`            // the version that answered, such as "HTTP/1.1"
	TLS    string `json:"tls,omitempty"`   // its version, such as "TLS 1.3"
	ALPN   string `json:"alpn,omitempty"`  // what the server chose; empty: nothing
	RTT    Millis `json:"connect_ms"`      // the shortest time that connecting took: a round trip
	Status int    `json:"status"`          // of the first answer
	Server string `json:"server,omitempty"`

	KeepAlive *Hint    `json:"keep_alive,omitempty"` // what the first answer announced; nil: nothing
	Idle      *Endings `json:"idle,omitempty"`       // connections that idle behind an answer; nil: none could
	Unused    *Endings `json:"unused,omitempty"`     // connections without any request
	Requests  Requests `json:"requests"`
	// MaxStreams is SETTINGS_MAX_CONCURRENT_STREAMS of HTTP/2; nil: the server sets none.
	MaxStreams *uint32  `json:"max_concurrent_streams,omitempty"`
	Checks     []Check  `json:"checks,omitempty"` // with Options.Verify, by age
	Notes      []string `json:"notes,omitempty"`  // what else there is to know
}

// A Hint is a Keep-Alive header field: a server's own word.
type Hint struct {
	Timeout Millis `json:"timeout_ms,omitempty"` // zero: none that makes sense
	Max     int    `json:"max,omitempty"`        // requests on a connection; zero: none that makes sense
	Text    string `json:"text"`                 // as it came, made printable and cut
}

// Endings are what became of several connections. A connection's age counts from the last
// byte of its answer, or, unused, from the end of its handshake.
type Endings struct {
	Conns  int `json:"connections"` // that were watched
	Ended  int `json:"ended"`       // of those: by the peer
	Failed int `json:"failed"`      // besides: could not be opened, or got no answer

	// Min, Median and Max are of the ages at which the peer first said that it's over,
	// by a GOAWAY, a close_notify, a FIN, a RST or a 408. Zero: no connection ended.
	Min    Millis   `json:"min_ms,omitempty"`
	Median Millis   `json:"median_ms,omitempty"`
	Max    Millis   `json:"max_ms,omitempty"`
	Ages   []Millis `json:"ages_ms,omitempty"` // all of them, ascending
	// OpenFor is the age up to which connections were watched that were open to the end;
	// of several the lowest. Zero: none was.
	OpenFor Millis `json:"open_for_ms,omitempty"`

	How []How `json:"how,omitempty"` // how they ended, the most frequent first
	// Last is the longest time from the first word to the end of the TCP connection.
	Last Millis `json:"goodbye_ms,omitempty"`
	// GoAway is "none", "final" (the last stream's id at once), "two-step" (2^31-1 first) or
	// "announced" (2^31-1 alone). Empty without HTTP/2, and when no connection ended.
	GoAway string `json:"goaway,omitempty"`
	// GoAways are those of one connection, in order.
	GoAways []GoAway `json:"goaways,omitempty"`

	moments time.Duration // from the first end to the last, by the clock
}

// How is a way in which connections ended: the peer's words in their order, out of "goaway",
// "408", "surplus" (bytes that nobody asked for), "close_notify", "fin", "reset", "alert" (of
// TLS), "protocol error" (of HTTP/2) and "lingers" (open 10 s after the first word).
type How struct {
	Words string `json:"words"` // joined by ", "
	Conns int    `json:"connections"`
}

// A GoAway is what a GOAWAY frame said.
type GoAway struct {
	LastStream uint32 `json:"last_stream_id"`
	Code       string `json:"code"`
	Debug      string `json:"debug,omitempty"` // made printable and cut
	Age        Millis `json:"age_ms"`          // of the connection, as in Endings
}

// Requests say how many requests one connection took.
type Requests struct {
	Served int `json:"served"` // answered, on one connection
	// Limited: the peer ended the connection after them. Otherwise it would have taken
	// more, or why not is in By.
	Limited bool `json:"limited"`
	// By is how it ended: "connection: close", "goaway", or the words of How for one
	// that nobody announced; if not Limited, why no more were sent.
	By      string   `json:"by"`
	GoAway  string   `json:"goaway,omitempty"` // as Endings has it
	GoAways []GoAway `json:"goaways,omitempty"`
	Ending  string   `json:"ending,omitempty"` // the words of How after the last answer
}

// A Check is a second request on a connection that had been idle.
type Check struct {
	Age    Millis `json:"age_ms"`
	Result string `json:"result"` // "answered", "ended before", "ended" (when it was used) or "no answer"
}

// Millis is a duration that is a number of milliseconds in JSON, to the microsecond.
type Millis time.Duration

// Duration is m as package time has it.
func (m Millis) Duration() time.Duration { return time.Duration(m) }

// String is m as people read it.
func (m Millis) String() string {
	d := time.Duration(m)
	switch {
	case d >= time.Minute:
		return d.Round(10 * time.Millisecond).String()
	case d >= 100*time.Millisecond:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Microsecond).String()
}

// MarshalJSON writes a number.
func (m Millis) MarshalJSON() ([]byte, error) {
	return json.Marshal(math.Round(float64(m)/1e3) / 1e3)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (m *Millis) UnmarshalJSON(b []byte) error {
	var ms float64
	if err := json.Unmarshal(b, &ms); err != nil {
		return err
	}
	*m = Millis(math.Round(ms * 1e6))
	return nil
}
