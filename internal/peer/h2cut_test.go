package peer

import (
	"testing"
	"time"

	"golang.org/x/net/http2"
)

func TestH2CutsByReset(t *testing.T) {
	for _, tt := range []struct {
		at       CutPoint
		executed int
		some     bool
	}{{CutBefore, 0, false}, {CutAfter, 1, false}, {CutHalf, 1, true}} {
		t.Run(string(tt.at), func(t *testing.T) {
			f := H2Faults{BodySize: 100, Cuts: Cuts[H2Cut]{Every: 2, Posts: []H2Cut{{At: tt.at, Code: http2.ErrCodeInternal}}}}
			runH2(t, H2Options{Faults: f}, func(t *testing.T, r *h2Rig) {
				h := r.hand()
				h.headers(1, true)
				h.want(http2.FrameData)
				h.headers(3, true)
				if tt.some {
					if d := h.want(http2.FrameData); d.End() || len(d.Data) != 50 {
						t.Errorf("%d bytes of DATA, end: %v", len(d.Data), d.End())
					}
				}
				if f := h.want(http2.FrameRSTStream); f.StreamID != 3 || f.Code != http2.ErrCodeInternal {
					t.Errorf("RST_STREAM of %d with %v", f.StreamID, f.Code)
				}
				h.headers(5, true)
				if f := h.want(http2.FrameHeaders); f.StreamID != 5 {
					t.Errorf("answer on stream %d", f.StreamID)
				}
				wantExecuted(t, r.clean().Report, 1, 0, tt.executed, 0, 1)
			})
		})
	}
}

// TestH2CutsByGoAway has four streams: one that waits for its body, one that is cut, one
// between them that is answered late, and one above.
func TestH2CutsByGoAway(t *testing.T) {
	f := H2Faults{Delay: 20 * time.Millisecond, Cuts: Cuts[H2Cut]{Every: 2, Posts: []H2Cut{{At: CutAfter, GoAway: true}}}}
	runH2(t, H2Options{Faults: f}, func(t *testing.T, r *h2Rig) {
		h := r.hand()
		h.headers(1, false)
		h.headers(3, true)
		h.headers(5, false)
		h.headers(7, false) // above, and not executed
		h.check(h.fr.WriteData(5, true, nil))
		if f := h.want(http2.FrameGoAway); f.Last != 5 || f.Code != http2.ErrCodeNo {
			t.Errorf("GOAWAY %+v", f)
		}
		h.check(h.fr.WriteData(1, true, nil))
		h.check(h.fr.WriteData(7, true, nil))
		for range 2 {
			if f := h.want(http2.FrameHeaders); f.StreamID != 1 && f.StreamID != 3 {
				t.Errorf("answer on stream %d", f.StreamID)
			}
		}
		h.wantEnd()
		wantExecuted(t, r.Report().Report, 1, 0, 1, 0, 1, 0, 0)
	})
}

func TestH2DropsConnectionsNow(t *testing.T) {
	runH2(t, H2Options{Faults: H2Faults{Delay: time.Hour}}, func(t *testing.T, r *h2Rig) {
		h := r.hand()
		h.headers(1, true)
		until(t, func() bool { return r.Report().Requests == 1 })
		if n := r.GoAway(H2GoAway{Quiet: true, Now: true, Style: BareFIN}); n != 1 {
			t.Errorf("dropped %d, want 1", n)
		}
		h.wantEnd()
	})
}

func TestH2EverySecondConnectionEndsUnannounced(t *testing.T) {
	f := H2Faults{StreamsPerConn: 1, Unannounced: 2}
	runH2(t, H2Options{Faults: f}, func(t *testing.T, r *h2Rig) {
		for i := range 4 {
			h := r.hand()
			h.headers(1, true)
			if i%2 == 0 {
				h.want(http2.FrameGoAway)
			}
			h.wantEnd()
		}
		if sum := r.clean().Sum(); sum.GoAwaysSent != 2 || sum.Executed != 4 {
			t.Errorf("%d GOAWAYs, %d executed", sum.GoAwaysSent, sum.Executed)
		}
	})
}

func TestH2IdleConnectionFallsSilent(t *testing.T) {
	f := H2Faults{IdleTimeout: 50 * time.Millisecond, GoAway: H2GoAway{Style: Silence}}
	runH2(t, H2Options{Faults: f}, func(t *testing.T, r *h2Rig) {
		h := r.hand()
		h.headers(1, true)
		h.want(http2.FrameHeaders)
		h.quiet(120 * time.Millisecond)
		h.headers(3, true)
		h.check(h.fr.WritePing(false, [8]byte{1}))
		until(t, func() bool { return r.Report().Sum().Pings == 1 })
		h.quiet(50 * time.Millisecond)
		_ = h.raw.Close()
		until(t, func() bool { return r.Count().Open == 0 })
		wantExecuted(t, r.Report().Report, 1, 0, 0)
	})
}

// quiet reads for a while, in which nothing may come.
func (h *h2Hand) quiet(d time.Duration) {
	h.t.Helper()
	_ = h.raw.SetReadDeadline(time.Now().Add(d))
	if n, err := h.raw.Read(make([]byte, 1)); n > 0 || !timedOut(err) {
		h.t.Fatalf("read %d bytes, %v; want silence", n, err)
	}
	_ = h.raw.SetReadDeadline(time.Time{})
}

func TestH2Limit(t *testing.T) {
	runH2(t, H2Options{Faults: H2Faults{MaxStreams: 10, Delay: time.Hour}}, func(t *testing.T, r *h2Rig) {
		h := r.hand()
		h.headers(1, true)
		until(t, func() bool { return r.Report().Requests == 1 })
		r.Limit(1)
		h.headers(3, true) // in ignorance: no violation
		if f := h.want(http2.FrameRSTStream); f.StreamID != 3 || f.Code != http2.ErrCodeRefusedStream {
			t.Errorf("RST_STREAM of %d with %v", f.StreamID, f.Code)
		}
		later := r.hand()
		for f := later.want(http2.FrameSettings); ; f = later.want(http2.FrameSettings) {
			if !f.Ack() {
				if f.Settings[len(f.Settings)-1] != (http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1}) {
					t.Errorf("a new connection has %v", f.Settings)
				}
				break
			}
		}
		if sum := r.clean().Sum(); sum.Refused != 1 {
			t.Errorf("%d refused", sum.Refused)
		}
	})
}

// TestH2Waves refuses the last two of four requests, twice each.
func TestH2Waves(t *testing.T) {
	f := H2Faults{Waves: H2Waves{Every: 4, Length: 2, Most: 2}}
	var w h2Waves
	got := ""
	for id := range uint64(8) {
		for w.refuse(f.Waves, id, false) {
			got += "r"
		}
		got += "-"
	}
	if want := "-rr-rr-" + "--rr-rr-" + "-"; got != want {
		t.Errorf("refused %q, want %q", got, want)
	}
	for n, want := range []bool{true, true, false} {
		if w.refuse(f.Waves, 20, true) != want {
			t.Errorf("one too many, time %d: not %v", n+1, want)
		}
	}
	runH2(t, H2Options{Faults: f}, func(t *testing.T, r *h2Rig) {
		h := r.hand()
		h.headers(1, true, "x-request-id", "1")
		h.want(http2.FrameHeaders)
		h.headers(3, true)
		h.want(http2.FrameRSTStream)
		if sum := r.clean().Sum(); sum.Refused != 1 || sum.Executed != 1 {
			t.Errorf("%d refused, %d executed", sum.Refused, sum.Executed)
		}
	})
}

func TestH2Down(t *testing.T) {
	runH2(t, H2Options{}, func(t *testing.T, r *h2Rig) {
		c := r.client()
		_, err := r.call(c, "POST", "")
		if err != nil {
			t.Fatal(err)
		}
		wantDown(t, &r.port)
		if _, err := r.call(c, "POST", ""); err != nil {
			t.Errorf("what was accepted isn't served on: %v", err)
		}
	})
}
