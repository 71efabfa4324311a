package wire

import "net"

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
