package retry

import (
	"net/http"
	"time"

	"example.com/connwise/pool"
)

// A call is one RoundTrip. Most succeed at once, so it is small.
type call struct {
	t      *Transport
	req    *http.Request // the caller's, never changed
	policy *Policy
	body   body
	began  time.Duration // clock
	past   *past         // nil until an attempt has failed
}

// A past is what became of a call's attempts.
type past struct {
	Report     // of those that have failed, and at the end of all
	resent int // how often Base has sent the request again by itself
	// spent is what the call has taken of each of the budget's accounts.
	spent [accounts]int
}

// last is the last attempt that has failed.
func (c *call) last() *Attempt { return &c.past.Attempts[len(c.past.Attempts)-1] }

// retries is how often the request has been sent again.
func (c *call) retries() int {
	if c.past == nil {
		return 0
	}
	return c.past.Retries
}

func (c *call) succeeded(a *attempt) bool {
	return a.err == nil && !c.policy.retriesStatus(a.resp.StatusCode)
}

// goOn ends a call whose first attempt was no success.
func (c *call) goOn(before *http.Request, a *attempt) (resp *http.Response, err error) {
	c.past = new(past)
	defer func() {
		if resp == nil && err == nil { // a hook of the caller's has panicked
			a.abandon()
		}
	}()
	for {
		d := c.decide(a)
		switch {
		case d.Retry:
		case a.err != nil:
			return forCaller(a, c.req), c.failure(a.err) // with an answer, if Base has returned both
		default:
			return c.answer(a), nil
		}
		next, err := c.again(before, a, d.Wait)
		if err != nil {
			return nil, c.failure(err)
		}
		before, *a = next, c.send(next)
		if c.succeeded(a) {
			c.past.Attempts = append(c.past.Attempts, a.record(&Outcome{Phase: pool.PhaseResponse, Status: a.resp.StatusCode}))
			return c.answer(a), nil
		}
	}
}

// A Decision is what a policy made of an attempt.
type Decision struct {
	Request *http.Request // the caller's; not to be changed
	Attempt Attempt
	Retry   bool
	Reason  Reason
	Wait    time.Duration // before the next attempt
}

// decide says whether there is another attempt after a, and notes a for the report.
func (c *call) decide(a *attempt) Decision {
	o := observe(c.req, a.resp, a.err, a.trail(c.req))
	o.Timeout = o.Timeout || a.limit.fired()
	o.LongRead = c.t.readsLong(c.req)
	c.past.resent += o.Retry
	o.Retry, o.BodyReplayable = c.past.Retries+c.past.resent, c.body.replayable(a.err)
	v := c.policy.Decide(o)
	d := Decision{Request: c.req, Retry: v.Retry, Reason: v.Reason}
	if d.Retry {
		d.Wait = max(c.policy.delay(c.past.Retries+1), v.After)
		if why := c.obstacle(&o, d.Wait); why != "" {
			d.Retry, d.Reason, d.Wait = false, why, 0
		}
	}
	if d.Retry && a.err == nil {
		a.err = statusError(a.resp)
	}
	d.Attempt = a.record(&o)
	d.Attempt.Reason, d.Attempt.Wait = d.Reason, d.Wait
	c.past.Attempts = append(c.past.Attempts, d.Attempt)
	if !d.Retry {
		c.t.counts.refused(d.Reason)
	}
	if c.t.OnDecision != nil {
		c.t.OnDecision(d)
	}
	return d
}

// obstacle returns what stands in the way of a retry that the policy allows, or "". It spends of the
// budget, so it is asked last.
func (c *call) obstacle(o *Outcome, wait time.Duration) Reason {
	if deadline, ok := c.req.Context().Deadline(); ok && time.Until(deadline) <= wait {
		return ReasonDeadline
	}
	if c.policy.CallTimeout > 0 && c.left() <= wait {
		return ReasonOutOfTime
	}
	unprocessed := o.evidence().Unprocessed()
	spent := &c.past.spent[accountOf(unprocessed)]
	cost, ok := c.t.budget.spend(unprocessed, o.Timeout, *spent)
	if !ok {
		return ReasonBudget
	}
	*spent += cost
	return ""
}

// left is how much of the policy's CallTimeout remains.
func (c *call) left() time.Duration { return c.policy.CallTimeout - (clock() - c.began) }

// forCaller makes a's answer look as if the caller's own request had been sent.
func forCaller(a *attempt, req *http.Request) *http.Response {
	if a.resp != nil && a.resp.Request == a.sent {
		a.resp.Request = req
	}
	return a.resp
}

// answer is the answer, if a has one, with the report of a call that was retried.
func (c *call) answer(a *attempt) *http.Response {
	resp := forCaller(a, c.req)
	if resp == nil || c.past.Retries == 0 {
		return resp
	}
	c.t.counts.absorbed()
	c.deliver()
	c.past.attach(resp, c.req)
	return resp
}

// failure returns err as the call's, with the report if the request was sent more than once.
func (c *call) failure(err error) error {
	if err == nil || c.past.Retries == 0 {
		return err
	}
	c.t.counts.failed()
	c.deliver()
	return &Error{Report: c.past.Report, Err: err}
}

// deliver gives the report to whoever asked for it.
func (c *call) deliver() {
	if to, _ := c.req.Context().Value(reportKey{}).(*Report); to != nil {
		to.add(&c.past.Report)
	}
}

var epoch = time.Now()

// clock is the time since the process began. It is cheaper than time.Now.
func clock() time.Duration { return time.Since(epoch) }
