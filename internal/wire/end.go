package wire

// An End says how an exchange ended.
type End uint8

const (
	EndKept      End = iota // both sides are through; the connection may be used again
	EndNotKept              // a side said close, HTTP/1.0, or the connection's end delimits the answer
	EndUnread               // the body was closed with too much of it unread
	EndUpload               // the answer was over before the upload was
	EndSurplus              // bytes that nobody asked for came behind the answer
	EndCancelled            // the request's context ended, or its Cancel channel was closed
	EndTimeout              // one of Options' limits
	EndError                // the connection, the peer or the caller's body failed
	EndUpgraded             // the caller closed a connection that had switched protocols
)

var endNames = [...]string{"kept", "not kept", "unread", "upload", "surplus", "cancelled", "timeout", "error", "upgraded"}

// String returns the end's name in lower case.
func (e End) String() string {
	if int(e) < len(endNames) {
		return endNames[e]
	}
	return "unknown end"
}
