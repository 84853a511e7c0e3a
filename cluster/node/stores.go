package node

import (
	"path/filepath"

	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/object"
	"github.com/tributarydb/tributary/sql/catalog"
)

// keysOf are those that seal secrets. A node with certificates may have no secret of its cluster: then it has none.
func keysOf(secret rpc.Secret) (object.Keys, error) {
	if secret.IsZero() {
		return object.Keys{}, nil
	}
	return object.NewKeys(secret[:])
}

// storesOf are the places beyond the node's disks from which statements read files.
func storesOf(state func() *catalog.State, keys object.Keys, temp string, limit int64, acct *mem.Account) (*object.Stores, error) {
	var cache *object.Cache
	if limit > 0 {
		var err error
		if cache, err = object.OpenCache(filepath.Join(temp, "object-cache"), limit, acct); err != nil {
			return nil, err
		}
	}
	return object.NewStores(state, keys, cache), nil
}
