//go:build unix

package frontproxy

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
)

// configure writes the kind's files, for ports that are free now.
func (p *Proxy) configure() (err error) {
	if p.setup.addr, err = FreePort(); err != nil {
		return err
	}
	if p.setup.inner, err = FreePort(); err != nil {
		return err
	}
	for name, text := range p.kind.files(p.setup) {
		if err := writeFile(p.setup.file(name), []byte(text)); err != nil {
			return err
		}
	}
	return nil
}

// writeCert writes a certificate and its key into one file, and the key alone into another.
func (p *Proxy) writeCert(c tls.Certificate) error {
	cert, key, err := PEM(c)
	if err != nil {
		return err
	}
	p.setup.certFile = p.setup.file("cert.pem")
	if err := writeFile(p.setup.certFile, append(cert, key...)); err != nil {
		return err
	}
	return writeFile(p.setup.keyFile(), key)
}

// PEM is a certificate, without those that signed it, and its key in the form that proxies read.
func PEM(c tls.Certificate) (cert, key []byte, err error) {
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		return nil, nil, fmt.Errorf("frontproxy: %w", err)
	}
	cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]})
	return cert, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

func writeFile(name string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return fmt.Errorf("frontproxy: %w", err)
	}
	if err := os.WriteFile(name, b, 0o600); err != nil {
		return fmt.Errorf("frontproxy: %w", err)
	}
	return nil
}
