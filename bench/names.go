package bench

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"example.com/connwise/internal/peer"
)

// loopback is the address of the peer.
var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// names are what a scenario calls the peer by in place of its address, and a name server
// that knows these names alone. Each lookup has a connection of its own, in memory: nothing
// is lost on the way, and no query waits for another.
type names struct {
	// hosts are the names, which calls take in turns. They end in "." + peer.Domain.
	hosts []string
	// addrs returns the addresses of a name, for each lookup anew. Nil: loopback alone.
	addrs func() []netip.Addr
	// end is called when no client is left. Nil: nothing.
	end func()

	lookups sync.WaitGroup
}

// resolver returns what asks the server, and nobody else.
func (n *names) resolver() *net.Resolver {
	// A Conn that isn't a PacketConn speaks as over TCP, see net.Resolver.
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		n.lookups.Go(func() { n.serve(ours) })
		return theirs, nil
	}}
}

// urls returns u with each name in the address's place.
func (n *names) urls(u *url.URL) []*url.URL {
	us := make([]*url.URL, len(n.hosts))
	for i, host := range n.hosts {
		v := *u
		v.Host = net.JoinHostPort(host, u.Port())
		us[i] = &v
	}
	return us
}

// close waits until all lookups are over.
func (n *names) close() {
	n.lookups.Wait()
	if n.end != nil {
		n.end()
	}
}

// lookupLimit is more than the Go resolver waits for an answer.
const lookupLimit = 30 * time.Second

// serve answers queries until the other side closes.
func (n *names) serve(c net.Conn) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(lookupLimit)) // whoever asks doesn't forget to close, but a bug may
	for {
		var size [2]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(c, query); err != nil {
			return
		}
		answer, err := n.answer(query)
		if err != nil {
			return
		}
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

// answer makes the answer to a query: A records of names in the domain, nothing of other
// types, and that there's no such name of any other.
func (n *names) answer(query []byte) ([]byte, error) {
	var p dnsmessage.Parser
	head, err := p.Start(query)
	if err != nil {
		return nil, err
	}
	q, err := p.Question()
	if err != nil {
		return nil, err
	}
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: head.ID, Response: true, Authoritative: true, RecursionDesired: head.RecursionDesired, RecursionAvailable: true},
		Questions: []dnsmessage.Question{q},
	}
	switch {
	case !strings.HasSuffix(q.Name.String(), "."+peer.Domain+"."):
		m.RCode = dnsmessage.RCodeNameError
	case q.Type == dnsmessage.TypeA:
		m.Answers = n.records(q.Name)
	}
	return m.Pack()
}

func (n *names) records(name dnsmessage.Name) []dnsmessage.Resource {
	addrs := []netip.Addr{loopback}
	if n.addrs != nil {
		addrs = n.addrs()
	}
	var rs []dnsmessage.Resource
	for _, a := range addrs {
		h := dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET, TTL: 1}
		rs = append(rs, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: a.As4()}})
	}
	return rs
}

// inTurns returns addresses in the order in which a name server gives them out that wants
// all of them used: each time another one is first.
func inTurns(addrs ...netip.Addr) func() []netip.Addr {
	var mu sync.Mutex
	first := -1
	return func() []netip.Addr {
		mu.Lock()
		defer mu.Unlock()
		first = (first + 1) % len(addrs)
		return slices.Concat(addrs[first:], addrs[:first])
	}
}
