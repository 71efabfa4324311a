package retry

import (
	"math"
	"testing"
	"time"

	"example.com/connwise/dialer"
)

func TestCheck(t *testing.T) {
	for field, p := range map[string]Policy{
		"Interval":       {Interval: -time.Second},
		"MaxInterval":    {MaxInterval: 30},
		"MaxRetryAfter":  {MaxRetryAfter: -1},
		"AttemptTimeout": {AttemptTimeout: 5},
		"CallTimeout":    {CallTimeout: -time.Second},
		"Spread":         {Spread: math.NaN()},
		"Timeouts":       {Timeouts: 3},
		"NextConn":       {NextConn: 3},
		"Stages":         {Stages: map[dialer.Stage]StageRule{0: StageNever}},
		"Methods":        {Methods: []string{"get"}},
		"Repeatable":     {Repeatable: []string{""}},
		"RetryStatuses":  {RetryStatuses: []int{99}},
	} {
		err := (&Transport{Policy: p}).Check()
		if e, ok := err.(*PolicyError); !ok || e.Field != "Policy."+field {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, p := range []Policy{
		{Stages: map[dialer.Stage]StageRule{dialer.StageTLS: 3}}, {Spread: 50}, {Interval: time.Minute},
		{Methods: []string{"GET,HEAD"}}, {Methods: []string{"GET "}}, {Methods: []string{""}}, {CallTimeout: -1},
	} {
		if err := p.Check(); err == nil {
			t.Errorf("%+v is accepted", p)
		}
	}
	if err := (&Transport{Budget: &Budget{Part: 2}}).Check(); err == nil {
		t.Error("a budget that makes no sense is accepted")
	}
	for _, name := range Names() {
		p, _ := Named(name)
		if err := p.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	own := Policy{Repeatable: []string{"GET", "REPORT", "purge"}, Spread: -1, RetryStatuses: []int{429, 503}}
	if err := (&Transport{Policy: own, Budget: &Budget{}}).Check(); err != nil {
		t.Error(err)
	}
}
