package catalog

import (
	"strings"
	"time"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Secret is a key of an object store. What is secret of it is sealed: no state, snapshot or backup has its text.
type Secret struct {
	OID       types.OID
	Version   uint64 // grows with each change
	Name      string // unique
	Owner     types.OID
	ACL       []Grant
	Type      string // "s3"
	Scope     string // the URIs that it is for begin so; "" for all
	KeyID     string
	Region    string
	Endpoint  string
	URLStyle  string
	SSL       bool
	Sealed    []byte
	CreatedAt time.Time
}

// ClassSecret is the class of secrets.
const ClassSecret Class = 'K'

// Object returns the secret as an object of privileges.
func (x *Secret) Object() Object { return Object{Class: ClassSecret, Owner: x.Owner, ACL: x.ACL} }

// Covers reports whether a URI is in the secret's scope, which ends where a part of a URI does.
func (x *Secret) Covers(uri string) bool {
	rest, ok := strings.CutPrefix(uri, x.Scope)
	return ok && (x.Scope == "" || rest == "" || strings.HasSuffix(x.Scope, "/") || rest[0] == '/')
}

type (
	// PutSecret makes a secret, or replaces the one of this version.
	PutSecret struct {
		Secret        *Secret
		ExpectVersion uint64 // 0: there is none yet
	}
	// DropSecret removes a secret.
	DropSecret struct{ OID types.OID }
)

func (c *PutSecret) apply(e *edit) error {
	x := c.Secret
	old := e.s.secrets[x.OID]
	switch {
	case e.s.roles[x.Owner] == nil, old == nil && c.ExpectVersion > 0:
		return conflict("delete")
	case old != nil && old.Version != c.ExpectVersion:
		return conflict("update")
	}
	for _, o := range e.s.secrets {
		if o.Name == x.Name && o.OID != x.OID {
			return pgerr.New(pgerr.DuplicateObject, "secret %q already exists", x.Name)
		}
	}
	n := *x
	n.Version = c.ExpectVersion + 1
	writable(e, mapSecrets, &e.s.secrets)[x.OID] = &n
	e.noteOID(x.OID)
	return nil
}

func (c *DropSecret) apply(e *edit) error {
	if e.s.secrets[c.OID] == nil {
		return conflict("delete")
	}
	delete(writable(e, mapSecrets, &e.s.secrets), c.OID)
	return nil
}

// Secrets lists all, by OID.
func Secrets(s *State) []*Secret { return sorted(s.secrets) }

// SecretNamed finds a secret; nil if there is none.
func SecretNamed(s *State, name string) *Secret {
	for _, x := range s.secrets {
		if x.Name == name {
			return x
		}
	}
	return nil
}
