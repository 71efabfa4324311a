//go:build proxies && unix

package realproxy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"
)

// A keyPair is a server certificate for 127.0.0.1 and its key, in the PEM form that
// proxies read, and what clients have to trust.
type keyPair struct {
	certPEM, keyPEM []byte
	roots           *x509.CertPool
}

// newKeyPair makes an authority up, lets it sign one certificate, and forgets its key.
func newKeyPair(t *testing.T) keyPair {
	t.Helper()
	ca, caKey := newCert(1), newKey(t)
	ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign
	caDER := sign(t, ca, ca, &caKey.PublicKey, caKey)

	leaf, key := newCert(2), newKey(t)
	leaf.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	leafDER := sign(t, leaf, ca, &key.PublicKey, caKey)

	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pemOf("CERTIFICATE", caDER))
	return keyPair{pemOf("CERTIFICATE", leafDER), pemOf("PRIVATE KEY", keyDER), roots}
}

func newCert(serial int64) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: "connwise proxy test"},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(time.Hour),
	}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t *testing.T, cert, by *x509.Certificate, pub *ecdsa.PublicKey, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, cert, by, pub, key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
