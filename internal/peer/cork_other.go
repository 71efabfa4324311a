//go:build !linux

package peer

import "net"

// cork does nothing here: the last bytes and the FIN leave one after the other.
func cork(*net.TCPConn) {}
