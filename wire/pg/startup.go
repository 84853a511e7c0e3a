package pg

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/wire/auth"
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
		body, err := c.startupPacket()
		if err != nil {
			return nil, err
		}
		code := binary.BigEndian.Uint32(body)
		body = body[4:]
		switch {
		case code == codeSSL && tries < 2:
			if c.srv.o.TLS == nil || c.tls {
				if _, err := c.nc.Write([]byte{'N'}); err != nil {
					return nil, err
				}
				continue
			}
			if _, err := c.nc.Write([]byte{'S'}); err != nil {
				return nil, err
			}
			t := tls.Server(c.nc, c.srv.o.TLS)
			if err := t.HandshakeContext(c.ctx); err != nil {
				return nil, err
			}
			c.nc, c.tls = t, true
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
			c.send(&pgproto3.NegotiateProtocolVersion{NewestMinorProtocol: minor & 0xffff, UnrecognizedOptions: unknown})
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
		return nil, pgerr.New(pgerr.ProtocolViolation, "invalid length of startup packet").WithSeverity(pgerr.SevFatal)
	}
	body := make([]byte, n-4)
	if _, err := io.ReadFull(c.nc, body); err != nil {
		return nil, errGone
	}
	return body, nil
}

func startupParams(body []byte) ([][2]string, error) {
	bad := pgerr.New(pgerr.ProtocolViolation, "invalid startup packet layout: expected terminator as last byte").WithSeverity(pgerr.SevFatal)
	var words []string
	for len(body) > 0 && body[0] != 0 {
		i := strings.IndexByte(string(body), 0)
		if i < 0 {
			return nil, bad
		}
		words = append(words, string(body[:i]))
		body = body[i+1:]
		if len(words)%2 == 1 {
			j := strings.IndexByte(string(body), 0)
			if j < 0 {
				return nil, bad
			}
			words = append(words, string(body[:j]))
			body = body[j+1:]
		}
	}
	if len(body) != 1 {
		return nil, bad
	}
	out := make([][2]string, 0, len(words)/2)
	for i := 0; i+1 < len(words); i += 2 {
		out = append(out, [2]string{words[i], words[i+1]})
	}
	return out, nil
}

// open authenticates the client and opens its session.
func (c *conn) open(params [][2]string) error {
	st := session.Startup{Remote: c.nc.RemoteAddr().String(), TLS: c.tls, PID: c.pid, Secret: c.secret, Notify: c}
	for _, p := range params {
		switch p[0] {
		case "user":
			st.User = p[1]
		case "database":
			st.Database = p[1]
		default:
			st.Params = append(st.Params, p)
		}
	}
	if st.User == "" {
		return pgerr.New(pgerr.InvalidAuthorizationSpecification, "no PostgreSQL user name specified in startup packet").WithSeverity(pgerr.SevFatal)
	}
	login, err := c.srv.o.Engine.Authenticate(c.ctx, st.User)
	if err != nil {
		return err
	}
	local := isLoopback(c.nc.RemoteAddr())
	if !local && !c.tls && !c.srv.o.Insecure {
		return pgerr.New(pgerr.InvalidAuthorizationSpecification, "no encryption").WithSeverity(pgerr.SevFatal).
			WithHint("Connections from other hosts need TLS (sslmode=require).")
	}
	if !(local && login.TrustLoopback) {
		if err := c.scram(st.User, login.Verifier); err != nil {
			return err
		}
	}
	c.send(&pgproto3.AuthenticationOk{})
	s, err := c.srv.o.Engine.Connect(c.ctx, st)
	if err != nil {
		return err
	}
	c.sess = s
	for _, p := range s.Parameters() {
		c.send(&pgproto3.ParameterStatus{Name: p[0], Value: p[1]})
	}
	c.send(&pgproto3.BackendKeyData{ProcessID: c.pid, SecretKey: binary.BigEndian.AppendUint32(nil, c.secret)})
	return c.ready()
}

func isLoopback(a net.Addr) bool {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.IP.IsLoopback()
	}
	return a.Network() == "unix" || a.Network() == "pipe"
}

// scram runs a SCRAM-SHA-256 exchange.
func (c *conn) scram(user, verifier string) error {
	failed := pgerr.New(pgerr.InvalidPassword, "password authentication failed for user %q", user).WithSeverity(pgerr.SevFatal)
	c.send(&pgproto3.AuthenticationSASL{AuthMechanisms: []string{"SCRAM-SHA-256"}})
	if err := c.flush(); err != nil {
		return err
	}
	if err := c.in.SetAuthType(pgproto3.AuthTypeSASL); err != nil {
		return err
	}
	msg, err := c.in.Receive()
	if err != nil {
		return errGone
	}
	first, ok := msg.(*pgproto3.SASLInitialResponse)
	if !ok || first.AuthMechanism != "SCRAM-SHA-256" {
		return pgerr.New(pgerr.ProtocolViolation, "client selected an invalid SASL authentication mechanism").WithSeverity(pgerr.SevFatal)
	}
	ex, err := auth.NewExchange(verifier)
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
	if err := c.in.SetAuthType(pgproto3.AuthTypeSASLContinue); err != nil {
		return err
	}
	if msg, err = c.in.Receive(); err != nil {
		return errGone
	}
	second, ok := msg.(*pgproto3.SASLResponse)
	if !ok {
		return failed
	}
	answer, err = ex.Step(string(second.Data))
	if err != nil || !ex.Done() || !ex.Valid() {
		return failed
	}
	c.send(&pgproto3.AuthenticationSASLFinal{Data: []byte(answer)})
	return nil
}

// deadline bounds the startup; zero takes the bound away.
func (c *conn) deadline(d time.Duration) {
	var t time.Time
	if d > 0 {
		t = time.Now().Add(d)
	}
	_ = c.nc.SetDeadline(t)
}
