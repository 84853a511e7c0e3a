package object

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"strconv"
	"strings"
	"sync"

	"github.com/minio/minio-go/v7"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Stores finds the stores of URIs. A nil one knows the server's disks only.
type Stores struct {
	state func() *catalog.State // nil: all is read with the credentials of the node
	keys  Keys
	cache *Cache

	mu      sync.Mutex
	clients map[Access]*minio.Core
}

// NewStores makes a Stores, which reads the secrets of the newest state. cache may be nil.
func NewStores(state func() *catalog.State, keys Keys, cache *Cache) *Stores {
	return &Stores{state: state, keys: keys, cache: cache, clients: map[Access]*minio.Core{}}
}

// For returns the store of a URI for a role that reads, or writes, there. Who may use the server's disks is the
// caller's matter.
func (s *Stores) For(role types.OID, uri string, write bool) (Store, error) {
	if !Remote(uri) {
		return Local, nil
	}
	name, _, err := split(uri)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, pgerr.Unsupported("s3:// is not supported here")
	}
	access, err := s.access(role, uri, write)
	if err != nil {
		return nil, err
	}
	core, err := s.client(access)
	if err != nil {
		return nil, err
	}
	return &bucket{core: core, name: name, access: access, cache: s.cache}, nil
}

// mostClients bounds the clients that are kept, and with them the connections.
const mostClients = 64

// client returns the client of an access, of which each has one: it keeps connections, and where buckets are.
func (s *Stores) client(a Access) (*minio.Core, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.clients[a]; c != nil {
		return c, nil
	}
	c, err := a.client()
	if err != nil {
		return nil, err
	}
	if len(s.clients) >= mostClients {
		clear(s.clients)
	}
	s.clients[a] = c
	return c, nil
}

// access chooses what a role uses for a URI: the secret of the longest scope, of two the one that was made first; or
// the credentials of the node, which only those may use who may read, or write, its files.
func (s *Stores) access(role types.OID, uri string, write bool) (Access, error) {
	if s.state == nil {
		return nodeAccess(), nil
	}
	st := s.state()
	var best *catalog.Secret
	for _, x := range catalog.Secrets(st) {
		if x.Covers(uri) && st.May(role, x.Object(), 'U') && (best == nil || len(x.Scope) > len(best.Scope)) {
			best = x
		}
	}
	if best != nil {
		v, err := s.keys.Open(best)
		return Access{Who: best.Name + "\x00" + strconv.FormatUint(uint64(best.OID), 10) + "\x00" + strconv.FormatInt(best.CreatedAt.UnixNano(), 10), KeyID: best.KeyID, Secret: v.Secret, Token: v.Token,
			Region: best.Region, Endpoint: best.Endpoint, URLStyle: best.URLStyle, SSL: best.SSL}, err
	}
	need := catalog.ReadFilesOID
	if write {
		need = catalog.WriteFilesOID
	}
	if !st.Inherits(role, need) {
		return Access{}, pgerr.New(pgerr.InsufficientPrivilege, "permission denied for %q: no secret that covers it may be used", uri).
			WithHint("GRANT USAGE ON SECRET name TO role gives one. The credentials of the node are for members of %s.", st.Role(need).Name)
	}
	return nodeAccess(), nil
}

// Keys seals what is secret in secrets. Its zero value can do neither.
type Keys struct{ aead cipher.AEAD }

// Sealed is what is secret in a secret.
type Sealed struct{ Secret, Token string }

// NewKeys derives the key from the cluster's secret, which all of its nodes have, and no snapshot or backup.
func NewKeys(cluster []byte) (Keys, error) {
	key, err := hkdf.Key(sha256.New, cluster, nil, "tributary secrets 1", 32)
	if err != nil {
		return Keys{}, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return Keys{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return Keys{aead}, err
}

// of binds what is sealed to where it is sent: who could change the catalog's bytes cannot have it sent elsewhere.
func of(x *catalog.Secret) []byte {
	return []byte(strings.Join([]string{strconv.FormatUint(uint64(x.OID), 10), x.Type, x.KeyID, x.Endpoint, x.Scope, strconv.FormatBool(x.SSL)}, "\x00"))
}

// Seal sets what is secret in a secret, whose other fields are set.
func (k Keys) Seal(x *catalog.Secret, v Sealed) error {
	if k.aead == nil {
		return noKeys()
	}
	x.Sealed = k.aead.Seal(nil, nil, codec.Marshal(v), of(x))
	return nil
}

// Open returns what is secret in a secret.
func (k Keys) Open(x *catalog.Secret) (v Sealed, err error) {
	if k.aead == nil {
		return v, noKeys()
	}
	b, err := k.aead.Open(nil, nil, x.Sealed, of(x))
	if err != nil {
		return v, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "secret %q cannot be opened: it was sealed by a cluster with another secret", x.Name).
			WithHint("CREATE OR REPLACE SECRET makes it anew.")
	}
	return codec.Unmarshal[Sealed](b)
}

func noKeys() error {
	return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "this node has no file cluster-secret, with which secrets are sealed").
		WithHint("Put the same file cluster-secret into the data directories of all nodes: openssl rand -hex 32.")
}
