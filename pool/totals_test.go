package pool

import (
	"reflect"
	"testing"
	"time"
)

// Every counter is added, taken away, and looked at.
func TestTotalsAreComplete(t *testing.T) {
	n := 0
	eachCounter(reflect.TypeFor[Totals](), func(set func(*Totals, int64)) {
		n++
		var one, two, sum Totals
		set(&one, 3)
		set(&two, 4)
		sum.Add(&one)
		if !sum.Restarted(&two) || two.Restarted(&sum) || sum.Restarted(&sum) {
			t.Errorf("counter %d: 3 isn't less than 4", n)
		}
		sum.Add(&two)
		set(&one, 7)
		if got, want := sum.clone(), one.clone(); !reflect.DeepEqual(got, want) {
			t.Errorf("counter %d: the sum is %+v, want %+v", n, got, want)
		}
		sum.Sub(&two)
		set(&one, 3)
		if got, want := sum.clone(), one.clone(); !reflect.DeepEqual(got, want) {
			t.Errorf("counter %d: the difference is %+v, want %+v", n, got, want)
		}
		sum.Sub(&two)
		set(&one, 0)
		if got, want := sum.clone(), one.clone(); !reflect.DeepEqual(got, want) {
			t.Errorf("counter %d: less than nothing is %+v, want %+v", n, got, want)
		}
	})
	if n < 60 {
		t.Errorf("only %d counters were found", n)
	}
}

// eachCounter gives a function that sets it for each number in Totals, maps included.
func eachCounter(typ reflect.Type, f func(set func(*Totals, int64))) {
	var walk func(typ reflect.Type, find func(*Totals) reflect.Value)
	walk = func(typ reflect.Type, find func(*Totals) reflect.Value) {
		switch typ.Kind() {
		case reflect.Struct:
			for i := range typ.NumField() {
				walk(typ.Field(i).Type, func(t *Totals) reflect.Value { return find(t).Field(i) })
			}
		case reflect.Array:
			for i := range typ.Len() {
				walk(typ.Elem(), func(t *Totals) reflect.Value { return find(t).Index(i) })
			}
		case reflect.Map:
			walkMap(typ, find, f)
		default:
			f(func(t *Totals, n int64) { setNumber(find(t), n) })
		}
	}
	walk(typ, func(t *Totals) reflect.Value { return reflect.ValueOf(t).Elem() })
}

func walkMap(typ reflect.Type, find func(*Totals) reflect.Value, f func(set func(*Totals, int64))) {
	numbers := 1
	if typ.Elem().Kind() == reflect.Struct {
		numbers = typ.Elem().NumField()
	}
	for i := range numbers {
		f(func(t *Totals, n int64) {
			v := reflect.New(typ.Elem()).Elem()
			if v.Kind() == reflect.Struct {
				setNumber(v.Field(i), n)
			} else {
				setNumber(v, n)
			}
			m := reflect.MakeMap(typ)
			m.SetMapIndex(reflect.ValueOf("x").Convert(typ.Key()), v)
			find(t).Set(m)
		})
	}
}

func setNumber(v reflect.Value, n int64) {
	if v.CanInt() {
		v.SetInt(n)
	} else {
		v.SetUint(uint64(n))
	}
}

// ReadStats says what Stats does, whatever was there before.
func TestReadStatsReuses(t *testing.T) {
	tr := newCrawler(t, 0)
	crawl(t, tr, "host", 50)
	var s Stats
	tr.ReadStats(&s)
	tr.CloseIdleConnections()
	crawl(t, tr, "another", 5) // sorted before the others
	tr.ReadStats(&s)
	tr.forget(hostNamed(t, tr, "host7"), time.Now(), 0)
	tr.ReadStats(&s)
	if want := tr.Stats(); !reflect.DeepEqual(s, want) || len(s.Hosts) != 54 || s.Total.Dials != 55 {
		t.Errorf("reused: %d hosts, %+v\nafresh: %d hosts, %+v", len(s.Hosts), s.Total, len(want.Hosts), want.Total)
	}
	if n := testing.AllocsPerRun(10, func() { tr.ReadStats(&s) }); n > 4 {
		t.Errorf("%v allocations for 54 hosts, want 4 at most", n)
	}
	before := memory()
	for range 20 {
		tr.ReadStats(&s)
	}
	if grown := int64(memory().TotalAlloc-before.TotalAlloc) / 20; grown > 4096 {
		t.Errorf("%d bytes were allocated for 54 hosts", grown)
	}
}

// What was learnt long ago is not shown any more, though nobody else has looked since.
func TestStatsForgetsWhatIsOld(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		tp := s.get() // without an answer: nothing is idle that would be looked after
		p := s.wantDial().finish()
		h := s.tr.allHosts()[0]
		h.mu.Lock()
		for i := range 2 * fewAgree {
			h.known.closed(true, 2*time.Second, time.Now().Add(time.Duration(i)*time.Second))
		}
		h.refreshLocked(time.Now())
		h.mu.Unlock()
		if st := s.stats(); st.LearntIdle != 2*time.Second || st.IdleLimitSource != "learnt" {
			t.Errorf("learnt %v, limit %s", st.LearntIdle, st.IdleLimitSource)
		}
		time.Sleep(learntFor + time.Minute)
		if st := s.stats(); st.LearntIdle != 0 || st.IdleLimitSource != "none" {
			t.Errorf("later: learnt %v, limit %s", st.LearntIdle, st.IdleLimitSource)
		}
		p.serve("ok")
		tp.wantBody("ok")
	})
}
