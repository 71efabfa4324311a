package dialer

// A Stage is a part of opening a connection.
type Stage uint8

const (
	StageResolve Stage = iota + 1 // looking up the host's addresses
	StageConnect                  // the TCP (or Unix) connection, to the host or to its proxy
	StageProxy                    // CONNECT or SOCKS5
	StageTLS                      // the TLS handshake with the host, or with an https proxy
)

// Dialer opens connections.
type Dialer struct{}
