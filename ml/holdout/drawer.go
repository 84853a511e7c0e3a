package holdout

import (
	"sync/atomic"

	"github.com/tributarydb/tributary/ml/block"
)

// Drawer holds rows out on a node. Its leaves may be drawn by any goroutines.
type Drawer struct {
	share     float64
	from, cut int
	common    map[block.RowHash]*atomic.Int64 // copies still to hold out
}

// On returns what draws on a node.
func (h *Holdout) On(node int) *Drawer {
	d := &Drawer{share: h.Share, from: h.From, cut: h.Cut, common: make(map[block.RowHash]*atomic.Int64, len(h.Common))}
	for _, q := range h.Common {
		left := &atomic.Int64{}
		left.Store(q.on(node))
		d.common[q.Hash] = left
	}
	return d
}

// Draws reports whether some rows are held out.
func (d *Drawer) Draws() bool { return d.share > 0 }

// Share is that of the rows to hold out.
func (d *Drawer) Share() float64 { return d.share }

// Quota reports whether a row is common, and how many of its copies are still to hold out.
func (d *Drawer) Quota(h block.RowHash) (held int64, common bool) {
	if left := d.common[h]; left != nil {
		return left.Load(), true
	}
	return 0, false
}

// Drawn reports whether a row is held out. It is asked of each row once.
func (d *Drawer) Drawn(h block.RowHash) bool {
	if len(d.common) > 0 {
		if left := d.common[h]; left != nil {
			return left.Load() > 0 && left.Add(-1) >= 0
		}
	}
	return bin(h) >= d.from && bin(h) < d.cut
}
