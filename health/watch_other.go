//go:build !linux

package health

import "net"

type registration struct{}

func watch(net.Conn, func()) *Watcher { return nil }

func (w *Watcher) stop() bool { return false }
