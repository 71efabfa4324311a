package pool

import (
	"time"

	"example.com/connwise/dialer"

	"golang.org/x/net/http2"
)

// A Trace is told what becomes of connections and of the requests that want one
// (Config.Trace, GuardConfig.Trace). Each of its functions may be nil, and costs nothing then.
// LogTrace makes one that writes to log/slog; what package retry decides is in
// retry.Transport.OnDecision.
//
// The events have the same facts that Stats counts, each when it is counted or right after:
// once all is at rest, there are as many of each as the counter says that is named with it. Of
// one connection Dialled comes first and has returned before any Reused, and all of those (over
// HTTP/2 several at a time) before Retired; other events, and those of different connections,
// come at the same time, on several goroutines.
//
// The functions are called with no lock held. They may ask for Stats and send requests. They
// must not call Close or Shutdown, which may wait for them, and must not end their goroutine
// (testing.T.FailNow). They are called on the goroutine that does the thing: Waited, Reused,
// Replaced and Refused on that of RoundTrip; Dialled on the dial's, before its connection is
// given to anybody; Retired on the one of who closes it, which may be a caller's (Body.Close,
// RoundTrip), a timer's, or an HTTP/2 connection's reader. One that takes its time holds that
// up. A panic in a function is swallowed: on most of these goroutines it would end the process.
//
// An event has no header, no path, no body and no credentials. What it has of pointers (Err) is
// shared with others, and isn't to be changed.
type Trace struct {
	Dialled  func(DialEvent)    // a dial has ended: Totals.Dials
	Reused   func(ReuseEvent)   // a request went out on a used connection, and has its answer's head or has failed: Totals.Reused
	Retired  func(RetireEvent)  // a connection was closed: Totals.Closed
	Waited   func(WaitEvent)    // a request's wait is over: Totals.WaitTimes and WaitTimeouts
	Refused  func(RefuseEvent)  // HTTP/2: the peer said that it did not process a request: Totals.Refused
	Replaced func(ReplaceEvent) // a request is about to be sent again silently: Totals.Replaced
}

// A TraceHost says in which of Stats' hosts something happened. Of a Guard it has Host only.
type TraceHost struct {
	Host, Scheme, Proxy string // as in HostStats
}

// A TraceConn says on which connection something happened.
type TraceConn struct {
	TraceHost
	ID    uint64 // of the dial and its connection: a number of its own in this process, never zero
	Addr  string // the remote address; empty if there was no connection
	Proto string // "HTTP/1.1" or "HTTP/2.0"; empty if there was none, and from a Guard
}

// A DialEvent says that a dial has ended.
type DialEvent struct {
	TraceConn
	Took  time.Duration // the whole of it: names, proxy, TLS
	Ahead bool          // no request has asked for it: Warm, MinIdlePerHost, or a renewal
	// Err is why there is no connection, nil if there is one. Stage is what failed. It is zero
	// if nothing did and the dial was given up, as nobody waited for it any more (or its context
	// ended, with a Guard) or the transport was closed.
	Err   error
	Stage dialer.Stage
}

// A ReuseEvent says that a request was sent on a connection that had carried others.
type ReuseEvent struct {
	TraceConn
	Idle     time.Duration // for how long the connection had been idle when it was taken; zero: it wasn't
	Requests int           // given to it before
}

// A RetireEvent says that a connection was closed.
type RetireEvent struct {
	TraceConn
	Reason CloseReason
	Age    time.Duration // since it was opened
	InUse  bool          // it carried a request then, or, with a Guard, that can't be told
	Idle   time.Duration // for how long it had been idle; zero if InUse
	// Requests were given to it in all. -1: a Guard can't tell.
	Requests int
	// How says how the peer closed it while it was idle, in the words of Totals.IdleCloses;
	// empty if it didn't.
	How string
	// Stale says that nobody knew until a look, when a request was about to take it: one of
	// Totals.Stale, which counts an HTTP/2 connection for each such request.
	Stale bool
}

// A WaitEvent says that a request doesn't wait for a connection any more.
type WaitEvent struct {
	TraceHost
	Took  time.Duration // for capacity, or for a dial
	Queue int           // how many waited when it came, itself included
	// Err is why it has none: an *Error, with ErrWaitTimeout for instance. One that was turned
	// away (ErrTooManyWaiters) hasn't waited: Took is zero, and WaitTimes doesn't count it.
	Err error
}

// A RefuseEvent says that a request wasn't processed: over HTTP/2 the peer has said so. A Guard
// tells of a Write that it refused itself; Err is the *GuardError then, and all else of HTTP/2 zero.
type RefuseEvent struct {
	TraceConn
	// GoAway says that it was by GOAWAY, with LastStreamID and Code, which is NO_ERROR at an
	// orderly end. Else it was by RST_STREAM, with Code REFUSED_STREAM, or for another reason in Err.
	GoAway       bool
	Code         http2.ErrCode
	LastStreamID uint32
	StreamID     uint32 // of the request, zero if it was never given one
	Err          error
}

// A ReplaceEvent says that a request is about to be sent again, without its caller's knowledge,
// on another connection than the one named here.
type ReplaceEvent struct {
	TraceConn
	// Phase is why: PhaseUnsent, as the connection took no byte of it (it was stale, or would not
	// answer a PING), or PhaseRefused. Another one means that the peer rejected an expectation of
	// Config.ConfirmAfter's by 417.
	Phase Phase
	Err   error         // what happened to it, an *Error
	Idle  time.Duration // for how long the connection had been idle when it was taken
	Count int           // how often this request was replaced now
}

// tell calls one of a Trace's functions.
func tell[E any](f func(E), e E) {
	if f == nil {
		return
	}
	defer func() { _ = recover() }()
	f(e)
}

// clone is a copy, which its giver can't change any more.
func (t *Trace) clone() *Trace {
	if t == nil {
		return nil
	}
	c := *t
	return &c
}
