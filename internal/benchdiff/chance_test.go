package benchdiff

import "testing"

// TestFalseAlarmsOfOneFigure holds that where nothing changed, one figure alone is said to have
// changed about as often as Alpha says, and no less: a test that never speaks is none.
func TestFalseAlarmsOfOneFigure(t *testing.T) {
	const runs = 500
	alarms := 0
	for seed := range uint64(runs) {
		m := newMaker(seed, 9, 0.05)
		c := Compare(m.report(1, 1, even), m.report(1, 1, even), "a", "b", Options{Clients: []string{"connwise"}})
		alarms += c.Count(Better) + c.Count(Worse)
	}
	if alarms < runs*2/100 || alarms > runs*7/100 {
		t.Errorf("%d false alarms in %d comparisons, want about 4 %% (what the test's steps leave of 5)", alarms, runs)
	}
}

// TestFalseAlarmsOfManyFigures holds that of a whole table, too, one comparison in twenty at
// most has a figure that is said to have changed.
func TestFalseAlarmsOfManyFigures(t *testing.T) {
	const runs = 100
	alarms := 0
	for seed := range uint64(runs) {
		m := newMaker(seed, 9, 0.05)
		c := Compare(m.report(20, 1, even), m.report(20, 1, even), "a", "b", Options{})
		if c.Count(Better)+c.Count(Worse) > 0 {
			alarms++
		}
	}
	if alarms > runs*8/100 {
		t.Errorf("%d of %d comparisons had a false alarm, want at most about 5 %%", alarms, runs)
	}
}

// TestFindsAChange holds that 10 % more CPU in one of 20 rows is found in almost all runs, and
// found to be worse; and 10 % less to be better.
func TestFindsAChange(t *testing.T) {
	for want, factor := range map[Verdict]float64{Worse: 1.1, Better: 1 / 1.1} {
		const runs = 40
		found, others := 0, 0
		for seed := range uint64(runs) {
			m := newMaker(seed, 12, 0.02)
			a := m.report(20, 1, even)
			b := m.report(20, 1, func(row int) float64 {
				if row == 3 {
					return factor
				}
				return 1
			})
			c := Compare(a, b, "a", "b", Options{Least: 0.02})
			if verdicts(c, "cpu")["sD connwise"] == want {
				found++
			}
			others += c.Count(Worse) + c.Count(Better)
		}
		if others -= found; found < runs*95/100 || others > runs*10/100 {
			t.Errorf("%s: found in %d of %d runs, with %d others", want, found, runs, others)
		}
	}
}

// TestABusierMachineDecidesNothing compares runs of which the second had half of the machine.
func TestABusierMachineDecidesNothing(t *testing.T) {
	const runs = 100
	alarms, told := 0, 0
	for seed := range uint64(runs) {
		m := newMaker(seed, 9, 0.03)
		c := Compare(m.report(5, 1, even), m.report(5, 2, even), "a", "b", Options{Least: 0.02})
		if c.Count(Worse)+c.Count(Better) > 0 {
			alarms++
		}
		if verdicts(c, "cpu")["sA net/http"] == Worse {
			told++
		}
	}
	if alarms > runs*10/100 {
		t.Errorf("%d of %d comparisons took a busier machine for a change", alarms, runs)
	}
	if told < runs*95/100 {
		t.Errorf("net/http's own rows told of the machine in %d of %d comparisons", told, runs)
	}
}

// TestAChangedReferenceDecidesNothing compares runs of which in the second net/http alone needed
// a third, as happens where it gets into trouble in one run by chance.
func TestAChangedReferenceDecidesNothing(t *testing.T) {
	const runs = 100
	alarms, unclear := 0, 0
	for seed := range uint64(runs) {
		m := newMaker(seed, 9, 0.03)
		a, b := m.report(2, 1, even), m.report(2, 1, even)
		for i, r := range b.Results {
			for k := range r.Samples {
				if r.Client == reference {
					*b.Results[i].Samples[k].CPUPerRequest /= 3
				}
			}
		}
		c := Compare(a, b, "a", "b", Options{Least: 0.02})
		alarms += c.Count(Worse) + c.Count(Better)
		unclear += c.count(func(ch Change) bool { return ch.Why == OtherMoved })
	}
	if alarms > runs*2*10/100 || unclear < runs*2*80/100 {
		t.Errorf("of %d figures %d were told to have changed, and %d to be unclear", 2*runs, alarms, unclear)
	}
}

// TestTooFewRounds holds that three rounds are never enough, and that rounds which are as far
// apart as they can be, but too few for so many figures, are called too few.
func TestTooFewRounds(t *testing.T) {
	for seed := range uint64(20) {
		m := newMaker(seed, 3, 0.01)
		c := Compare(m.report(2, 1, even), m.report(2, 1, func(int) float64 { return 3 }), "a", "b", Options{})
		if got := verdicts(c, "cpu")["sA connwise"]; got != Unknown {
			t.Fatalf("verdict of three rounds %q, want %q", got, Unknown)
		}
	}
	m := newMaker(1, 4, 0.01)
	c := Compare(m.report(20, 1, even), m.report(20, 1, func(row int) float64 { return 1 + float64(row/19) }), "a", "b", Options{})
	if got := verdicts(c, "cpu")["sT connwise"]; got != Unknown {
		t.Errorf("verdict of one figure of 20 in four rounds %q, want %q", got, Unknown)
	}
	if n := c.RoundsFor(); n != 6 || leastP(n, n) > 0.05/20 || leastP(n-1, n-1) <= 0.05/20 {
		t.Errorf("%d rounds are said to be enough for one of 20 figures", n)
	}
}
