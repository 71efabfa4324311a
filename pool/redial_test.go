package pool

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/internal/fakenet"
)

// Connections that were opened all at once and have the same MaxConnAge aren't renewed all at
// once, nor are those that come after them.
func TestRenewalsAreSpread(t *testing.T) {
	const workers, age = 40, 500 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var dials []time.Duration
		start := time.Now()
		dial := func(context.Context, string, string) (net.Conn, error) {
			mu.Lock()
			defer mu.Unlock()
			dials = append(dials, time.Since(start))
			client, server := fakenet.Pipe()
			go answerSlowly(server)
			return client, nil
		}
		tr, err := New(Config{MaxConnAge: age, Base: &http.Transport{DialContext: dial}})
		if err != nil {
			t.Fatal(err)
		}
		defer tr.Close()
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for time.Since(start) < 4*age {
					resp, err := tr.RoundTrip((&script{T: t}).request("POST", nil))
					if err != nil {
						t.Error(err)
						return
					}
					resp.Body.Close()
				}
			})
		}
		wg.Wait()
		first, _ := slices.BinarySearch(dials, age/2)
		later := dials[first:]
		if first < workers || len(later) < 2*workers {
			t.Fatalf("%d dials at the beginning and %d later: nothing was tested", first, len(later))
		}
		const span = 10 * time.Millisecond // a fifth of the jitter
		for i, at := range later {
			end, _ := slices.BinarySearch(later, at+span)
			if n := end - i; n > workers*3/5 {
				t.Errorf("%d of %d connections were dialled anew within %v after %v", n, workers, span, at)
			}
		}
	})
}

// answerSlowly takes 5 ms for each request.
func answerSlowly(c net.Conn) {
	defer c.Close()
	for br := bufio.NewReader(c); ; {
		if _, err := http.ReadRequest(br); err != nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	}
}
