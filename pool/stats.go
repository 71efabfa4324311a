package pool

import "time"

// A CloseReason says why the pool closed a connection.
type CloseReason string

// The reasons. Stats counts closed connections by them, and their sum is Closed.
const (
	ReasonPeerClosed   CloseReason = "peer closed idle"     // FIN, RST or close_notify while idle
	ReasonPeerAborted  CloseReason = "peer closed in use"   // FIN or RST while a request or its answer was under way
	ReasonUnsolicited  CloseReason = "unsolicited data"     // bytes nobody asked for, while idle or behind an answer
	ReasonSuspect      CloseReason = "suspect"              // one that had been idle for no longer got no answer
	ReasonIdleLimit    CloseReason = "idle limit"           // idle for as long as the limit in force allows
	ReasonMaxAge       CloseReason = "max age"              // Config.MaxConnAge
	ReasonMaxRequests  CloseReason = "max requests"         // Config.MaxRequestsPerConn
	ReasonIdleCap      CloseReason = "idle cap"             // more idle connections than MaxIdlePerHost or MaxIdleConns
	ReasonNotKept      CloseReason = "not kept alive"       // the peer or the request said Connection: close
	ReasonUnread       CloseReason = "answer not read"      // the response body was closed with much of it unread
	ReasonCancelled    CloseReason = "cancelled"            // the request's context ended, or it was cancelled
	ReasonTimeout      CloseReason = "timeout"              // a header or stall timeout
	ReasonError        CloseReason = "error"                // a round trip failed in another way
	ReasonUpgraded     CloseReason = "upgraded"             // handed to the caller by 101 and ended there
	ReasonIdleClosed   CloseReason = "closed while idle"    // CloseIdleConnections, Drain, Shutdown; a Guard's owner
	ReasonClosed       CloseReason = "transport closed"     // Close
	ReasonUploadUnsent CloseReason = "upload not completed" // the answer ended before the request's body did
	ReasonGoAway       CloseReason = "goaway"               // HTTP/2: the peer takes no new request on it
	ReasonMadeRoom     CloseReason = "made room"            // its slot was needed: MaxConnsPerHost, by a request that needs another protocol
	ReasonUnconfirmed  CloseReason = "unconfirmed"          // idle longer than Config.ConfirmAfter, and nothing vouched for it
	ReasonWornOut      CloseReason = "worn out"             // HTTP/2: its answers failed to come in time, or its stream ids ran out
)

// HostStats is one host's part of a snapshot.
type HostStats struct {
	// Host is "host:port"; Scheme is "http" or "https"; Proxy is the proxy's
	// "scheme://host:port" without credentials, empty for a direct way.
	Host   string `json:"host"`
	Scheme string `json:"scheme"`
	Proxy  string `json:"proxy,omitempty"`

	// Proto is what the host was last found to speak, "HTTP/1.1" or "HTTP/2.0"; empty
	// before the first connection.
	Proto string `json:"proto,omitempty"`

	// Gauges. Open counts connections, idle or in use; Dialing those being opened,
	// which are not in Open; Waiting requests in the queue.
	Open    int `json:"open"`
	Idle    int `json:"idle"`
	InUse   int `json:"in_use"`
	Dialing int `json:"dialing"`
	Waiting int `json:"waiting"`
	// MaxConns is the limit in force for connections, open and dialing together, and MaxWait how
	// long a request may wait for capacity under it (Config.MaxConnsPerHost, Config.MaxWait).
	// Zero: no limit.
	MaxConns int           `json:"max_conns"`
	MaxWait  time.Duration `json:"max_wait_ns"`
	// DialWindow is how many dials may be in flight: it grows while dials are as fast as the
	// best, and shrinks while they are slower, or fail.
	DialWindow int `json:"dial_window"`

	// IdleLimit is the idle limit in force (nanoseconds in JSON), zero for none, and
	// IdleLimitSource says where it came from: "configured", "announced", "learnt",
	// "transport" (Base.IdleConnTimeout) or "none".
	IdleLimit       time.Duration `json:"idle_limit_ns"`
	IdleLimitSource string        `json:"idle_limit_source"`

	// UnusedLimit and UnusedLimitSource are the same for connections that were opened and
	// never used, of which servers think differently.
	UnusedLimit       time.Duration `json:"unused_limit_ns"`
	UnusedLimitSource string        `json:"unused_limit_source"`
	// LearntIdle is after how long the peer closes an idle connection, as far as that was
	// learnt from the connections that it closed, and LearntUnused the same of unused
	// ones. Zero: nothing was learnt. The limit that follows is smaller by a margin.
	LearntIdle   time.Duration `json:"learnt_idle_ns"`
	LearntUnused time.Duration `json:"learnt_unused_ns"`
	// RTT is the shortest round trip of TCP, zero before the first dial: to the peer, or to
	// what answers for it.
	RTT time.Duration `json:"rtt_ns"`

	// Conns are the open HTTP/2 connections, the oldest first. Those of HTTP/1, of which there
	// may be many, are in StatsOf's answer only.
	Conns []ConnStats `json:"conns,omitempty"`

	Totals
}

// ConnStats is a connection's part of a snapshot.
type ConnStats struct {
	Addr  string `json:"addr"`  // the remote address
	Proto string `json:"proto"` // "HTTP/1.1" or "HTTP/2.0"; empty if a Guard can't tell
	// State is "in use" or "idle", or of an idle one that isn't to be used "settling" (for a
	// moment, to see whether the peer closes it) or "witness" (it shows when the peer does).
	State string        `json:"state"`
	Age   time.Duration `json:"age_ns"`  // since it was opened
	Idle  time.Duration `json:"idle_ns"` // since its last answer ended; zero while it is in use
	// Requests counts those begun on it. It is -1 for an HTTP/1 connection in use, as only who
	// has it knows, and for a Guard's.
	Requests int `json:"requests"`

	// Streams are the requests that hold it, and StreamLimit how many the peer takes: one
	// before it has said so, and with HTTP/1. A Guard sees neither.
	Streams     int `json:"streams"`
	StreamLimit int `json:"stream_limit"`
	// GoAway says that the peer sent GOAWAY: it takes no new request.
	GoAway bool `json:"goaway"`
	// Suspect says that a PING is to show whether the peer is there.
	Suspect bool `json:"suspect"`
	// PingRTT is the round trip of the last PING that was answered, zero if none was.
	PingRTT time.Duration `json:"ping_rtt_ns"`
	Pings   uint64        `json:"pings"` // sent
}

// Stats is a plain snapshot. It shares nothing with the transport.
type Stats struct {
	// Bounds are the upper bounds of the buckets of each Histogram, in ascending order. They
	// are the same for all.
	Bounds [histogramBounds]time.Duration `json:"bounds_ns"`
	// Hosts are the hosts in use, sorted by Host, then Scheme, then Proxy.
	Hosts []HostStats `json:"hosts"`
	// Total sums all hosts, forgotten ones included.
	Total Totals `json:"total"`
}
