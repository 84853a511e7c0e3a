package auth

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/xdg-go/scram"

	"github.com/tributarydb/tributary/sql/pgerr"
)

const iterations = 4096

// Verifier makes the SCRAM-SHA-256 verifier of a password, in the form that
// PostgreSQL keeps in pg_authid: SCRAM-SHA-256$iterations:salt$stored:server.
// What already is one is given back as it is.
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
	salted, err := pbkdf2.Key(sha256.New, password, salt, iterations, sha256.Size)
	if err != nil {
		return "", err
	}
	mac := func(what string) []byte {
		h := hmac.New(sha256.New, salted)
		h.Write([]byte(what))
		return h.Sum(nil)
	}
	stored := sha256.Sum256(mac("Client Key"))
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", iterations, b64(salt), b64(stored[:]), b64(mac("Server Key"))), nil
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

// Exchange is the server's side of one SCRAM-SHA-256 authentication.
type Exchange struct {
	conv  *scram.ServerConversation
	known bool
}

// NewExchange begins an exchange against a verifier. Without one (the role
// does not exist, or has no password) the exchange runs against a random
// verifier, so that a client learns nothing from how it fails.
func NewExchange(verifier string) (*Exchange, error) {
	creds, err := parse(verifier)
	known := err == nil
	if !known {
		secret := make([]byte, 16)
		if _, err := rand.Read(secret); err != nil {
			return nil, err
		}
		v, err := Verifier(base64.StdEncoding.EncodeToString(secret))
		if err != nil {
			return nil, err
		}
		if creds, err = parse(v); err != nil {
			return nil, err
		}
	}
	srv, err := scram.SHA256.NewServer(func(string) (scram.StoredCredentials, error) { return creds, nil })
	if err != nil {
		return nil, err
	}
	return &Exchange{conv: srv.NewConversation(), known: known}, nil
}

// Step takes a client message and gives the answer.
func (e *Exchange) Step(msg string) (string, error) { return e.conv.Step(msg) }

// Done tells whether the exchange is over, Valid whether the password was
// proved.
func (e *Exchange) Done() bool  { return e.conv.Done() }
func (e *Exchange) Valid() bool { return e.known && e.conv.Valid() }
