package dialer

import (
	"errors"
	"net"
	"runtime"
	"testing"
	"time"
)

func TestUserTimeoutToSet(t *testing.T) {
	own := net.KeepAliveConfig{Enable: true, Count: 9}
	for _, tt := range []struct {
		name     string
		d        Dialer
		want     time.Duration
		optional bool
	}{
		{"default", Dialer{}, 2 * time.Minute, true},
		{"without probes", Dialer{KeepAlive: net.KeepAliveConfig{Idle: -1}}, 2 * time.Minute, true},
		{"with probes of the caller's own", Dialer{KeepAlive: own}, 0, true},
		{"both", Dialer{KeepAlive: own, UserTimeout: time.Second}, time.Second, false},
		{"off", Dialer{UserTimeout: -1}, 0, true},
		{"tiny", Dialer{UserTimeout: 1}, time.Millisecond, false},
		{"huge", Dialer{UserTimeout: 1 << 62}, maxUserTimeout, false},
	} {
		if got, optional := tt.d.userTimeout(); got != tt.want || optional != tt.optional {
			t.Errorf("%s: %v, optional: %v; want %v, %v", tt.name, got, optional, tt.want, tt.optional)
		}
	}
}

// What can't be honoured is refused.
func TestUserTimeoutElsewhere(t *testing.T) {
	if runtime.GOOS == "linux" {
		t.Skip("Linux has it")
	}
	p := newPeer(t, echo)
	_, err := (&Dialer{UserTimeout: time.Second}).DialContext(t.Context(), "tcp", p.addr)
	wantError(t, err, StageConnect)
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error is %v", err)
	}
	c, err := (&Dialer{}).DialContext(t.Context(), "tcp", p.addr)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}
