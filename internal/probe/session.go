package probe

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// A session is HTTP on one link. One goroutine uses it.
type session interface {
	// ask makes one exchange and reads the answer to its end. When it fails the session is
	// at its end too, and *endError tells how the peer ended it, if it did.
	ask(ctx context.Context) (answer, error)
	// watch waits until the peer ends the connection, but no longer than until the age
	// most, or until ctx ends. It tells what the peer has said before, too.
	watch(ctx context.Context, most time.Duration) ending
	Close() error
}

// An answer is what there is to know of one.
type answer struct {
	status int
	proto  string
	header http.Header
	last   string // how the peer says that there is no other on this connection; empty: it doesn't
	size   int64  // bytes read for it
}

// An endError says that the peer ended the connection where an answer was due.
type endError struct{ words string }

func (e *endError) Error() string { return "the server ended the connection: " + e.words }

// errSilent says that no answer came in time.
var errSilent = errors.New("no answer in time")

// lost is err with what it means.
func (l *link) lost(ctx context.Context, err error) error {
	switch word := l.word(err); {
	case word != "":
		return &endError{word}
	case ctx.Err() != nil:
		return ctx.Err()
	case isTimeout(err):
		return errSilent
	}
	return err
}

// newRequest makes the request that a probe sends.
func (p *Probe) newRequest() (*http.Request, error) {
	u := *p.url
	u.User = nil
	req, err := http.NewRequest(p.opt.Method, u.String(), nil)
	if err != nil {
		return nil, usage("that URL can't be asked for")
	}
	req.Header.Set("User-Agent", "connwise-probe")
	req.Header.Set("Accept", "*/*")
	if user := p.url.User; user != nil {
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
	}
	for name, values := range p.opt.Header {
		if http.CanonicalHeaderKey(name) == "Host" {
			req.Host = values[len(values)-1]
			continue
		}
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	return req, nil
}
