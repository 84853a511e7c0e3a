package store

import (
	"slices"

	"github.com/RoaringBitmap/roaring"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/prune"
	"github.com/tributarydb/tributary/sql/types"
)

// pickShare is how many different values a segment's column has at least for each
// key that is looked up in it, and how many rows a split has at least: else most of it
// is read either way.
const pickShare = 256

// pickBucket is how many rows of others an index may have beside those of a key.
const pickBucket = 32

// pick looks up the rows that have the few values which the filter or a join above requires,
// instead of reading all rows: so the checks of unique constraints and foreign keys cost in
// proportion to the rows that a statement writes, not to the table. The column need not be a key of
// the table. Nor are all rows read where few are not deleted.
func (r *reader) pick() {
	r.picks, r.picked = nil, false
	if r.to-r.at < pickShare {
		return
	}
	if r.deleted.older != nil && r.ref.Live()*pickShare <= r.ref.Rows {
		// As the rows that a statement removed are, which foreign keys are asked for.
		rest := roaring.New()
		rest.AddRange(uint64(r.at), uint64(r.to))
		rest.AndNot(r.deleted.older)
		for _, row := range r.deleted.late {
			rest.Remove(row)
		}
		r.picks, r.picked = rest.ToArray(), true
		return
	}
	for _, l := range r.plan.listed {
		if r.lookUp(l.Col, l.Keys) {
			return
		}
	}
	for i := range r.keys.keys {
		if keys, ok := r.keys.keys[i].Filter.Few(); ok && r.lookUp(r.keys.keys[i].Col, keys) {
			return
		}
	}
}

// denseShare is which share of a segment's rows, one of so many, may have the keys that are looked up: of more there
// are some in each batch, which is read either way. Half of the rows may have one of a thousand values.
const denseShare = 128

// lookUp picks the rows of which a column has one of the keys; false where that does
// not pay, or there is no index yet.
func (r *reader) lookUp(col int, keys []int64) bool {
	c := r.cols[col]
	if c < 0 {
		return false
	}
	fc := &r.seg.foot.Cols[c]
	if k := prune.KindOf(fc.Type); k != types.ClassInteger && k != types.ClassDate || int64(len(keys))*pickShare > fc.Zone.Distinct {
		return false
	}
	known := r.pin.store.indexed(r.seg, &Key{nums: []int16{fc.Num}, types: []types.Type{fc.Type}}, r.pin.affords)
	x := known.look()
	if x == nil {
		r.missed = append(r.missed, known)
		return false
	}
	most := 0
	for _, v := range keys {
		most += x.Most(kernel.HashInt(v))
	}
	if int64(most)*denseShare > r.seg.foot.Rows+int64(len(keys))*denseShare*pickBucket {
		return false
	}
	for _, v := range keys {
		r.picks = x.Find(kernel.HashInt(v), r.picks)
	}
	r.picks = slices.DeleteFunc(r.picks, func(row uint32) bool { return int64(row) < r.at || int64(row) >= r.to })
	slices.Sort(r.picks)
	r.picks, r.picked = slices.Compact(r.picks), true
	return true
}

// affords reports whether the statement makes an index of so many rows: one of those that take
// long, while the others are left to later statements. Made at once, those of all segments of a
// table took fifty times what the look-up did (TPC-DS 37 at scale factor 10).
func (p *Pin) affords(rows int64) bool {
	return rows < longIndex || p.indexed.CompareAndSwap(false, true)
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

// pickSpan returns how many of the next n rows there are up to the last picked one.
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

// pickedOf returns the picked rows of the next n that are in sel (nil: all).
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
