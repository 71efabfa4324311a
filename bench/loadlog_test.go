package bench

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestReadLog(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name, log string
		want      []arrival
	}{
		{"seconds", "0\n0.5\n2\n", []arrival{{0, 1, ""}, {500 * ms, 1, ""}, {2000 * ms, 1, ""}}},
		{"epoch, as nginx writes it", "1764547200.123\n1764547200.125 POST\n1764547200.125 GET", []arrival{{0, 1, ""}, {2 * ms, 1, "POST"}, {2 * ms, 1, "GET"}}},
		{"nanoseconds of our days", "1764547200.000000001\n1764547200.000000004\n", []arrival{{0, 1, ""}, {3, 1, ""}}},
		{"RFC 3339, of several zones", "2025-12-01T00:00:00Z\n2025-12-01T01:00:00.25+01:00 GET\n", []arrival{{0, 1, ""}, {250 * ms, 1, "GET"}}},
		{"both", "1764547199\n2025-12-01T00:00:00Z\n", []arrival{{0, 1, ""}, {1000 * ms, 1, ""}}},
		{"out of order", "5\n4 POST\n7\n4 GET\n", []arrival{{0, 1, "POST"}, {0, 1, "GET"}, {1000 * ms, 1, ""}, {3000 * ms, 1, ""}}},
		{"empty lines and comments", "# msec\n\n  3.\t\r\n#4\n4 \n", []arrival{{0, 1, ""}, {1000 * ms, 1, ""}}},
	} {
		got, err := readLog(strings.NewReader(tt.log), 100, 1<<14)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %v, %v; want %v", tt.name, got, err, tt.want)
		}
	}
}

func TestReadLogRefuses(t *testing.T) {
	for _, tt := range []struct{ log, want string }{
		{"", "must have a line"},
		{"\n# nothing\n", "must have a line"},
		{"1\n\n-1\n", "line 3: \"-1\" is neither"},
		{"1 PUT\n", `line 1: method "PUT" is neither GET nor POST`},
		{"1 GET /\n", "line 1: has 3 fields"},
		{"1.2.3\n", "line 1"},
		{".5\n", "line 1"},
		{"0x10\n", "line 1"},
		{"1.0123456789\n", "line 1"},
		{"99999999999999\n", "line 1"},
		{"2025-12-01\n", "line 1"},
		{"1\n" + strings.Repeat("x", mostLogLine+1), "line 2: has more than 4096 bytes"},
		{strings.Repeat("1\n", 100) + "2\n", "line 101: a log may have 100 requests"},
		{strings.Repeat("1 POST"+strings.Repeat(" ", 1000)+"\n", 17), "line 17: a log may have 16384 bytes"},
	} {
		if _, err := readLog(strings.NewReader(tt.log), 100, 1<<14); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.20q: error %v, want %q", tt.log, err, tt.want)
		}
	}
}

func FuzzReadLog(f *testing.F) {
	for _, s := range []string{"1764547200.123 GET\n1764547200.5 POST\n", "2025-12-01T00:00:00.5+01:00\n1\n", "5\n4\n# c\n\n", "68719476735\n0\n", "9999-12-31T23:59:59Z\n0000-01-01T00:00:00Z\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		got, err := readLog(bytes.NewReader(log), mostArrivals, mostLogBytes)
		if err != nil {
			return
		}
		if len(got) == 0 || len(got) > bytes.Count(log, []byte("\n"))+1 || got[0].at != 0 {
			t.Fatalf("%q: %d requests, the first of them at %v", log, len(got), got[0].at)
		}
		for i, a := range got {
			if a.n != 1 || i > 0 && a.at < got[i-1].at || strings.Trim(a.method, "GETPOS") != "" {
				t.Fatalf("%q: request %d is %+v", log, i, a)
			}
		}
	})
}
