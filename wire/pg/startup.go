package pg

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/wire/auth"
	"github.com/tributarydb/tributary/wire/limit"
	"github.com/tributarydb/tributary/wire/session"
)

const (
	codeCancel = 80877102
	codeSSL    = 80877103
	codeGSS    = 80877104
	maxStartup = 10000
	// protocol32 is version 3.2, whose only visible difference is a cancel key
	// of variable length; ours stays four bytes, which 3.2 allows.
	protocol30 = 3 << 16
	protocol32 = 3<<16 | 2
)

var errGone = errors.New("client is gone")

// startup reads the first packets of a connection. It returns the parameters,
// or errGone after a cancel request.
func (c *conn) startup() (params [][2]string, err error) {
	for tries := 0; ; tries++ {
		if tries > 0 {
			c.turn(false)
		}
		body, err := c.startupPacket()
		if err != nil {
			return nil, err
		}
		code := binary.BigEndian.Uint32(body)
		body = body[4:]
		switch {
		case code == codeSSL && tries < 2:
			conf := c.srv.tls()
			if conf == nil || c.tls {
				if _, err := c.nc.Write([]byte{'N'}); err != nil {
					return nil, err
				}
				continue
			}
			if _, err := c.nc.Write([]byte{'S'}); err != nil {
				return nil, err
			}
			c.turn(false)
			b := limit.Bound(c.nc)
			t := tls.Server(b, conf)
			if t.HandshakeContext(c.ctx) != nil {
				return nil, errGone // as in PostgreSQL: TLS has told its reason, and a client that speaks TLS reads no messages
			}
			b.Lift()
			c.nc, c.tls = t, true
			if len(conf.Certificates) == 1 && conf.GetCertificate == nil {
				// One that does not parse has failed in the handshake.
				c.cert, _ = x509.ParseCertificate(conf.Certificates[0].Certificate[0])
			}
			continue
		case code == codeGSS && tries < 2:
			if _, err := c.nc.Write([]byte{'N'}); err != nil {
				return nil, err
			}
			continue
		case code == codeCancel:
			if len(body) == 8 {
				c.srv.o.Engine.Cancel(binary.BigEndian.Uint32(body), binary.BigEndian.Uint32(body[4:]))
			}
			return nil, errGone
		case code>>16 != 3:
			return nil, pgerr.New(pgerr.FeatureNotSupported, "unsupported frontend protocol %d.%d: server supports 3.0 to 3.2", code>>16, code&0xffff).WithSeverity(pgerr.SevFatal)
		}
		params, err := startupParams(body)
		if err != nil {
			return nil, err
		}
		var unknown []string
		for _, p := range params {
			if strings.HasPrefix(p[0], "_pq_.") {
				unknown = append(unknown, p[0])
			}
		}
		if code > protocol32 || len(unknown) > 0 {
			minor := uint32(protocol32)
			if code < protocol32 {
				minor = code
			}
			c.send(&pgproto3.NegotiateProtocolVersion{NewestMinorProtocol: minor, UnrecognizedOptions: unknown})
		}
		return params, nil
	}
}

func (c *conn) startupPacket() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(c.nc, head[:]); err != nil {
		return nil, errGone
	}
	n := binary.BigEndian.Uint32(head[:])
	if n < 8 || n > maxStartup {
		return nil, fatalProtocol("invalid length of startup packet")
	}
	body := make([]byte, n-4)
	if _, err := io.ReadFull(c.nc, body); err != nil {
		return nil, errGone
	}
	return body, nil
}

func startupParams(body []byte) ([][2]string, error) {
	if err := pgerr.CheckUTF8(strings.ReplaceAll(string(body), "\x00", " ")); err != nil {
		return nil, pgerr.From(err).WithSeverity(pgerr.SevFatal)
	}
	var out [][2]string
	for len(body) > 0 && body[0] != 0 {
		name, rest, _ := bytes.Cut(body, []byte{0})
		value, rest, ok := bytes.Cut(rest, []byte{0})
		if !ok {
			body = nil
			break
		}
		out = append(out, [2]string{string(name), string(value)})
		body = rest
	}
	if len(body) != 1 {
		return nil, fatalProtocol("invalid startup packet layout: expected terminator as last byte")
	}
	return out, nil
}

// open authenticates the client and opens its session.
func (c *conn) open(params [][2]string) error {
	st := session.Startup{Remote: c.nc.RemoteAddr().String(), Local: c.nc.LocalAddr().String(), TLS: c.tlsUsed(), Offered: c.srv.tls() != nil,
		PID: c.pid, Secret: c.secret, Notify: c, Wake: c.wake}
	for _, p := range params {
		switch p[0] {
		case "user":
			st.User = name(p[1])
		case "database":
			st.Database = name(p[1])
		default:
			st.Params = append(st.Params, p)
		}
	}
	s, err := c.login(&st)
	if err != nil {
		return err
	}
	c.sess = s
	c.reported = map[string]string{}
	for _, p := range s.Parameters() {
		c.report(p[0], p[1])
	}
	c.send(&pgproto3.BackendKeyData{ProcessID: c.pid, SecretKey: binary.BigEndian.AppendUint32(nil, c.secret)})
	return c.ready()
}

// maxName is the longest name of a role or a database, in bytes.
const maxName = 63

// name cuts a name as PostgreSQL does, before anybody has logged in: names go into logs.
func name(s string) string {
	if len(s) <= maxName {
		return s
	}
	n := maxName
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// tlsUsed describes the connection's TLS, nil without.
func (c *conn) tlsUsed() *session.TLS {
	st := c.encryption()
	if st == nil {
		return nil
	}
	out := &session.TLS{Version: strings.Replace(tls.VersionName(st.Version), "TLS ", "TLSv", 1), Cipher: tls.CipherSuiteName(st.CipherSuite), Bits: 256}
	if strings.Contains(out.Cipher, "_128_") {
		out.Bits = 128
	}
	if len(st.VerifiedChains) > 0 {
		cert := st.VerifiedChains[0][0]
		out.ClientDN, out.Serial, out.Issuer = distinguished(cert.Subject), cert.SerialNumber.String(), distinguished(cert.Issuer)
	}
	return out
}

// distinguished writes a name as PostgreSQL does: /C=DE/CN=ann.
func distinguished(n pkix.Name) string {
	short := map[string]string{"2.5.4.3": "CN", "2.5.4.5": "serialNumber", "2.5.4.6": "C", "2.5.4.7": "L", "2.5.4.8": "ST", "2.5.4.10": "O", "2.5.4.11": "OU"}
	var out strings.Builder
	for _, part := range n.Names {
		key := part.Type.String()
		if s, ok := short[key]; ok {
			key = s
		}
		fmt.Fprintf(&out, "/%s=%v", key, part.Value)
	}
	return out.String()
}

// login authenticates the client and opens its session. A failure and the login of a superuser are
// records of the audit log; a client that disconnects when it is asked for a password has not
// tried.
func (c *conn) login(st *session.Startup) (session.Session, error) {
	c.turn(true)
	who, err := c.authenticate(st)
	var s session.Session
	if err == nil {
		c.send(&pgproto3.AuthenticationOk{})
		s, err = c.srv.o.Engine.Connect(c.ctx, *st)
	}
	if errors.Is(err, errGone) || err == nil && !who.Super {
		return s, err
	}
	if e := pgerr.From(err); e != nil {
		c.srv.metrics.refusedBy(string(e.Code))
		if c.srv.o.Refused != nil {
			c.srv.o.Refused(st.User, hostOf(c.nc.RemoteAddr()), e.Message)
		}
	}
	rec := []slog.Attr{slog.Uint64("session", uint64(c.pid)), slog.String("user", st.User), slog.String("role", st.User),
		slog.String("database", st.Database), slog.String("address", st.Remote), slog.String("statement", "LOGIN")}
	level := slog.LevelInfo
	if e := pgerr.From(err); e != nil {
		level = slog.LevelWarn
		rec = append(rec, slog.String("result", string(e.Code)), slog.String("reason", e.Message))
	} else {
		rec = append(rec, slog.String("result", "ok"))
	}
	c.srv.audit.LogAttrs(c.ctx, level, "audit", rec...)
	return s, err
}

// authenticate authenticates the client: by the first of the rules that matches, and where there
// are no rules by trust over loopback for roles without a password, else by certificate or
// password.
func (c *conn) authenticate(st *session.Startup) (session.Login, error) {
	addr := hostOf(c.nc.RemoteAddr())
	refused := func(format string, args ...any) *pgerr.Error {
		return pgerr.New(pgerr.InvalidAuthorizationSpecification, format, args...).WithSeverity(pgerr.SevFatal)
	}
	if st.User == "" {
		return session.Login{}, refused("no PostgreSQL user name specified in startup packet")
	}
	login, err := c.srv.o.Engine.Authenticate(c.ctx, st.User, !c.srv.attempts.suspect(addr))
	if err != nil {
		return login, err
	}
	local := isLoopback(c.nc.RemoteAddr())
	if !local && !c.tls && !c.srv.o.Insecure {
		return login, refused("no encryption").WithHint("Connections from other hosts need TLS (sslmode=require).")
	}
	method := auth.Scram
	if rules := c.srv.rules(); len(rules) > 0 {
		database := st.Database
		if database == "" {
			database = st.User
		}
		ip, _ := netip.ParseAddr(addr)
		found, ok := rules.Match(auth.Attempt{Database: database, User: st.User, Groups: login.Groups, Addr: ip, TLS: c.tls})
		method = found
		switch {
		case !ok:
			err = refused("no hba rule for host %q, user %q, database %q", addr, st.User, database)
		case method == auth.Reject:
			err = refused("an hba rule rejects the connection from host %q, user %q, database %q", addr, st.User, database)
		case method == auth.Cert && !c.certified(st.User):
			err = refused("certificate authentication failed for user %q", st.User)
		}
	} else if (local || c.srv.o.Insecure) && login.TrustLoopback || c.certified(st.User) {
		method = auth.Trust
	}
	if err == nil && method == auth.Scram && !c.passed(st.User, login.Verifier) {
		if err = c.scram(st.User, login.Verifier); err == nil {
			c.srv.attempts.passed(st.User, addr)
			c.proved(st.User, login.Verifier)
		}
	}
	if err == nil {
		return login, nil
	}
	var e *pgerr.Error
	if errors.As(err, &e) && (e.Code == pgerr.InvalidPassword || e.Code == pgerr.InvalidAuthorizationSpecification) {
		wait := c.srv.attempts.failed(st.User, addr)
		select {
		case <-time.After(wait):
		case <-c.ctx.Done():
		}
	}
	return login, err
}

func isLoopback(a net.Addr) bool {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.IP.IsLoopback()
	}
	return a.Network() == "unix" || a.Network() == "pipe"
}

// certified reports whether the client has shown a certificate of the cluster's
// authority that is made out to the user. A server's certificate is not one.
func (c *conn) certified(user string) bool {
	st := c.encryption()
	if st == nil || len(st.VerifiedChains) == 0 {
		return false
	}
	cert := st.VerifiedChains[0][0]
	return cert.Subject.CommonName == user && !slices.Contains(cert.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
}

// scram runs a SCRAM-SHA-256 exchange, bound to the TLS channel if the client
// asks for it.
func (c *conn) scram(user, verifier string) error {
	failed := pgerr.New(pgerr.InvalidPassword, "password authentication failed for user %q", user).WithSeverity(pgerr.SevFatal)
	var cert *x509.Certificate
	if c.tls {
		cert = c.cert
	}
	mechanisms := auth.Mechanisms(cert)
	c.send(&pgproto3.AuthenticationSASL{AuthMechanisms: mechanisms})
	if err := c.flush(); err != nil {
		return err
	}
	body, err := c.password()
	if err != nil {
		return err
	}
	var first pgproto3.SASLInitialResponse
	if first.Decode(body) != nil || !slices.Contains(mechanisms, first.AuthMechanism) {
		return fatalProtocol("client selected an invalid SASL authentication mechanism")
	}
	ex, err := auth.NewExchange(user, verifier, cert)
	if err != nil {
		return err
	}
	answer, err := ex.Step(string(first.Data))
	if err != nil {
		return failed
	}
	c.send(&pgproto3.AuthenticationSASLContinue{Data: []byte(answer)})
	if err := c.flush(); err != nil {
		return err
	}
	if body, err = c.password(); err != nil {
		return err
	}
	answer, err = ex.Step(string(body))
	if err != nil || !ex.Done() || !ex.Valid() {
		return failed
	}
	c.send(&pgproto3.AuthenticationSASLFinal{Data: []byte(answer)})
	return nil
}

// password reads the body of the one message that may come now.
func (c *conn) password() ([]byte, error) {
	c.turn(false)
	typ, body, err := c.in.frame()
	c.turn(true)
	var e *pgerr.Error
	switch {
	case errors.As(err, &e):
		return nil, e
	case err != nil:
		return nil, errGone
	case typ != 'p':
		return nil, fatalProtocol("expected SASL response, got message type %d", typ)
	}
	return body, nil
}

// turn records whose message is next, and sets its deadline.
func (c *conn) turn(working bool) {
	c.deadline(c.srv.o.StartupTimeout)
	c.srv.turn(c, working)
}

// deadline bounds the startup; zero removes the bound.
func (c *conn) deadline(d time.Duration) {
	var t time.Time
	if d > 0 {
		t = time.Now().Add(d)
	}
	_ = c.nc.SetDeadline(t)
}
