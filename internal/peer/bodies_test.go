package peer

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"testing"
)

// TestBodiesAreChecked sends whole and broken uploads, of known and of unknown length, to
// a child's servers of both kinds, and checks their answers.
func TestBodiesAreChecked(t *testing.T) {
	const up, down = 300_000, 200_000
	child := spawn(t)
	for _, secure := range []bool{false, true} {
		h1, err := child.Listen(secure, Faults{BodySize: down, Upload: up})
		if err != nil {
			t.Fatal(err)
		}
		h2, err := child.ListenH2(secure, H2Faults{BodySize: down, Upload: up, MaxStreams: 8})
		if err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprintf("http1/tls=%v", secure), func(t *testing.T) {
			sendBodies(t, child, "HTTP/1.1", secure, h1.Addr(), up, down)
			rep, err := h1.Close()
			wantBodies(t, rep, err)
		})
		t.Run(fmt.Sprintf("http2/tls=%v", secure), func(t *testing.T) {
			sendBodies(t, child, "HTTP/2.0", secure, h2.Addr(), up, down)
			rep, err := h2.Close()
			wantBodies(t, rep.Report, err)
		})
	}
}

// uploads are bodies for POSTs, some of them not what the server wants, and how many these are.
func uploads(up int) (bodies [][]byte, damaged, size uint64) {
	whole := Pattern(up)
	changed := Pattern(up)
	changed[up/2]++
	bodies = [][]byte{whole, changed, whole[:up-1], Pattern(up + 1), nil, whole}
	for _, b := range bodies {
		size += uint64(len(b))
	}
	return bodies, 4, size
}

func wantBodies(t *testing.T, rep Report, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	// Each upload was sent twice, in two ways; the GET has no body, which is as it should be.
	bodies, damaged, size := uploads(300_000)
	if rep.Damaged != 2*damaged || rep.BodyBytes != 2*size || rep.Requests != uint64(2*len(bodies)+1) {
		t.Errorf("%d requests, %d damaged, %d bytes; want %d, %d, %d", rep.Requests, rep.Damaged, rep.BodyBytes, 2*len(bodies)+1, 2*damaged, 2*size)
	}
}

func sendBodies(t *testing.T, child *Child, proto string, secure bool, addr string, up, down int) {
	t.Helper()
	tr := &http.Transport{Protocols: new(http.Protocols), TLSClientConfig: &tls.Config{RootCAs: child.Roots()}}
	tr.Protocols.SetHTTP1(proto == "HTTP/1.1")
	tr.Protocols.SetHTTP2(proto == "HTTP/2.0" && secure)
	tr.Protocols.SetUnencryptedHTTP2(proto == "HTTP/2.0" && !secure)
	defer tr.CloseIdleConnections()
	url := map[bool]string{false: "http://", true: "https://"}[secure] + addr
	id := 0
	do := func(method string, body io.Reader, length int64) {
		id++
		req, err := http.NewRequest(method, url, body)
		if err != nil {
			t.Fatal(err)
		}
		req.ContentLength = length
		req.Header.Set(HeaderID, fmt.Sprint(id))
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var check PatternCheck
		if _, err := io.Copy(&check, resp.Body); err != nil || !check.Is(int64(down)) || resp.Proto != proto {
			t.Errorf("answer %d by %s: %d bytes, %v, want the pattern's %d by %s", id, resp.Proto, check.Size(), err, down, proto)
		}
	}
	do(http.MethodGet, nil, 0)
	bodies, _, _ := uploads(up)
	for _, b := range bodies {
		do(http.MethodPost, bytes.NewReader(b), int64(len(b)))
		do(http.MethodPost, io.NopCloser(bytes.NewReader(b)), -1)
	}
}
