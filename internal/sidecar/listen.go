package sidecar

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"syscall"
)

// listen opens an address of Settings: host:port, or unix:/path. A socket file gets mode; one
// that is there already, and to which nobody listens, is replaced. It goes with the listener's
// Close.
func listen(addr string, mode fs.FileMode) (net.Listener, error) {
	path, ok := strings.CutPrefix(addr, unixPrefix)
	if !ok {
		return net.Listen("tcp", addr)
	}
	if err := clearSocket(path); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, mode); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// listensFor tells whether requests to u would come to a listener of addr, as far as that is known without
// looking a name up. A request that came to the sidecar would come again and again.
func listensFor(addr string, u *url.URL) bool {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port != cmp.Or(u.Port(), "80") {
		return false
	}
	own, _ := netip.ParseAddr(host)
	to, _ := netip.ParseAddr(u.Hostname())
	switch {
	case host == "" || own.IsUnspecified():
		return loopback(u.Hostname())
	case host == "localhost" || u.Hostname() == "localhost":
		return loopback(host) && loopback(u.Hostname())
	}
	return own == to && own.IsValid()
}

// clearSocket removes what a process has left that was killed.
func clearSocket(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is there, and no socket", path)
	}
	c, err := net.Dial("unix", path)
	if err == nil {
		return errors.Join(fmt.Errorf("%s: another process listens there", path), c.Close())
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return os.Remove(path)
}

// urlOf is how a listener's address is shown.
func urlOf(l net.Listener) string {
	if l.Addr().Network() == "unix" {
		return unixPrefix + l.Addr().String()
	}
	return "http://" + l.Addr().String()
}
