//go:build proxies && linux

package realproxy

import (
	"encoding/binary"
	"errors"
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// From linux/sock_diag.h, linux/inet_diag.h and net/tcp_states.h.
const (
	netlinkSockDiag    = 4
	sockDiagByFamily   = 20
	inetDiagRequestLen = 56
	tcpEstablished     = 1
)

// established is how many connections of a server the kernel has as such at a time. One whose client
// has closed it isn't any more, whether or not the server has noticed.
type established struct {
	most, looks int
	err         error
}

// watch counts again and again until stop. The kernel's list is no snapshot: what is closed
// and what is opened while it is made may both be on it. What is on two lists was there at
// the same time.
func (e *established) watch(addr string, stop <-chan struct{}) {
	var last map[diagID]bool
	for pause(countedEvery, stop) {
		now, err := listEstablished(addr)
		if err != nil {
			e.err = err
			return
		}
		n := 0
		for id := range now {
			if last[id] {
				n++
			}
		}
		last = now
		e.looks++
		e.most = max(e.most, n)
	}
}

// A diagID has a connection's addresses and its number in the kernel.
type diagID [48]byte

// listEstablished has the connections of the server that listens at 127.0.0.1.
func listEstablished(addr string) (map[diagID]bool, error) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, err
	}
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, netlinkSockDiag)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	if err := syscall.Sendto(fd, diagRequest(uint16(n)), 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return nil, err
	}
	return readAnswers(fd)
}

// diagRequest asks for all connections of that local port that are established.
func diagRequest(port uint16) []byte {
	const all = syscall.NLM_F_REQUEST | syscall.NLM_F_DUMP
	b := make([]byte, 0, syscall.NLMSG_HDRLEN+inetDiagRequestLen)
	b = binary.NativeEndian.AppendUint32(b, uint32(cap(b)))
	b = binary.NativeEndian.AppendUint16(b, sockDiagByFamily)
	b = binary.NativeEndian.AppendUint16(b, all)
	b = append(b, make([]byte, 8)...) // sequence and sender: none
	b = append(b, syscall.AF_INET, syscall.IPPROTO_TCP, 0, 0)
	b = binary.NativeEndian.AppendUint32(b, 1<<tcpEstablished)
	b = binary.BigEndian.AppendUint16(b, port)
	return b[:cap(b)] // the rest is any
}

// readAnswers reads messages until the last.
func readAnswers(fd int) (map[diagID]bool, error) {
	ids := make(map[diagID]bool)
	buf := make([]byte, 64<<10)
	for {
		size, _, err := syscall.Recvfrom(fd, buf, 0)
		if err != nil {
			return nil, err
		}
		messages, err := syscall.ParseNetlinkMessage(buf[:size])
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			switch m.Header.Type {
			case syscall.NLMSG_DONE:
				return ids, nil
			case syscall.NLMSG_ERROR:
				return nil, errors.New("the kernel tells no connections")
			}
			ids[diagID(m.Data[4:52])] = true
		}
	}
}

func TestEstablishedCountsAServersConnections(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	want := func(want int) {
		t.Helper()
		if ids, err := listEstablished(ln.Addr().String()); len(ids) != want || err != nil {
			t.Errorf("%d connections, %v; want %d", len(ids), err, want)
		}
	}
	want(0)
	var clients []net.Conn
	for range 3 {
		c, err := net.DialTimeout("tcp", ln.Addr().String(), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		clients = append(clients, c)
	}
	want(3)
	clients[0].Close()
	want(2)
}
