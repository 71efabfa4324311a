package bench

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// resolveLoad takes a seed, and the time that a recorded log lasts for a round's where none
// is given, and refuses loads that can't be.
func (p *plan) resolveLoad(given Options) error {
	bad := func(reason string) error {
		return &UsageError{Option: "load", Value: p.Load.String(), Reason: reason}
	}
	switch {
	case given.Seed != 0 && p.Load.kind != "poisson":
		return &UsageError{Option: "seed", Value: fmt.Sprint(given.Seed), Reason: "nothing is random without a poisson load"}
	case given.Workers != 0 && p.Load.open():
		return &UsageError{Option: "workers", Value: fmt.Sprint(given.Workers), Reason: "is for a closed load: with " + p.Load.String() + " requests come at their times, however many are under way"}
	case p.target != nil && p.Load.posts():
		return bad("has POSTs, and a target gets GETs alone")
	}
	switch p.Load.kind {
	case "poisson":
		for p.Seed == 0 {
			p.Seed = uint64(rand.Uint32()) // exact in JavaScript, too
		}
	case "ramp":
		if given.Duration == 0 && given.Requests > 0 {
			return bad("how long it takes must be said, by duration, where requests are bounded")
		}
	case "replay":
		if given.Duration != 0 {
			return nil
		}
		if p.Duration = p.Load.lasts() * time.Duration(p.Rounds); p.Load.lasts() > time.Hour/time.Duration(p.Rounds) {
			return bad(fmt.Sprintf("lasts %v, which is more than an hour in %d rounds: set duration", p.Load.lasts(), p.Rounds))
		}
	}
	return nil
}

// takesLoad says whether a scenario can be run with the load: with a closed one all can.
func (p *plan) takesLoad(s scenario) bool { return s.loads || !p.Load.open() }

// refuseLoad is for a scenario that was named.
func (p *plan) refuseLoad(scenario string) error {
	return &UsageError{Option: "load", Value: p.Load.String(), Reason: "scenario " + scenario + " has arrivals of its own", Known: LoadScenarioNames()}
}

// loadOf is the load of a scenario: those with arrivals of their own have none.
func (p *plan) loadOf(s scenario) Load {
	if s.loads {
		return p.Load
	}
	return Load{}
}
