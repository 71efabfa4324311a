package h2

import "net/http"

// maxNames bounds how many names of fields a connection remembers.
const maxNames = 128

// names has the canonical forms of field names that have come, so that each is made once.
type names map[string]string

func (n *names) canonical(name string) string {
	if k, ok := (*n)[name]; ok {
		return k
	}
	k := http.CanonicalHeaderKey(name)
	if *n == nil {
		*n = make(names)
	}
	if len(*n) < maxNames && len(name) < 64 {
		(*n)[name] = k
	}
	return k
}
