package sequence

import (
	"context"
	"sync"

	"github.com/tributarydb/tributary/sql/types"
)

// OIDs hands out object identifiers. Its methods may be called from any goroutine.
type OIDs struct {
	Catalog interface {
		// AllocOIDs reserves n object identifiers and returns the first.
		AllocOIDs(ctx context.Context, n int) (types.OID, error)
	}

	mu   sync.Mutex
	next types.OID
	left int
}

const oidBlock = 256

// New returns a free object identifier.
func (b *OIDs) New(ctx context.Context) (types.OID, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left == 0 {
		first, err := b.Catalog.AllocOIDs(ctx, oidBlock)
		if err != nil {
			return 0, err
		}
		b.next, b.left = first, oidBlock
	}
	b.left--
	b.next++
	return b.next - 1, nil
}
