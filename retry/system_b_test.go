package retry_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"example.com/connwise/retry"
)

// TestNothingTwice: many callers, a server that closes connections all the time at any
// point. What a caller was told has succeeded was executed once, and no write twice.
func TestNothingTwice(t *testing.T) {
	const callers, calls = 8, 25
	var script [][]string
	for i := range callers * calls {
		script = append(script, [][]string{
			{thenFIN}, {serve, thenRST}, {hsRST}, {serve, cutFIN}, {serve, serve, thenBare}, {cutRST}, {hsFIN}, {serve, serve, serve, thenFIN},
		}[i%8])
	}
	o := newOrigin(t, true, script...)
	r := newRig(t, quick(retry.Default()), nil, nil)
	var wg sync.WaitGroup
	var mu sync.Mutex
	ok := map[string]bool{}
	for c := range callers {
		wg.Go(func() {
			for i := range calls {
				key := fmt.Sprintf("%d/%d", c, i)
				res := r.do("POST", o.url(), strings.NewReader("x"), "X-Key", key)
				mu.Lock()
				ok[key] = res.err == nil
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	executed := map[string]int{}
	for _, s := range o.requests() {
		executed[s.key]++
	}
	good := 0
	for key, isOK := range ok {
		if n := executed[key]; n > 1 || isOK && n != 1 {
			t.Errorf("call %s, ok=%v, was executed %d times", key, isOK, n)
		}
		if isOK {
			good++
		}
	}
	t.Logf("%d of %d calls succeeded, %d connections", good, len(ok), o.accepted())
	if good < len(ok)/2 {
		t.Errorf("only %d of %d calls succeeded", good, len(ok))
	}
}
