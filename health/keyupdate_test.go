//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package health

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"testing"

	"golang.org/x/sys/unix"
)

// A forger writes the server's records of TLS 1.3 in its place: crypto/tls has no way to
// send a key update.
type forger struct {
	t      testing.TB
	secret []byte
	seq    byte
}

// newForgedPair returns a connection on whose server side only the forger writes.
func newForgedPair(t testing.TB) (*tlsPair, *forger) {
	t.Helper()
	var log bytes.Buffer
	p := newTLSPair(t, tls.VersionTLS13, func(_, s *tls.Config) {
		s.KeyLogWriter = &log
		s.SessionTicketsDisabled = true // the forger's records have to be the first
	})
	if p.client.ConnectionState().CipherSuite != tls.TLS_AES_128_GCM_SHA256 {
		t.Skip("the forger knows TLS_AES_128_GCM_SHA256 only")
	}
	for line := range bytes.Lines(log.Bytes()) {
		if f := bytes.Fields(line); string(f[0]) == "SERVER_TRAFFIC_SECRET_0" {
			secret, err := hex.DecodeString(string(f[2]))
			if err != nil {
				t.Fatal(err)
			}
			return p, &forger{t: t, secret: secret}
		}
	}
	t.Fatal("the server has logged no secret")
	return nil, nil
}

// expand is HKDF-Expand-Label of RFC 8446 section 7.1 with an empty context.
func (f *forger) expand(label string, n int) []byte {
	label = "tls13 " + label
	info := string([]byte{0, byte(n), byte(len(label))}) + label + "\x00"
	b, err := hkdf.Expand(sha256.New, f.secret, info, n)
	if err != nil {
		f.t.Fatal(err)
	}
	return b
}

func (f *forger) record(typ byte, content []byte) []byte {
	block, err := aes.NewCipher(f.expand("key", 16))
	if err != nil {
		f.t.Fatal(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		f.t.Fatal(err)
	}
	nonce := f.expand("iv", 12)
	nonce[11] ^= f.seq
	f.seq++
	inner := append(bytes.Clone(content), typ)
	n := len(inner) + aead.Overhead()
	header := []byte{recordData, 3, 3, byte(n >> 8), byte(n)}
	return append(header, aead.Seal(nil, nonce, inner, header)...)
}

// keyUpdate returns the record of a key update, and uses the new key from then on.
func (f *forger) keyUpdate(requested bool) []byte {
	msg := []byte{24, 0, 0, 1, 0}
	if requested {
		msg[4] = 1
	}
	r := f.record(22, msg)
	f.secret, f.seq = f.expand("traffic upd", 32), 0
	return r
}

func TestKeyUpdatesAreNoSurplus(t *testing.T) {
	for name, requested := range map[string]bool{"one way": false, "answered": true} {
		t.Run(name, func(t *testing.T) {
			p, f := newForgedPair(t)
			write(t, p.serverRaw, string(f.keyUpdate(requested)))
			awaitEvent(t, p.raw, unix.POLLIN)
			wantLook(t, p.client.Look, Alive, nil)
			write(t, p.client, "request") // in the client's new key, if the update was answered
			wantRead(t, p.server, "request")
			write(t, p.serverRaw, string(f.record(recordData, []byte("answer"))))
			wantRead(t, p.client, "answer")
			wantLook(t, p.client.Look, Alive, nil)
		})
	}
}

// The first half of a key update can't be told from data; the whole can.
func TestPartOfAKeyUpdate(t *testing.T) {
	p, f := newForgedPair(t)
	r := f.keyUpdate(false)
	write(t, p.serverRaw, string(r[:10]))
	awaitEvent(t, p.raw, unix.POLLIN)
	wantLook(t, p.client.Look, Dead, ErrSurplus)
	write(t, p.serverRaw, string(r[10:]))
	awaitEvent(t, p.raw, unix.POLLIN)
	wantLook(t, p.client.Look, Alive, nil)
	write(t, p.serverRaw, string(f.record(recordData, []byte("answer"))))
	wantRead(t, p.client, "answer")
}

// A message in two records, between which the look ends.
func TestMessageInTwoRecords(t *testing.T) {
	p, f := newForgedPair(t)
	msg := []byte{24, 0, 0, 1, 0}
	write(t, p.serverRaw, string(f.record(22, msg[:2])))
	awaitEvent(t, p.raw, unix.POLLIN)
	wantLook(t, p.client.Look, Alive, nil) // a message of the handshake's kind is never data
	write(t, p.serverRaw, string(f.record(22, msg[2:])))
	f.secret, f.seq = f.expand("traffic upd", 32), 0
	awaitEvent(t, p.raw, unix.POLLIN)
	wantLook(t, p.client.Look, Alive, nil)
	write(t, p.serverRaw, string(f.record(recordData, []byte("answer"))))
	wantRead(t, p.client, "answer")
}

// A peer that asks for an answer and takes none must not hold up a look.
func TestKeyUpdateThatCannotBeAnswered(t *testing.T) {
	p, f := newForgedPair(t)
	write(t, p.serverRaw, string(f.keyUpdate(true)))
	awaitEvent(t, p.raw, unix.POLLIN)
	fill(t, p.raw) // behind it: what the server sends can open its window a little
	wantLook(t, p.client.Look, Dead, errStuck)
	if n, err := p.client.Write([]byte("request")); n != 0 || err == nil {
		t.Errorf("and a Write returns %d, %v", n, err)
	}
}

func TestFatalAlert(t *testing.T) {
	p, f := newForgedPair(t)
	write(t, p.serverRaw, string(f.record(recordAlert, []byte{2, 80})))
	awaitEvent(t, p.raw, unix.POLLIN)
	if v, err := p.client.Look(); v != Dead || err == nil {
		t.Errorf("the look gives %v, %v", v, err)
	}
}

func TestGarbageIsDead(t *testing.T) {
	p, _ := newForgedPair(t)
	write(t, p.serverRaw.TCPConn, "HTTP/1.1 400 Bad Request\r\n\r\n")
	awaitEvent(t, p.raw, unix.POLLIN)
	if v, err := p.client.Look(); v != Dead || err == nil {
		t.Errorf("the look gives %v, %v", v, err)
	}
}
