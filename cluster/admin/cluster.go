package admin

import (
	"context"

	"github.com/tributarydb/tributary/sql/catalog"
)

// Cluster is what is administered. All fields are required.
type Cluster struct {
	Catalog Catalog
	Members Members
}

// Catalog is the replicated catalog. Its methods may be called from any goroutine.
type Catalog interface {
	// Current is the newest state applied on this node.
	Current() *catalog.State
	// Changed returns a channel that is closed when Current next changes.
	Changed() <-chan struct{}
	// Commit proposes changes as one and waits until they are applied here.
	Commit(ctx context.Context, changes []catalog.Change) error
}

// Members are the cluster's nodes. Its methods may be called from any
// goroutine.
type Members interface {
	Alive(node uint64) bool
	// Load is what a node holds and does, as far as is known here.
	Load(node uint64) NodeLoad
	// Versions asks all members for the versions of their programs; 0 for one that does not answer.
	Versions(ctx context.Context) map[uint64]uint32
	// Remove takes a member out of the cluster, for good.
	Remove(ctx context.Context, node uint64) error
}

// NodeLoad is what keeps a node from leaving.
type NodeLoad struct {
	Files, Tasks int
	Leader       bool
}
