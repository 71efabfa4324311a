package pool

import (
	"errors"

	"example.com/connwise/dialer"
)

// DialFailures are dials that ended in an error, by the stage that failed. A Guard's are over when
// TCP is: a handshake that fails in its DialTLSContext has opened a connection, and closed it.
type DialFailures struct {
	Resolve uint64 `json:"resolve"` // looking up the host's addresses, or the proxy's
	Connect uint64 `json:"connect"` // TCP, to the host or to its proxy
	Proxy   uint64 `json:"proxy"`   // CONNECT or SOCKS5
	TLS     uint64 `json:"tls"`     // the handshake, and what was agreed on in it
	// Abandoned are those that didn't fail by themselves: nobody waited for them any more, or
	// the transport was closed.
	Abandoned uint64 `json:"abandoned"`
}

// failedStage is the stage at which a dial has failed with err; zero if it didn't fail by itself.
func failedStage(err error, abandoned bool) dialer.Stage {
	if e, ok := errors.AsType[*dialer.Error](err); ok && !abandoned {
		return e.Stage
	}
	return 0
}

// count counts a dial that has failed at a stage; zero: it was abandoned.
func (f *DialFailures) count(stage dialer.Stage) {
	switch stage {
	case dialer.StageResolve:
		f.Resolve++
	case dialer.StageConnect:
		f.Connect++
	case dialer.StageProxy:
		f.Proxy++
	case dialer.StageTLS:
		f.TLS++
	default:
		f.Abandoned++
	}
}
