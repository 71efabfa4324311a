package peer

import (
	"crypto/tls"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

func clientConfig(c *Child) *tls.Config { return &tls.Config{RootCAs: c.Roots()} }

// TestH2NotesViolations pins that a server with the strictness of the books sees each
// kind of misconduct, and nothing in conduct that is right.
func TestH2NotesViolations(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(*h2Hand)
		want string // empty: nothing is wrong
	}{
		{"as it should be", func(h *h2Hand) { h.headers(1, true); h.want(http2.FrameHeaders); h.headers(3, true) }, ""},
		{"cancelled, then the next", func(h *h2Hand) {
			h.headers(1, false)
			h.check(h.fr.WriteRSTStream(1, http2.ErrCodeCancel))
			h.headers(3, true)
		}, ""},
		{"two at a time", func(h *h2Hand) { h.headers(1, false); h.headers(3, true) }, "stream 3 opened while 1 are open, of 1"},
		{"even", func(h *h2Hand) { h.headers(2, true) }, "stream 2 has an even number"},
		{"beyond the stream's window", func(h *h2Hand) {
			h.headers(1, false)
			for range 5 {
				h.check(h.fr.WriteData(1, false, make([]byte, 16<<10)))
			}
		}, "DATA on stream 1 beyond the window"},
		{"reset twice", func(h *h2Hand) {
			h.headers(1, false)
			h.check(h.fr.WriteRSTStream(1, http2.ErrCodeCancel))
			h.check(h.fr.WriteRSTStream(1, http2.ErrCodeCancel))
		}, "RST_STREAM on stream 1 behind its RST_STREAM"},
		{"sent behind a reset", func(h *h2Hand) {
			h.headers(1, false)
			h.check(h.fr.WriteRSTStream(1, http2.ErrCodeCancel))
			h.check(h.fr.WriteData(1, true, nil))
		}, "DATA on stream 1 behind its RST_STREAM"},
		{"never opened", func(h *h2Hand) { h.check(h.fr.WriteData(7, true, nil)) }, "DATA on stream 7, which was never opened"},
		{"short", func(h *h2Hand) {
			h.headers(1, false, "content-length", "5")
			h.check(h.fr.WriteData(1, true, []byte("hell")))
		}, "stream 1 has content-length 5 and 4 bytes"},
		{"an acknowledgement too many", func(h *h2Hand) { h.check(h.fr.WriteSettingsAck()) }, "SETTINGS acknowledged that were not sent"},
		{"unreadable", func(h *h2Hand) { h.check(h.fr.WriteRawFrame(http2.FramePing, 0, 0, []byte("short"))) }, "connection error: FRAME_SIZE_ERROR"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			// The script gives no credit, so that windows can be seen to end.
			read := make(chan struct{})
			script := func(c *H2Conn) {
				defer close(read)
				_ = c.Settings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1})
				for {
					f, err := c.Read()
					if err != nil {
						return
					}
					if f.Type != http2.FrameData {
						_ = c.Respond(f)
					}
					if f.Request != nil {
						_ = c.Answer(f.Request)
					}
				}
			}
			s, err := StartH2(H2Options{Handler: script})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			r := &h2Rig{t: t, H2Server: s}
			h := r.hand()
			h.want(http2.FrameSettings)
			tc.do(h)
			h.check(h.raw.CloseWrite())
			<-read
			got := strings.Join(r.Report().Violations, "; ")
			if got == "" != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("noted %q, want %q", got, tc.want)
			}
		})
	}
}

func TestH2CountsStreamsOpenedAfterGoAway(t *testing.T) {
	script := func(c *H2Conn) {
		_ = c.Settings()
		_ = c.GoAway(0, http2.ErrCodeNo)
		for _, err := c.Request(); err == nil; _, err = c.Request() {
		}
	}
	runH2(t, H2Options{Handler: script}, func(t *testing.T, r *h2Rig) {
		h := r.hand()
		h.headers(1, true) // crosses the GOAWAY
		if f := h.want(http2.FrameGoAway); f.Last != 0 || f.Code != http2.ErrCodeNo {
			t.Errorf("GOAWAY %+v", f)
		}
		h.want(http2.FramePing)
		h.headers(3, true)
		until(t, func() bool { return r.Report().Sum().Received == 2 })
		if sum := r.Report(); sum.Sum().Late != 1 || sum.Sum().Executed != 0 || sum.Sum().GoAwaysSent != 1 {
			t.Errorf("%+v", sum)
		}
	})
}

func TestH2EndsAnIdleConnection(t *testing.T) {
	const idle = 50 * time.Millisecond
	for name, g := range map[string]H2GoAway{
		"GOAWAY": {}, "two GOAWAYs": {Grace: idle}, "quiet": {Quiet: true}, "quiet, without close_notify": {Quiet: true, Style: BareFIN},
	} {
		t.Run(name, func(t *testing.T) {
			runH2(t, H2Options{Faults: H2Faults{IdleTimeout: idle, GoAway: g}}, func(t *testing.T, r *h2Rig) {
				h := r.hand()
				h.headers(1, true)
				h.want(http2.FrameHeaders)
				start := time.Now()
				if g.Grace > 0 {
					if f := h.want(http2.FrameGoAway); f.Last != anyStream {
						t.Errorf("the first GOAWAY has the last id %d", f.Last)
					}
				}
				if !g.Quiet {
					if f := h.want(http2.FrameGoAway); f.Last != 1 {
						t.Errorf("GOAWAY has the last id %d", f.Last)
					}
				}
				if g.Quiet {
					h.wantEnd()
				}
				h.headers(3, true) // nobody executes it
				h.wantEnd()
				if took := time.Since(start); took < idle/2+g.Grace {
					t.Errorf("ended after %v, want %v", took, idle+g.Grace)
				}
				if rep := r.clean(); rep.Requests != 1 {
					t.Errorf("%d requests executed, want 1", rep.Requests)
				}
			})
		})
	}
}

func TestH2ResetsWhereToldTo(t *testing.T) {
	f := H2Faults{StreamsPerConn: 1, GoAway: H2GoAway{Quiet: true, Style: RST}}
	runH2(t, H2Options{Faults: f}, func(t *testing.T, r *h2Rig) {
		h := r.hand()
		h.headers(1, true)
		for {
			if _, err := h.fr.ReadFrame(); err != nil {
				if !strings.Contains(err.Error(), "reset") {
					t.Errorf("the connection ended with %v", err)
				}
				return
			}
		}
	})
}

func TestH2ExpelsFloodsOfPings(t *testing.T) {
	for name, p := range map[string]H2PingPolicy{
		"quiet": {MaxQuiet: 2}, "gap": {MinGap: time.Hour, MaxStrikes: 2},
	} {
		t.Run(name, func(t *testing.T) {
			runH2(t, H2Options{Faults: H2Faults{Ping: p}}, func(t *testing.T, r *h2Rig) {
				h := r.hand()
				for range 2 {
					h.check(h.fr.WritePing(false, [8]byte{7}))
					for f := h.want(http2.FramePing); !f.Ack() || f.Data[0] != 7; f = h.want(http2.FramePing) {
					}
				}
				h.check(h.fr.WritePing(false, [8]byte{8}))
				if f := h.want(http2.FrameGoAway); f.Code != http2.ErrCodeEnhanceYourCalm {
					t.Errorf("GOAWAY with %v", f.Code)
				}
				h.wantEnd()
				if sum := r.clean(); sum.Sum().Pings != 3 || sum.Sum().PingPeak != 1 {
					t.Errorf("%+v", sum)
				}
			})
		})
	}
}

func TestH2PingsAreUnansweredUntilAnswered(t *testing.T) {
	script := func(c *H2Conn) {
		_ = c.Settings()
		for pings := 0; pings < 3; {
			f, err := c.Read()
			if err != nil {
				return
			}
			if f.Type == http2.FramePing {
				pings++
			}
		}
		_ = c.Ping(true, [8]byte{})
		c.Linger()
	}
	runH2(t, H2Options{Handler: script}, func(t *testing.T, r *h2Rig) {
		h := r.hand()
		for range 3 {
			h.check(h.fr.WritePing(false, [8]byte{}))
		}
		h.want(http2.FramePing)
		if sum := r.clean(); sum.Sum().PingPeak != 3 || sum.Sum().PingsUnanswered != 2 {
			t.Errorf("%+v", sum)
		}
	})
}
