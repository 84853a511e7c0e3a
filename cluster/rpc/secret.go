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

// Secret is what the nodes of a cluster know and nobody else does. The zero
// value is none.
type Secret [32]byte

// NewSecret makes the secret of a new cluster.
func NewSecret() (s Secret) {
	rand.Read(s[:])
	return s
}

// ParseSecret reads what Text gave.
func ParseSecret(text string) (s Secret, err error) {
	b, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil || len(b) != len(s) {
		return s, pgerr.New(pgerr.InvalidParameterValue, "this is not a cluster's secret").
			WithHint("It is %d hexadecimal digits, as in the file cluster-secret of a member's data directory.", 2*len(s))
	}
	return Secret(b), nil
}

// Text is the secret itself, for a file that only the owner reads.
func (s Secret) Text() string { return hex.EncodeToString(s[:]) }

// String keeps it out of logs and messages.
func (s Secret) String() string { return "(secret)" }

// GoString keeps it out of logs and messages.
func (s Secret) GoString() string { return s.String() }

// MarshalText keeps it out of logs and messages.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// IsZero reports whether there is none.
func (s Secret) IsZero() bool { return s == Secret{} }

// role is whose proof it is: one end's is of no use as the other's.
type role string

const (
	roleDialer   role = "tributary dialer"
	roleListener role = "tributary listener"
)

// prove makes one end's proof that it has the secret: of all that both have said
// on this connection, the random numbers of both among it.
func (s Secret) prove(r role, said []byte) []byte {
	m := hmac.New(sha256.New, s[:])
	m.Write(append([]byte(r), 0))
	m.Write(said)
	return m.Sum(nil)
}

// proves reports whether a proof is right, in the same time for any wrong one.
func (s Secret) proves(r role, said, mac []byte) bool { return hmac.Equal(mac, s.prove(r, said)) }

// Trust is how the two ends of a connection prove that they are of one cluster:
// by certificates where there is TLS, else by the secret. Where there is neither
// nobody is let in.
type Trust struct {
	Secret Secret
	TLS    func() *tls.Config // as it is now, for both ends; nil: plain
}

// key is what the handshake proves knowledge of. Under TLS both ends have shown a
// certificate of the cluster before it, and prove nothing more.
func (t Trust) key() (Secret, *tls.Config) {
	if t.TLS != nil {
		return Secret{}, t.TLS()
	}
	return t.Secret, nil
}

// wrongSecret is the refusal of an end that has not the secret of this one.
func wrongSecret(other string) *pgerr.Error {
	return pgerr.New(pgerr.InvalidAuthorizationSpecification, "%s has not the secret of the cluster", other).
		WithHint("A node joins with --join-secret and the file cluster-secret of a member's data directory, or a copy of it.")
}
