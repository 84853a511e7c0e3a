package store

import (
	"slices"

	"github.com/RoaringBitmap/roaring"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/types"
)

// pickShare is how many different values a segment's column has at least for each
// key that is looked up in it: with fewer, most of the segment is read either way.
const pickShare = 64

// pick looks up the rows that a join's few keys have, in place of reading all rows to
// see that most have none of them: what a statement that writes some rows asks of
// unique constraints and foreign keys costs what it writes, not what the table has.
// The column need not be a key of the table. Nor are all rows gone through where few of
// them are left.
func (r *reader) pick() {
	r.picks, r.picked = nil, false
	if r.deleted != nil && r.ref.Live()*pickShare <= r.ref.Rows {
		// As the rows that a statement removed are, which foreign keys are asked for.
		rest := roaring.New()
		rest.AddRange(uint64(r.at), uint64(r.to))
		rest.AndNot(r.deleted)
		r.picks, r.picked = rest.ToArray(), true
		return
	}
	for i := range r.keys {
		k := &r.keys[i]
		c := r.cols[k.Col]
		if c < 0 {
			continue
		}
		fc := &r.seg.foot.Cols[c]
		keys, ok := k.Filter.Few()
		if !ok || int64(len(keys))*pickShare > fc.Zone.Distinct {
			continue
		}
		switch kindOf(fc.Type) {
		case kindInt, kindDate:
		default:
			continue
		}
		x := r.pin.store.index(r.seg, &Key{nums: []int16{k.num}, types: []types.Type{fc.Type}}, r.at == 0)
		if x == nil {
			continue
		}
		for _, v := range keys {
			r.picks = x.find(kernel.HashInt(v), r.picks)
		}
		r.picks = slices.DeleteFunc(r.picks, func(row uint32) bool { return int64(row) < r.at || int64(row) >= r.to })
		slices.Sort(r.picks)
		r.picks, r.picked = slices.Compact(r.picks), true
		return
	}
}

// nextPick moves at to the next row that was picked; false if there is none.
func (r *reader) nextPick() bool {
	for len(r.picks) > 0 && int64(r.picks[0]) < r.at {
		r.picks = r.picks[1:]
	}
	if len(r.picks) == 0 {
		r.at = r.to
		return false
	}
	r.at = int64(r.picks[0])
	return true
}

// pickSpan is how many of the next n rows it takes to the last that was picked.
func (r *reader) pickSpan(n int) int {
	last := r.at
	for _, row := range r.picks {
		if int64(row) >= r.at+int64(n) {
			break
		}
		last = int64(row)
	}
	return int(last-r.at) + 1
}

// pickedOf gives the picked rows of the next n that are in sel (nil: all).
func (r *reader) pickedOf(sel []int32, n int) (out []int32, none bool) {
	for _, row := range r.picks {
		if int64(row) >= r.at+int64(n) {
			break
		}
		i := int32(int64(row) - r.at)
		if sel != nil {
			if _, ok := slices.BinarySearch(sel, i); !ok {
				continue
			}
		}
		out = append(out, i)
	}
	return out, len(out) == 0
}
