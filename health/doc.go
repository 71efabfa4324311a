// Package health tells whether a connection's peer is still there, without sending
// a byte and without blocking.
package health
