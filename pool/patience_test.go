package pool

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"

	"example.com/connwise/internal/peer"
)

func TestPatience(t *testing.T) {
	away := &GoAwayError{LastStreamID: 39}
	refused := http2.StreamError{StreamID: 41, Code: http2.ErrCodeRefusedStream}
	tests := []struct {
		name    string
		phase   Phase
		err     error
		served  bool
		n, away int
		want    bool
	}{
		{"unsent", PhaseUnsent, io.EOF, true, maxReplacements - 1, 0, true},
		{"unsent too often", PhaseUnsent, io.EOF, true, maxReplacements, 0, false},
		{"unsent after many ends in turn", PhaseUnsent, io.EOF, true, 20, 20, true},
		{"GOAWAY with nothing served", PhaseRefused, away, false, maxReplacements, 0, false},
		{"GOAWAY in turn", PhaseRefused, away, true, maxReplacements, maxReplacements, true},
		{"GOAWAY in turn, before the first byte", PhaseUnsent, away, true, maxReplacements, maxReplacements, true},
		{"GOAWAY in turn after other failures", PhaseRefused, away, true, maxReplacements, 0, true},
		{"GOAWAY in turn too often", PhaseRefused, away, true, maxGoAways, maxGoAways, false},
		{"not in turn: may have been processed", PhaseSent, away, true, maxReplacements, 0, false},
		{"not in turn: this one stream", PhaseRefused, errors.Join(away, refused), true, maxReplacements, 0, false},
	}
	for _, tt := range tests {
		c := &call{g: grant{c: &conn{}}, aways: tt.away}
		c.g.c.served.Store(tt.served)
		if got := c.patient(tt.n, &Error{Phase: tt.phase, Err: tt.err}); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// TestWhatCountsAsResent: what was lost to connections that end in turn takes nothing from the
// tries which are left for another failure.
func TestWhatCountsAsResent(t *testing.T) {
	away := &GoAwayError{LastStreamID: 39}
	c := &call{req: new(http.Request), g: grant{c: &conn{h: new(host)}}}
	c.g.c.served.Store(true)
	for _, e := range []*Error{{Phase: PhaseRefused, Err: away}, {Phase: PhaseUnsent, Err: away}, {Phase: PhaseRefused, Err: io.EOF}, {Phase: PhaseRefused, Err: away}} {
		next, err := c.again(e)
		if err != nil {
			t.Fatal(err)
		}
		next.g, c = c.g, next
	}
	for _, tt := range []struct {
		e    *Error
		want int
	}{
		{&Error{Phase: PhaseSent, Err: io.EOF}, 1},
		{&Error{Phase: PhaseUnsent, Err: io.EOF}, 1},
		{&Error{Phase: PhaseRefused, Err: away}, 4},
	} {
		if c.describe(tt.e).Resent != tt.want {
			t.Errorf("%v: Resent = %d, want %d", tt.e.Phase, tt.e.Resent, tt.want)
		}
	}
}

// TestPeerThatTakesFewRequestsOnAConnection has many more callers than a connection
// takes requests: most lose one connection after the other to those who were quicker.
func TestPeerThatTakesFewRequestsOnAConnection(t *testing.T) {
	const most, callers, each = 4, 60, 5
	srv, err := peer.StartH2(peer.H2Options{Faults: peer.H2Faults{StreamsPerConn: most}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	base := &http.Transport{Protocols: new(http.Protocols)}
	base.Protocols.SetUnencryptedHTTP2(true)
	tr, err := New(Config{Base: base})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range each {
				if err := postOnce(tr, "http://"+srv.Addr()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := srv.Report(); got.Requests != callers*each || got.Accepted < callers*each/most {
		t.Errorf("%d requests executed on %d connections, want %d, %d on each", got.Requests, got.Accepted, callers*each, most)
	}
}

func postOnce(rt http.RoundTripper, url string) error {
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader("body"))
	if err != nil {
		return err
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}
