package store

import (
	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// hashFilter passes the rows that an exchange by the hash of the same columns would send
// to a node (exec/exchange.Router), so that rows of other tables can be sent to them.
type hashFilter struct {
	cols     []int // of the scan
	part, of int
	hasher   *kernel.Hasher
	arrs     []arrow.Array
	hash     []uint64
}

func newHashFilter(s *plan.Scan, sp *op.Split) (within, error) {
	if sp.Part < 0 || sp.Part >= sp.Of {
		return nil, pgerr.Internal("store: part %d of %d", sp.Part, sp.Of)
	}
	f := &hashFilter{part: sp.Part, of: sp.Of, cols: make([]int, len(sp.HashBy)), arrs: make([]arrow.Array, len(sp.HashBy))}
	ts := make([]types.Type, len(sp.HashBy))
	for i, num := range sp.HashBy {
		at, err := columnOf(s, num)
		if err != nil {
			return nil, err
		}
		f.cols[i], ts[i] = at, s.Cols[at].Type
	}
	f.hasher = kernel.NewHasher(ts)
	return f, nil
}

func (f *hashFilter) rows(column func(i, n int) (arrow.Array, error), sel []int32, n int) ([]int32, error) {
	for i, c := range f.cols {
		arr, err := column(c, n)
		if err != nil {
			return nil, err
		}
		f.arrs[i] = arr
	}
	f.hash = f.hasher.Hash(f.arrs, n, f.hash)
	if sel == nil {
		// Every row is written, and the end advances where it belongs to the part: no branch.
		out, at := make([]int32, n), 0
		for i, h := range f.hash {
			out[at] = int32(i)
			if kernel.Dest(h, f.of) == f.part {
				at++
			}
		}
		return out[:at], nil
	}
	out := make([]int32, 0, len(sel))
	for _, i := range sel {
		if kernel.Dest(f.hash[i], f.of) == f.part {
			out = append(out, i)
		}
	}
	return out, nil
}
