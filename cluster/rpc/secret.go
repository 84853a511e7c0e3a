package rpc

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"strings"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// Secret is the shared secret of a cluster's nodes. The zero value is none.
type Secret [32]byte

// NewSecret makes the secret of a new cluster.
func NewSecret() (s Secret) {
	rand.Read(s[:])
	return s
}

// ParseSecret parses what Text returned.
func ParseSecret(text string) (s Secret, err error) {
	b, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil || len(b) != len(s) {
		return s, pgerr.New(pgerr.InvalidParameterValue, "this is not a cluster's secret").
			WithHint("It is %d hexadecimal digits, as in the file cluster-secret of a member's data directory.", 2*len(s))
	}
	return Secret(b), nil
}

// Text returns the secret in hex, for a file that only its owner can read.
func (s Secret) Text() string { return hex.EncodeToString(s[:]) }

// String hides the secret in logs and messages.
func (s Secret) String() string { return "(secret)" }

// GoString hides the secret in logs and messages.
func (s Secret) GoString() string { return s.String() }

// MarshalText hides the secret in logs and messages.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s == Secret{} }

// role says whose proof it is, so that one end's proof cannot be replayed as the
// other's.
type role string

const (
	roleDialer   role = "tributary dialer"
	roleListener role = "tributary listener"
)

// prove returns one end's proof that it has the secret: an HMAC of everything both have
// sent on this connection, which includes both ends' random numbers.
func (s Secret) prove(r role, said []byte) []byte {
	m := hmac.New(sha256.New, s[:])
	m.Write(append([]byte(r), 0))
	m.Write(said)
	return m.Sum(nil)
}

// proves reports whether a proof is right, in constant time.
func (s Secret) proves(r role, said, mac []byte) bool { return hmac.Equal(mac, s.prove(r, said)) }

// Trust is how the two ends of a connection authenticate each other: by certificates
// with TLS, else by the secret. With neither, every connection is refused.
type Trust struct {
	Secret Secret
	TLS    func() *tls.Config // the current configuration, for both ends; nil: plain TCP
}

// key returns the secret whose knowledge the handshake proves, and the TLS
// configuration. Under TLS both ends have shown a certificate of the cluster before it,
// and prove nothing more.
func (t Trust) key() (Secret, *tls.Config) {
	if t.TLS != nil {
		return Secret{}, t.TLS()
	}
	return t.Secret, nil
}

// wrongSecret returns the refusal of an end that has another secret than this one.
func wrongSecret(other string) *pgerr.Error {
	return pgerr.New(pgerr.InvalidAuthorizationSpecification, "%s has not the secret of the cluster", other).
		WithHint("A node joins with --join-secret and the file cluster-secret of a member's data directory, or a copy of it.")
}
