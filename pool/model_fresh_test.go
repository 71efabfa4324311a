package pool

import (
	"errors"
	"strings"
	"time"
)

// This file has what the model asks of those who prefer a fresh connection.

// checkFresh is called behind each step.
func (m *model) checkFresh(s step) {
	if m.over || m.shut != nil || m.unsettled() {
		return
	}
	for _, h := range m.tr.allHosts() {
		h.mu.Lock()
		switch {
		case s.what == "dial fails":
			m.checkSettledLocked(h)
		case strings.HasSuffix(s.what, "fresh") && !m.cfg.http2:
			m.checkPreferredLocked(h, m.reqs[len(m.reqs)-1])
		}
		h.mu.Unlock()
	}
}

// checkSettledLocked: a preference fails no request that something else could have served.
func (m *model) checkSettledLocked(h *host) {
	if !h.readyLocked() {
		return
	}
	for _, r := range m.seen.waiting {
		if !r.fresh.IsZero() && !r.cautious && r.returned && errors.Is(r.err, errModelDial) {
			m.errorf("request %d has failed with %d connections idle: %v", r.id, len(h.idle), r.err)
		}
	}
}

// checkPreferredLocked: if r, which has just begun, was sent at once on an old connection, no fresh
// one was there and no dial to be had.
func (m *model) checkPreferredLocked(h *host, r *modelReq) {
	if r.on == nil || r.came != 1 || r.cautious || r.on.opened.After(r.fresh) {
		return
	}
	now := time.Now()
	for _, c := range h.idle {
		if _, ok := judge(c.candidate(now)); ok && c.opened.After(r.fresh) {
			m.errorf("request %d was sent on an old connection, with a fresh one idle", r.id)
		}
	}
	if h.dialsAtOnceLocked(now) {
		m.errorf("request %d was sent on an old connection, and a dial was to be had", r.id)
	}
}
