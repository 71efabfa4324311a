package peer

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// Domain is that of the names which certificates of an Authority are for, beside localhost:
// those with one label more. It is reserved for tests (RFC 6761), no name server knows it.
const Domain = "bench.test"

// An Authority is a certificate authority made up on the spot, with one server
// certificate for 127.0.0.1, localhost and all names right below Domain. Its keys never leave the process.
type Authority struct {
	root []byte // DER
	leaf tls.Certificate
}

// NewAuthority makes one; its certificates are valid for a day.
func NewAuthority() (*Authority, error) {
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("peer: %w", err)
	}
	root := template(1)
	root.IsCA, root.BasicConstraintsValid = true, true
	root.KeyUsage = x509.KeyUsageCertSign
	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, &rootKey.PublicKey, rootKey)
	if err != nil {
		return nil, fmt.Errorf("peer: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("peer: %w", err)
	}
	leaf := template(2)
	leaf.Subject.CommonName += "'s server" // with the authority's, OpenSSL takes it for self-signed
	leaf.KeyUsage = x509.KeyUsageDigitalSignature
	leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	leaf.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	leaf.DNSNames = []string{"localhost", "*." + Domain}
	der, err := x509.CreateCertificate(rand.Reader, leaf, root, &key.PublicKey, rootKey)
	if err != nil {
		return nil, fmt.Errorf("peer: %w", err)
	}
	return &Authority{rootDER, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}}, nil
}

func template(serial int64) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: "connwise test peer"},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(24 * time.Hour),
	}
}

// PEM returns the authority's certificate, for clients to trust.
func (a *Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.root})
}

// Roots returns a pool with the authority's certificate alone.
func (a *Authority) Roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(a.PEM())
	return pool
}

// Certificate returns the server certificate with its key, for servers of one's own.
func (a *Authority) Certificate() tls.Certificate { return a.leaf }

func (a *Authority) serverConfig() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{a.leaf}, NextProtos: []string{"http/1.1"}}
}
