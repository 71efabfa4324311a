package health

import (
	"slices"
	"strings"
	"time"
)

// A Proxy is what the maker of a proxy, load balancer or server says of the times after which
// it closes a client's connection, as it comes: whoever runs it may have changed them.
type Proxy struct {
	Name  string // as Known takes it
	Title string
	// Idle is how long a connection may wait for its next request, on the side that faces the
	// client. Zero: without limit unless one is set, see Note.
	Idle time.Duration
	// Unused is how long a connection may wait for its first request; zero: not documented,
	// or without limit.
	Unused time.Duration
	// Silent: it forgets the connection and says nothing; neither a FIN nor an RST comes.
	Silent bool
	// Announces: its answers tell Idle in a Keep-Alive field, unasked.
	Announces bool
	// Note is what else to know, a sentence or a few; empty: nothing.
	Note string
	// Doc is the maker's document that has Idle, an https URL.
	Doc string
}

// Known returns what is known of a proxy or server by its name, such as "aws-alb" or "nginx".
// Upper and lower case are the same. Its Idle fits pool.Config.ProxyIdleTimeout, for which zero
// means unknown, too. False: the name isn't among KnownNames.
func Known(name string) (Proxy, bool) {
	name = strings.ToLower(name)
	i, ok := slices.BinarySearchFunc(known[:], name, func(p Proxy, name string) int {
		return strings.Compare(p.Name, name)
	})
	if !ok {
		return Proxy{}, false
	}
	return known[i], true
}

// KnownNames returns the names that Known knows, sorted.
func KnownNames() []string {
	names := make([]string, len(known))
	for i, p := range known {
		names[i] = p.Name
	}
	return names
}
