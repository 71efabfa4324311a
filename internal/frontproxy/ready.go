//go:build unix

package frontproxy

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"time"

	"example.com/connwise/internal/peer"
)

// Ready tries requests until one is answered by the origin, which has to repeat peer.HeaderID, or
// for StartTime: some proxies say that they run a moment before they listen.
func (p *Proxy) Ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), StartTime)
	defer cancel()
	rt := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: p.roots}, DisableKeepAlives: true}
	for {
		err := p.tryOnce(ctx, rt)
		if err == nil || !wait(ctx, 10*time.Millisecond) {
			return err
		}
	}
}

func (p *Proxy) tryOnce(ctx context.Context, rt http.RoundTripper) error {
	scheme := "http"
	if p.roots != nil {
		scheme = "https"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+p.Addr()+"/ready", nil)
	if err != nil {
		return err
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Header.Get(peer.HeaderID) == "" {
		return errors.New("frontproxy: the answer is not the origin's: " + resp.Status)
	}
	return nil
}

// wait waits for d. It reports false when ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
