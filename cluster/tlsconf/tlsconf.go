package tlsconf

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// How long certificates are valid.
const (
	caLife   = 10 * 365 * 24 * time.Hour
	certLife = 2 * 365 * 24 * time.Hour
)

// CreateCA makes a new authority in dir. It never replaces an existing one.
func CreateCA(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fileError(err, dir)
	}
	if _, err := os.Stat(filepath.Join(dir, "ca.crt")); err == nil {
		return pgerr.New(pgerr.DuplicateFile, "%q already exists", filepath.Join(dir, "ca.crt"))
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pgerr.From(err)
	}
	t := template("tributary cluster CA", caLife)
	t.IsCA, t.BasicConstraintsValid, t.MaxPathLenZero = true, true, true
	t.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	return sign(dir, "ca", t, t, key, key)
}

// CreateNode makes a node's certificate, signed by dir's authority, for the names and addresses under
// which other nodes and clients reach it. It writes the node's files, and a copy of the authority's
// certificate if that is elsewhere, to directory to.
func CreateNode(dir, to string, hosts []string) error {
	if len(hosts) == 0 {
		return pgerr.New(pgerr.InvalidParameterValue, "a node's certificate needs at least one host name or address")
	}
	t := template("node", certLife)
	t.KeyUsage = x509.KeyUsageDigitalSignature
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, h)
		}
	}
	if to != dir {
		ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
		if err != nil {
			return fileError(err, filepath.Join(dir, "ca.crt"))
		}
		if err := os.MkdirAll(to, 0o700); err != nil {
			return fileError(err, to)
		}
		if err := os.WriteFile(filepath.Join(to, "ca.crt"), ca, 0o644); err != nil {
			return fileError(err, filepath.Join(to, "ca.crt"))
		}
	}
	return signByCA(dir, to, "node", t)
}

// CreateClient makes the certificate of a database user.
func CreateClient(dir, user string) error {
	if user == "" || user != filepath.Base(user) {
		return pgerr.New(pgerr.InvalidParameterValue, "invalid user name %q", user)
	}
	t := template(user, certLife)
	t.KeyUsage = x509.KeyUsageDigitalSignature
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return signByCA(dir, dir, "client."+user, t)
}

func template(name string, life time.Duration) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	now := time.Now()
	return &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name, Organization: []string{"Tributary"}},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(life)}
}

func signByCA(dir, to, name string, t *x509.Certificate) error {
	ca, err := tls.LoadX509KeyPair(filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key"))
	if err != nil {
		return fileError(err, filepath.Join(dir, "ca.crt"))
	}
	parent, err := x509.ParseCertificate(ca.Certificate[0])
	if err != nil {
		return pgerr.From(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pgerr.From(err)
	}
	return sign(to, name, t, parent, key, ca.PrivateKey)
}

func sign(dir, name string, t, parent *x509.Certificate, key *ecdsa.PrivateKey, signer any) error {
	der, err := x509.CreateCertificate(rand.Reader, t, parent, &key.PublicKey, signer)
	if err != nil {
		return pgerr.From(err)
	}
	kb, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return pgerr.From(err)
	}
	crt := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: kb})
	keyPath, crtPath := filepath.Join(dir, name+".key"), filepath.Join(dir, name+".crt")
	if err := os.WriteFile(keyPath, keyPEM, 0o600); err != nil {
		return fileError(err, keyPath)
	}
	if err := os.WriteFile(crtPath, crt, 0o644); err != nil {
		return fileError(err, crtPath)
	}
	return nil
}

func fileError(err error, path string) error {
	return pgerr.Wrap(pgerr.ConfigFileError, err, "could not use certificate file %q", path)
}

// Certs are a node's certificate and the cluster's authority.
type Certs struct {
	node tls.Certificate
	pool *x509.CertPool
}

// Load reads ca.crt, node.crt and node.key of dir.
func Load(dir string) (*Certs, error) {
	node, err := tls.LoadX509KeyPair(filepath.Join(dir, "node.crt"), filepath.Join(dir, "node.key"))
	if err != nil {
		return nil, fileError(err, filepath.Join(dir, "node.crt"))
	}
	ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, fileError(err, filepath.Join(dir, "ca.crt"))
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, pgerr.New(pgerr.ConfigFileError, "no certificate in file %q", filepath.Join(dir, "ca.crt"))
	}
	return &Certs{node: node, pool: pool}, nil
}

// Expires returns when the node's certificate expires.
func (c *Certs) Expires() time.Time { return c.node.Leaf.NotAfter }

// Peer returns the configuration of both ends of connections between nodes: each shows
// its certificate and verifies the other's. A database user's certificate, which the
// same authority signed, is refused.
func (c *Certs) Peer() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{c.node}, RootCAs: c.pool, ClientCAs: c.pool,
		ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS13,
		VerifyConnection: func(st tls.ConnectionState) error {
			if len(st.PeerCertificates) == 0 || !slices.Contains(st.PeerCertificates[0].ExtKeyUsage, x509.ExtKeyUsageServerAuth) {
				return pgerr.New(pgerr.InvalidAuthorizationSpecification, "not a node's certificate")
			}
			return nil
		}}
}

// Server returns the configuration for database clients: a client's certificate is
// verified if it presents one.
func (c *Certs) Server() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{c.node}, ClientCAs: c.pool, ClientAuth: tls.VerifyClientCertIfGiven, MinVersion: tls.VersionTLS12}
}
