package health

import "net"

// A Watcher is the watch over one connection. It is made by Watch.
type Watcher struct {
	closed func()
	watch  registration
}

// Watch calls closed when c's peer has closed the connection: once, when its FIN or its
// RST has arrived, soon if that was before. It returns nil where that can't be done: c is
// no socket and wraps none (see Socket), it is watched already, or the platform has no
// way. Only Linux has one now; elsewhere looks have to do.
//
// closed runs on the one goroutine that serves all watches, maybe before Watch has
// returned. It must not block, and must not wait for anything that does. It may call Stop.
//
// Stop has to be called before c is closed, or right after: until then the watch is kept,
// and the goroutine with it. The goroutine and its file descriptor come with the first
// watch and go about 200 ms after the last.
//
// What a TLS layer says is not seen: a close_notify without a FIN is found by a look only.
func Watch(c net.Conn, closed func()) *Watcher { return watch(c, closed) }

// Stop ends the watch. It reports whether closed was kept from being called: false says
// that closed was called or is being called, or that Stop was called before. Stop doesn't
// wait for closed to return. On nil it does nothing and returns false.
func (w *Watcher) Stop() bool { return w != nil && w.stop() }
