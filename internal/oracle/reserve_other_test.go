//go:build !linux

package oracle

// reserve lets the first listener choose the port. While it doesn't listen somebody else may
// take it; it waits then.
func reserve() (addr string, release func(), err error) {
	return "127.0.0.1:0", func() {}, nil
}
