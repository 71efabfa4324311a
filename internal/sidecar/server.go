package sidecar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// errCut is why requests end that didn't within Drain.
var errCut = errors.New("sidecar: it ended before the request did")

// A CutError is how Run ends if requests were still under way after Settings.Drain.
type CutError struct {
	Requests int64
	After    time.Duration
}

// Error tells how many requests were cut.
func (e *CutError) Error() string {
	return fmt.Sprintf("%d requests had not ended after %s, and were cut", e.Requests, shortDuration(e.After))
}

// A Sidecar is a Proxy behind its listeners. Run it once.
type Sidecar struct {
	// Source is read again at a reload.
	Source Source
	// Log gets what happens: one line for an event.
	Log *slog.Logger
	// Reload asks for a reload with each value. Nil: never.
	Reload <-chan struct{}
	// Metrics, if not nil, makes the admin listener's /metrics.
	Metrics func(*Proxy) http.Handler
	// Ready, if not nil, is called when connections are accepted. admin is nil without one.
	Ready func(p *Proxy, clients, admin net.Addr)
	// Reloaded, if not nil, is called after each reload with what Load or Use returned.
	Reloaded func(error)
}

// Run serves by the settings, which Load made of Source, until ctx ends: then it accepts nothing
// more, and returns when the requests under way are done, or cut after Settings.Drain. The
// error is a *CutError then, or a listener's. A second Run needs another Sidecar.
func (sc *Sidecar) Run(ctx context.Context, set *Settings) error {
	p, err := NewProxy(set, sc.Log)
	if err != nil {
		return err
	}
	defer p.Close()
	f, err := sc.open(p, set)
	if err != nil {
		return err
	}
	sc.Log.Info("listening", "clients", urlOf(f.clients), "upstream", set.Upstream, "admin", f.adminURL())
	if sc.Ready != nil {
		sc.Ready(p, f.clients.Addr(), f.adminAddr())
	}
	for {
		select {
		case <-ctx.Done():
			return f.drain(p, set.Drain, sc.Log)
		case err := <-f.failed:
			f.abort()
			return err
		case <-sc.Reload:
			err := sc.reload(p, set)
			p.tally.add(func(c *Counters) {
				c.Reloads++
				if err != nil {
					c.ReloadsFailed++
				}
			})
			if sc.Reloaded != nil {
				sc.Reloaded(err)
			}
		}
	}
}

// reload reads the settings again. What is wrong with them is logged, and changes nothing.
func (sc *Sidecar) reload(p *Proxy, first *Settings) error {
	set, err := Load(sc.Source)
	if err != nil {
		sc.Log.Error("reload refused; the settings stay as they are", "error", err.Error())
		return err
	}
	for _, key := range keepFixed(first, set) {
		sc.Log.Warn("setting is in force after a restart only", "setting", key)
	}
	if err := p.Use(set); err != nil {
		sc.Log.Error("reload failed; the settings stay as they are", "error", err.Error())
		return err
	}
	sc.Log.Info("reloaded", "upstream", set.Upstream)
	return nil
}

// keepFixed gives the settings that a reload can't change the values that are in force. It returns the
// keys of those that differed.
func keepFixed(first, set *Settings) (keys []string) {
	was := first.Table()
	for i, t := range set.Table() {
		if old := was[i].Value.String(); t.Fixed && t.Value.String() != old {
			keys = append(keys, t.Key)
			_ = t.Value.Set(old) // it was taken before
		}
	}
	return keys
}

// A front is what a Sidecar listens with.
type front struct {
	clients, admin net.Listener // admin may be nil
	server, other  *http.Server
	draining       chan struct{}
	failed         chan error
	cut            context.CancelCauseFunc // ends the requests
}

func (sc *Sidecar) open(p *Proxy, set *Settings) (*front, error) {
	f := &front{draining: make(chan struct{}), failed: make(chan error, 2)}
	var err error
	if f.clients, err = listen(set.Listen, set.SocketMode); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if set.Admin != "" {
		if f.admin, err = listen(set.Admin, set.SocketMode); err != nil {
			return nil, errors.Join(fmt.Errorf("admin: %w", err), f.clients.Close())
		}
	}
	ctx, cut := context.WithCancelCause(context.Background())
	f.cut = cut
	f.server = newServer(set, p, sc.Log)
	f.server.BaseContext = func(net.Listener) context.Context { return ctx }
	go f.serve(f.server, f.clients)
	if f.admin != nil {
		f.other = newServer(set, knownHost(set, newAdmin(p, f.draining, sc.Metrics)), sc.Log)
		go f.serve(f.other, f.admin)
	}
	return f, nil
}

// newServer makes a server by the settings for clients.
func newServer(set *Settings, h http.Handler, log *slog.Logger) *http.Server {
	s := &http.Server{
		Handler:                      h,
		ReadHeaderTimeout:            set.Client.ReadHeaderTimeout,
		IdleTimeout:                  set.Client.IdleTimeout,
		MaxHeaderBytes:               int(set.Client.MaxHeaderBytes),
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		DisableGeneralOptionsHandler: true, // OPTIONS * is for the upstream
		Protocols:                    new(http.Protocols),
	}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	return s
}

func (f *front) serve(s *http.Server, l net.Listener) {
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		f.failed <- err
	}
}

func (f *front) adminAddr() net.Addr {
	if f.admin == nil {
		return nil
	}
	return f.admin.Addr()
}

func (f *front) adminURL() string {
	if f.admin == nil {
		return none
	}
	return urlOf(f.admin)
}

// drain ends in peace what there is, as far as it ends by itself within limit.
func (f *front) drain(p *Proxy, limit time.Duration, log *slog.Logger) error {
	close(f.draining)
	log.Info("draining", "requests", p.Active(), "limit", limit)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	err := f.server.Shutdown(ctx)
	if err == nil {
		err = p.idle(ctx) // Shutdown doesn't know of upgraded connections
	}
	cut := &CutError{p.Active(), limit}
	if err == nil || cut.Requests == 0 { // Shutdown also waits for connections that have yet to send a request
		f.abort()
		log.Info("ended")
		return nil
	}
	f.abort()
	_ = p.idle(context.Background()) // they have nothing left to wait for
	log.Error("ended with requests under way", "cut", cut.Requests, "after", limit)
	return cut
}

// abort ends everything at once.
func (f *front) abort() {
	f.cut(errCut)
	_ = f.server.Close() // of listeners and connections that nobody needs any more
	if f.other != nil {
		_ = f.other.Close()
	}
}
