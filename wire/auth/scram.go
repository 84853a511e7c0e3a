package auth

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/xdg-go/scram"
	"github.com/xdg-go/stringprep"

	"github.com/tributarydb/tributary/sql/pgerr"
)

const iterations = 4096

// Verifier makes the SCRAM-SHA-256 verifier of a password, in the form that PostgreSQL keeps in
// pg_authid: SCRAM-SHA-256$iterations:salt$stored:server. A password that is a verifier already is
// returned unchanged.
func Verifier(password string) (string, error) {
	if _, err := parse(password); err == nil {
		return password, nil
	}
	if strings.HasPrefix(password, "md5") && len(password) == 35 {
		return "", pgerr.Unsupported("md5 passwords are not supported").WithHint("Give the password itself, or a SCRAM-SHA-256 verifier.")
	}
	salt := make([]byte, 16)
	if _, err := rand.Read(salt); err != nil {
		return "", err
	}
	stored, server, err := keys(password, salt, iterations)
	if err != nil {
		return "", err
	}
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", iterations, b64(salt), b64(stored), b64(server)), nil
}

// parse reads a verifier.
func parse(v string) (c scram.StoredCredentials, err error) {
	bad := fmt.Errorf("not a SCRAM-SHA-256 verifier")
	parts := strings.Split(v, "$")
	if len(parts) != 3 || parts[0] != "SCRAM-SHA-256" {
		return c, bad
	}
	it, salt, ok1 := strings.Cut(parts[1], ":")
	stored, server, ok2 := strings.Cut(parts[2], ":")
	if !ok1 || !ok2 {
		return c, bad
	}
	n, err := strconv.Atoi(it)
	if err != nil || n < 1 {
		return c, bad
	}
	dec := base64.StdEncoding.DecodeString
	s, e1 := dec(salt)
	a, e2 := dec(stored)
	b, e3 := dec(server)
	if e1 != nil || e2 != nil || e3 != nil || len(a) != sha256.Size || len(b) != sha256.Size {
		return c, bad
	}
	return scram.StoredCredentials{KeyFactors: scram.KeyFactors{Salt: string(s), Iters: n}, StoredKey: a, ServerKey: b}, nil
}

// Check reports whether a password is the verifier's, for protocols that send the password itself.
func Check(verifier, password string) bool {
	c, err := parse(verifier)
	if err != nil {
		return false
	}
	stored, _, err := keys(password, []byte(c.Salt), c.Iters)
	return err == nil && hmac.Equal(stored, c.StoredKey)
}

// keys derives StoredKey and ServerKey (RFC 5802, section 3).
func keys(password string, salt []byte, iterations int) (stored, server []byte, err error) {
	// A password that SASLprep (RFC 4013) refuses is used unchanged, as in PostgreSQL.
	if p, err := stringprep.SASLprep.Prepare(password); err == nil {
		password = p
	}
	salted, err := pbkdf2.Key(sha256.New, password, salt, iterations, sha256.Size)
	if err != nil {
		return nil, nil, err
	}
	mac := func(what string) []byte {
		h := hmac.New(sha256.New, salted)
		h.Write([]byte(what))
		return h.Sum(nil)
	}
	sum := sha256.Sum256(mac("Client Key"))
	return sum[:], mac("Server Key"), nil
}

// The mechanisms. With the second the proof is bound to the server's
// certificate (tls-server-end-point, RFC 5929).
const (
	Plain = "SCRAM-SHA-256"
	Plus  = "SCRAM-SHA-256-PLUS"
)

// Mechanisms returns the mechanisms that a server offers, best first; cert is its certificate on
// this connection, nil without TLS.
func Mechanisms(cert *x509.Certificate) []string {
	if _, err := binding(cert); err != nil {
		return []string{Plain}
	}
	return []string{Plus, Plain}
}

func binding(cert *x509.Certificate) (scram.ChannelBinding, error) {
	if cert == nil {
		return scram.ChannelBinding{}, errors.New("no TLS")
	}
	return scram.NewTLSServerEndpointBinding(&tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}})
}

// Exchange is the server's side of one SCRAM-SHA-256 authentication.
type Exchange struct {
	conv  *scram.ServerConversation
	known bool
}

// NewExchange begins an exchange against a role's verifier. Without one (the role does not exist,
// or has no password) it runs against one that no password matches, with a salt that stays the same
// for the role, so that a client learns nothing from it. cert is the server's certificate, nil
// without TLS.
func NewExchange(role, verifier string, cert *x509.Certificate) (*Exchange, error) {
	creds, err := parse(verifier)
	known := err == nil
	if !known {
		creds = nobody(role)
	}
	srv, err := scram.SHA256.NewServer(func(string) (scram.StoredCredentials, error) { return creds, nil })
	if err != nil {
		return nil, err
	}
	if b, err := binding(cert); err == nil {
		return &Exchange{conv: srv.NewConversationWithChannelBinding(b), known: known}, nil
	}
	return &Exchange{conv: srv.NewConversation(), known: known}, nil
}

// seed derives the salts of roles that have none; it is random for each process.
var seed = sync.OnceValue(func() []byte {
	b := make([]byte, 32)
	// crypto/rand does not fail on the platforms we build for.
	_, _ = rand.Read(b)
	return b
})

func nobody(role string) scram.StoredCredentials {
	derive := func(what string) []byte {
		h := hmac.New(sha256.New, seed())
		h.Write([]byte(what + role))
		return h.Sum(nil)
	}
	return scram.StoredCredentials{KeyFactors: scram.KeyFactors{Salt: string(derive("salt")[:16]), Iters: iterations},
		StoredKey: derive("stored"), ServerKey: derive("server")}
}

// Step takes a client message and returns the answer.
func (e *Exchange) Step(msg string) (string, error) { return e.conv.Step(msg) }

// Done reports whether the exchange is over, Valid whether the password was
// proved.
func (e *Exchange) Done() bool  { return e.conv.Done() }
func (e *Exchange) Valid() bool { return e.known && e.conv.Valid() }
