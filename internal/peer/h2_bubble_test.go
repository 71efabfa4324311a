package peer

import (
	"context"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/internal/fakenet"
)

// TestH2ServesConnectionsInMemory pins that a server without a listener lives in a
// bubble, by its clock.
func TestH2ServesConnectionsInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay, idle = time.Hour, time.Minute
		s := NewH2(H2Options{Faults: H2Faults{Delay: delay, IdleTimeout: idle}})
		tr := &http.Transport{Protocols: new(http.Protocols)}
		tr.Protocols.SetUnencryptedHTTP2(true)
		tr.DialContext = func(context.Context, string, string) (net.Conn, error) {
			client, server := fakenet.Pipe()
			go s.ServeConn(server)
			return client, nil
		}
		start := time.Now()
		resp, err := (&http.Client{Transport: tr}).Get("http://a")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if took := time.Since(start); took != delay {
			t.Errorf("answered after %v, want %v", took, delay)
		}
		time.Sleep(idle - 1)
		synctest.Wait()
		if rep := s.Report(); rep.OpenConns() != 1 || rep.Requests != 1 {
			t.Errorf("%+v", rep)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if rep := s.Report(); rep.OpenConns() != 0 || rep.PerConn[0].GoAwaysSent != 1 {
			t.Errorf("%+v", rep)
		}
		tr.CloseIdleConnections()
		s.Close()
	})
}
