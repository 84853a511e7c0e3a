package rows

import (
	"sync"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/feature"
)

// unfitted is a leaf's unfitted block and the bytes reserved for it.
type unfitted struct {
	*feature.Unfitted
	bytes int64
}

// unfittedBlocks are those of leaves that have one. They can be had again from the rows.
type unfittedBlocks struct {
	mu sync.Mutex
	by map[int]*unfitted
}

func (u *unfittedBlocks) put(leaf int, d *unfitted) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.by == nil {
		u.by = map[int]*unfitted{}
	}
	u.by[leaf] = d
}

// take removes and returns a leaf's, nil for none.
func (u *unfittedBlocks) take(leaf int) *unfitted {
	u.mu.Lock()
	defer u.mu.Unlock()
	d := u.by[leaf]
	delete(u.by, leaf)
	return d
}

// drop frees those of these leaves, without any of all.
func (u *unfittedBlocks) drop(blocks *block.Blocks, leaves ...int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for leaf, d := range u.by {
		if leaves == nil || leaf == leaves[0] {
			blocks.Unreserve(d.bytes)
			delete(u.by, leaf)
		}
	}
}

// clear forgets all: the blocks have been closed.
func (u *unfittedBlocks) clear() {
	u.mu.Lock()
	defer u.mu.Unlock()
	clear(u.by)
}
