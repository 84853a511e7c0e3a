package pg

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

func TestStartupRequests(t *testing.T) {
	addr := serveFake(t, &fakeEngine{}, nil)
	c := dial(t, addr)
	for _, code := range []uint32{codeGSS, codeSSL} {
		c.raw(binary.BigEndian.AppendUint32([]byte{0, 0, 0, 8}, code))
		var b [1]byte
		if _, err := io.ReadFull(c.nc, b[:]); err != nil || b[0] != 'N' {
			t.Fatalf("request %d: %q %v", code, b, err)
		}
	}
	c.raw(startupBytes(protocol30, "user", "ann"))
	c.wants("AuthenticationOk", "S server_version=15", "BackendKeyData", "ZI")
	c.alive()
}

func TestProtocolVersions(t *testing.T) {
	addr := serveFake(t, &fakeEngine{}, nil)
	for _, tc := range []struct {
		version uint32
		params  []string
		minor   uint32 // 0: no negotiation of the version is expected
		unknown []string
	}{
		{protocol30, nil, 0, nil},
		{protocol32, nil, 0, nil},
		{3<<16 | 99, nil, 2, nil},
		{protocol32, []string{"_pq_.colour", "blue"}, 2, []string{"_pq_.colour"}},
	} {
		c := dial(t, addr)
		c.raw(startupBytes(tc.version, append([]string{"user", "ann"}, tc.params...)...))
		m := c.read()
		if tc.minor > 0 {
			n, ok := m.(*pgproto3.NegotiateProtocolVersion)
			if !ok {
				t.Fatalf("%x: %T", tc.version, m)
			}
			if n.NewestMinorProtocol != 3<<16|tc.minor || !slices.Equal(n.UnrecognizedOptions, tc.unknown) {
				t.Errorf("%x: %+v", tc.version, n)
			}
			m = c.read()
		}
		if say(m) != "AuthenticationOk" {
			t.Errorf("%x: %s", tc.version, say(m))
		}
	}
	for _, version := range []uint32{2 << 16, 4 << 16} {
		c := dial(t, addr)
		c.raw(startupBytes(version, "user", "ann"))
		c.gone("0A000")
	}
}

func TestStartupErrors(t *testing.T) {
	addr := serveFake(t, &fakeEngine{}, nil)
	for _, tc := range []struct {
		name, code string
		bytes      []byte
	}{
		{"1 GiB", "08P01", []byte{0x40, 0, 0, 0, 0, 3, 0, 0}},
		{"length 3", "08P01", []byte{0, 0, 0, 3}},
		{"negative", "08P01", []byte{0xff, 0xff, 0xff, 0xff}},
		{"no terminator", "08P01", []byte{0, 0, 0, 12, 0, 3, 0, 0, 'u', 's', 'e', 'r'}},
		{"no user", "28000", startupBytes(protocol30, "database", "x")},
		{"bad text", "22021", startupBytes(protocol30, "user", "a\xff")},
		{"http", "08P01", []byte("GET / HTTP/1.1\r\n\r\n")},
		{"gone", "", nil},
		{"half a packet", "", startupBytes(protocol30, "user", "ann")[:9]},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := dial(t, addr)
			c.raw(tc.bytes)
			if tc.code == "" {
				_ = c.nc.(*net.TCPConn).CloseWrite()
			}
			c.gone(tc.code)
		})
	}
	connect(t, addr).alive()
}

// TestStartupStall: connections that send nothing, or stop within the startup, are closed after a
// timeout.
func TestStartupStall(t *testing.T) {
	e := withPassword{&fakeEngine{password: "secret"}}
	addr := serveFake(t, e, func(o *Options) { o.StartupTimeout = 50 * time.Millisecond })
	silent := dial(t, addr)
	stuck := dial(t, addr)
	stuck.raw(startupBytes(protocol30, "user", "ann"))
	silent.gone("")
	stuck.gone("")
}

// TestConnectionLimit: when the engine accepts no more sessions, new clients are refused but cancel
// requests are not.
func TestConnectionLimit(t *testing.T) {
	e := &fakeEngine{most: 2}
	addr := serveFake(t, e, nil)
	a, b := connect(t, addr), connect(t, addr)
	dialAs(t, addr, "ann").gone("53300")
	a.send(&pgproto3.Query{String: "wait"})
	eventually(t, "it runs", func() bool { return e.running() == 1 })
	a.cancel(addr, a.key)
	a.wants("E ERROR 57014", "ZI")
	b.send(&pgproto3.Terminate{})
	b.gone("")
	connect(t, addr).alive()
	a.alive()
}

func TestCancel(t *testing.T) {
	e := &fakeEngine{}
	addr := serveFake(t, e, nil)
	c := connect(t, addr)
	c.send(&pgproto3.Query{String: "wait"})
	eventually(t, "it runs", func() bool { return e.running() == 1 })
	wrong := append([]byte(nil), c.key...)
	wrong[0]++
	c.cancel(addr, wrong)
	if e.running() != 1 {
		t.Error("a wrong key cancelled the statement")
	}
	c.cancel(addr, c.key)
	c.wants("E ERROR 57014", "ZI")
	c.alive()
}

func pgxConfig(t *testing.T, addr, user, password, mode string) *pgx.ConnConfig {
	t.Helper()
	conf, err := pgx.ParseConfig("postgres://" + addr + "/tributary?sslmode=" + mode)
	if err != nil {
		t.Fatal(err)
	}
	conf.User, conf.Password, conf.ConnectTimeout = user, password, patience
	return conf
}

func TestPasswords(t *testing.T) {
	const password = "pass\u00a0wörd" // SASLprep maps the no-break space to an ordinary one
	addr := serveFake(t, withPassword{&fakeEngine{password: password}}, nil)
	c, err := pgx.ConnectConfig(context.Background(), pgxConfig(t, addr, "ann", password, "disable"))
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close(context.Background())
	for _, tc := range [][2]string{{"ann", "wrong"}, {"bob", password}, {"ann", ""}} {
		_, err := pgx.ConnectConfig(context.Background(), pgxConfig(t, addr, tc[0], tc[1], "disable"))
		var e *pgconn.PgError
		if !errors.As(err, &e) || e.Code != "28P01" || e.Message != `password authentication failed for user "`+tc[0]+`"` {
			t.Errorf("%q: %v", tc, err)
		}
	}
}

// TestUnknownRole: a client cannot find out by the exchange whether a role exists. The salt of an
// unknown role must therefore be the same each time, as that of a role is.
func TestUnknownRole(t *testing.T) {
	addr := serveFake(t, withPassword{&fakeEngine{password: "secret"}}, nil)
	salt := func(user string) []byte {
		c := dial(t, addr)
		c.raw(startupBytes(protocol30, "user", user))
		c.wants("AuthenticationSASL")
		c.send(&pgproto3.SASLInitialResponse{AuthMechanism: "SCRAM-SHA-256", Data: []byte("n,,n=,r=abcdefgh")})
		m, ok := c.read().(*pgproto3.AuthenticationSASLContinue)
		if !ok {
			t.Fatal("no challenge")
		}
		parts := bytes.Split(m.Data, []byte(","))
		return append([]byte(nil), bytes.Join(parts[1:], nil)...)
	}
	if a, b := salt("bob"), salt("bob"); !bytes.Equal(a, b) {
		t.Errorf("the salt of an unknown role changes: %s, %s", a, b)
	}
	if a, b := salt("bob"), salt("eve"); bytes.Equal(a, b) || len(a) != len(b) {
		t.Errorf("two unknown roles: %s, %s", a, b)
	}
}

func TestBadSASL(t *testing.T) {
	addr := serveFake(t, withPassword{&fakeEngine{password: "secret"}}, nil)
	for name, msg := range map[string]pgproto3.FrontendMessage{
		"mechanism":    &pgproto3.SASLInitialResponse{AuthMechanism: "PLAIN", Data: []byte("x")},
		"plus, no TLS": &pgproto3.SASLInitialResponse{AuthMechanism: "SCRAM-SHA-256-PLUS", Data: []byte("x")},
		"query":        &pgproto3.Query{String: "rows 1"},
		"long":         &pgproto3.SASLInitialResponse{AuthMechanism: "SCRAM-SHA-256", Data: make([]byte, 1<<17)},
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, addr)
			c.raw(startupBytes(protocol30, "user", "ann"))
			c.wants("AuthenticationSASL")
			c.fe.Send(msg)
			_ = c.fe.Flush() // the server may have closed the connection after the long one
			m, err := c.fe.Receive()
			if err == nil && say(m) != "E FATAL 08P01" {
				t.Error(say(m))
			}
		})
	}
	c := dial(t, addr)
	c.raw(startupBytes(protocol30, "user", "ann"))
	c.wants("AuthenticationSASL")
	c.send(&pgproto3.SASLInitialResponse{AuthMechanism: "SCRAM-SHA-256", Data: []byte("garbage")})
	c.gone("28P01")
}

// authority is the certificate authority of a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	a := &authority{}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.cert, a.key = a.make(t, tmpl, nil)
	a.pool = x509.NewCertPool()
	a.pool.AddCert(a.cert)
	return a
}

func (a *authority) make(t *testing.T, tmpl, parent *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer := a.key
	if parent == nil {
		parent, signer = tmpl, key
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func (a *authority) issue(t *testing.T, name string, usage x509.ExtKeyUsage) tls.Certificate {
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{usage, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	cert, key := a.make(t, tmpl, a.cert)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

func TestTLS(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	addr := serveFake(t, withPassword{&fakeEngine{password: "secret"}}, func(o *Options) {
		conf := &tls.Config{Certificates: []tls.Certificate{ca.issue(t, "node", x509.ExtKeyUsageServerAuth)}, ClientCAs: ca.pool, ClientAuth: tls.VerifyClientCertIfGiven}
		o.TLS = func() *tls.Config { return conf }
	})
	try := func(user, password string, conf *tls.Config) error {
		cc := pgxConfig(t, addr, user, password, "require")
		conf.ServerName = "127.0.0.1"
		cc.TLSConfig = conf
		c, err := pgx.ConnectConfig(context.Background(), cc)
		if err != nil {
			return err
		}
		// What is sent after the handshake has no limit.
		_, err = c.Exec(context.Background(), strings.Repeat(" ", 100_000)+"rows 1")
		return errors.Join(err, c.Close(context.Background()))
	}
	for _, tc := range []struct {
		name, user, password string
		conf                 *tls.Config
		ok                   bool
	}{
		{"password", "ann", "secret", &tls.Config{RootCAs: ca.pool}, true},
		{"wrong password", "ann", "x", &tls.Config{RootCAs: ca.pool}, false},
		{"client's certificate", "ann", "", &tls.Config{RootCAs: ca.pool, Certificates: []tls.Certificate{ca.issue(t, "ann", x509.ExtKeyUsageClientAuth)}}, true},
		{"a node's certificate", "ann", "", &tls.Config{RootCAs: ca.pool, Certificates: []tls.Certificate{ca.issue(t, "ann", x509.ExtKeyUsageServerAuth)}}, false},
		{"another's certificate", "ann", "", &tls.Config{RootCAs: ca.pool, Certificates: []tls.Certificate{ca.issue(t, "bob", x509.ExtKeyUsageClientAuth)}}, false},
		{"another authority's certificate", "ann", "", &tls.Config{RootCAs: ca.pool, Certificates: []tls.Certificate{other.issue(t, "ann", x509.ExtKeyUsageClientAuth)}}, false},
		{"a server that is not verified", "ann", "secret", &tls.Config{RootCAs: other.pool}, false},
	} {
		if err := try(tc.user, tc.password, tc.conf); (err == nil) != tc.ok {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	// A client that sends no TLS handshake does not affect others.
	c := dial(t, addr)
	c.raw(binary.BigEndian.AppendUint32([]byte{0, 0, 0, 8}, codeSSL))
	var b [1]byte
	if _, err := io.ReadFull(c.nc, b[:]); err != nil || b[0] != 'S' {
		t.Fatalf("%q %v", b, err)
	}
	c.raw(bytes.Repeat([]byte("garbage"), 100))
	_ = c.nc.(*net.TCPConn).CloseWrite()
	if said, _ := io.ReadAll(c.nc); bytes.Contains(said, []byte("FATAL")) {
		t.Errorf("%q", said)
	}
	if err := try("ann", "secret", &tls.Config{RootCAs: ca.pool}); err != nil {
		t.Error(err)
	}
}

// TestLongHandshake: what a client sends in its TLS handshake is limited, even without a timeout: crypto/tls
// keeps up to 64 KiB of a hello, and 256 KiB of certificates.
func TestLongHandshake(t *testing.T) {
	ca := newAuthority(t)
	addr := serveFake(t, &fakeEngine{}, func(o *Options) {
		patientForSilence(o)
		conf := &tls.Config{Certificates: []tls.Certificate{ca.issue(t, "node", x509.ExtKeyUsageServerAuth)}}
		o.TLS = func() *tls.Config { return conf }
	})
	c := dial(t, addr)
	c.raw(binary.BigEndian.AppendUint32([]byte{0, 0, 0, 8}, codeSSL))
	var b [1]byte
	if _, err := io.ReadFull(c.nc, b[:]); err != nil || b[0] != 'S' {
		t.Fatalf("%q %v", b, err)
	}
	record := append([]byte{22, 3, 1, 0x40, 0}, make([]byte, 16<<10)...)
	copy(record[5:], []byte{1, 0, 0xff, 0xff}) // a hello of 64 KiB
	for range 3 {
		if _, err := c.nc.Write(record); err != nil {
			return // it is closed
		}
	}
	if _, err := io.Copy(io.Discard, c.nc); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the connection stays open")
	}
}

// TestBeyondLoopback: a client from another machine is refused without TLS, unless the server is
// configured to allow it.
func TestBeyondLoopback(t *testing.T) {
	for _, tc := range []struct {
		insecure bool
		password string
		want     string
	}{
		{false, "", "E FATAL 28000"},
		{false, "secret", "E FATAL 28000"},
		{true, "", "AuthenticationOk"},
		{true, "secret", "AuthenticationSASL"},
	} {
		s := NewServer(Options{Engine: &fakeEngine{password: tc.password}, Insecure: tc.insecure})
		here, there := net.Pipe()
		s.start(elsewhere{there})
		_ = here.SetDeadline(time.Now().Add(patience))
		c := &client{t: t, nc: here, fe: pgproto3.NewFrontend(here, here)}
		c.raw(startupBytes(protocol30, "user", "ann"))
		if got := say(c.read()); got != tc.want {
			t.Errorf("insecure %v, password %q: %s, want %s", tc.insecure, tc.password, got, tc.want)
		}
		_ = here.Close()
		s.Close(context.Background())
	}
}

// elsewhere is a connection whose remote address is not loopback.
type elsewhere struct{ net.Conn }

func (elsewhere) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1} }

func pgxConnect(t *testing.T, addr string) (*pgx.Conn, error) {
	c, err := pgx.ConnectConfig(context.Background(), pgxConfig(t, addr, "ann", "", "disable"))
	if err == nil {
		t.Cleanup(func() { _ = c.Close(context.Background()) })
	}
	return c, err
}
