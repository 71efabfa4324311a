package wire

import (
	"crypto/tls"
	"net"
)

// maxLayers bounds the way down, in case that a layer's NetConn leads back to itself.
const maxLayers = 8

type layered interface{ NetConn() net.Conn }

// Bottom returns the connection under all layers that tell what they are on, and how
// many they are.
func Bottom(nc net.Conn) (raw net.Conn, layers int) {
	for layers < maxLayers {
		l, ok := nc.(layered)
		if !ok {
			return nc, layers
		}
		under := l.NetConn()
		if under == nil {
			return nc, layers
		}
		nc = under
		layers++
	}
	return nc, layers
}

// Cut closes a connection without a word, given what Bottom says of it. The lowest layer is closed
// first: closing a TLS layer writes an alert, and that may block. Layers above are closed too,
// since they may count; a *tls.Conn right above the lowest would only close that a second time.
func Cut(nc, raw net.Conn, layers int) error {
	err := raw.Close()
	if _, bare := nc.(*tls.Conn); layers == 0 || bare && layers == 1 {
		return err
	}
	return nc.Close()
}
