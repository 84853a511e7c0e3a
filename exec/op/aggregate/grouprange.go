package aggregate

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/types"
)

// groupRange finds the groups of one integer key, or of the codes of several (rangecodes.go),
// by a table of its values, without hashes or comparisons, in blocks that are made as keys come:
//
//	blocks[key >> rangeShift - first][key & 4095]    group+1, 0 none
//
// It is for keys that lie close together, as the numbers of orders and customers do, all or in
// runs, and is given up when they do not.
type groupRange struct {
	first  int64         // the block, key >> rangeShift, that blocks[0] is
	blocks []*rangeBlock // nil: no key of it has come
	made   int           // of blocks
	lo, hi int64         // the first and the last block that is made
	null   uint32        // group+1 of NULL
}

type rangeBlock [1 << rangeShift]uint32

// rangeShift cuts keys into blocks, by which threads divide groups too.
const rangeShift = 12

const blockBytes = 4 << rangeShift

// rangeSpread is how many numbers there may be in the blocks for each group.
const rangeSpread = 16

// firstSpread is rangeSpread for a table's first keys: in the rows of a join the numbers come in no
// order, so the first batch has few of many, and the next ones more.
const firstSpread = 8 * rangeSpread

// firstRows is how many keys of a table there must be for firstSpread: few keys may be all there
// are.
const firstRows = 4096

// leastBlocks is how many blocks even few keys may have: a block and its neighbour.
const leastBlocks = 2

// rangeReach is how many blocks there may be from the first to the last, made or not.
const rangeReach = 1 << 17

func newGroupRange(ts []types.Type) *groupRange {
	if len(ts) != 1 || !isRangeKey(ts[0]) {
		return nil
	}
	return &groupRange{}
}

// isRangeKey reports whether values of t are integers.
func isRangeKey(t types.Type) bool {
	return t.IsIntegral() || t.IsFixed()
}

func notRangeKey(t types.Type) bool { return !isRangeKey(t) }

// bytes returns the memory held.
func (r *groupRange) bytes() int64 {
	if r == nil {
		return 0
	}
	return int64(r.made)*blockBytes + 8*int64(cap(r.blocks))
}

// cover makes the range hold keys; false where it may not grow so far.
func (t *groupTable) cover(cols []arrow.Array) bool {
	if len(cols) > 1 {
		return t.coverCodes(cols)
	}
	switch a := cols[0].(type) {
	case *array.Int64:
		return coverColumn(t, a.Int64Values(), a)
	case *array.Int32:
		return coverColumn(t, a.Int32Values(), a)
	case *array.Int16:
		return coverColumn(t, a.Int16Values(), a)
	case *array.Date32:
		return coverColumn(t, a.Date32Values(), a)
	}
	return false
}

func coverColumn[T kernel.Integer](t *groupTable, vals []T, arr arrow.Array) bool {
	lo, hi, some := kernel.RangeOf(vals, arr)
	if arr.NullN() == 0 {
		arr = nil
	}
	return !some || coverKeys(t.rng, vals, arr, lo, hi, t.count+len(vals), t.grant)
}

// byRange is find for keys that the table's range holds.
func (t *groupTable) byRange(cols []arrow.Array) []uint32 {
	if len(cols) > 1 {
		return rangeGroups(t, cols, t.coded, false)
	}
	nulls := cols[0].NullN() > 0
	switch a := cols[0].(type) {
	case *array.Int64:
		return rangeGroups(t, cols, a.Int64Values(), nulls)
	case *array.Int32:
		return rangeGroups(t, cols, a.Int32Values(), nulls)
	case *array.Int16:
		return rangeGroups(t, cols, a.Int16Values(), nulls)
	}
	return rangeGroups(t, cols, cols[0].(*array.Date32).Date32Values(), nulls)
}

func rangeGroups[T kernel.Integer](t *groupTable, cols []arrow.Array, vals []T, nulls bool) []uint32 {
	r, arr := t.rng, cols[0]
	groups := t.room(len(vals))
	if cap(t.fresh) < len(vals) {
		t.fresh = make([]int32, len(vals))
	}
	fresh, m, next := t.fresh[:len(vals)], 0, uint32(t.count)
	blocks, first := r.blocks, r.first
	if !nulls {
		for i, v := range vals {
			p := &blocks[int64(v)>>rangeShift-first][int64(v)&(1<<rangeShift-1)]
			if *p == 0 {
				next++
				*p = next
				fresh[m] = int32(i)
				m++
			}
			groups[i] = *p - 1
		}
	} else {
		for i, v := range vals {
			p := &r.null
			if !arr.IsNull(i) {
				p = &blocks[int64(v)>>rangeShift-first][int64(v)&(1<<rangeShift-1)]
			}
			if *p == 0 {
				next++
				*p = next
				fresh[m] = int32(i)
				m++
			}
			groups[i] = *p - 1
		}
	}
	t.addKeys(cols, fresh[:m])
	return groups
}

// coverKeys makes the blocks of keys from lo to hi, or only those that have keys, where that is not
// too much for the groups there may be and grant allows the bytes. arr has the NULLs of vals; nil
// for none.
func coverKeys[T kernel.Integer](r *groupRange, vals []T, arr arrow.Array, lo, hi int64, groups int, grant func(bytes int64) bool) bool {
	from, to := lo>>rangeShift, hi>>rangeShift
	if r.made > 0 && from >= r.lo && to <= r.hi && r.made == int(r.hi-r.lo)+1 {
		return true
	}
	if !r.near(from, to) {
		return false
	}
	missing := 0
	for b := from; b <= to; b++ {
		if r.block(b) == nil {
			missing++
		}
	}
	spread := rangeSpread
	if r.made == 0 && groups >= firstRows {
		spread = firstSpread
	}
	most := spread*groups>>rangeShift + leastBlocks
	if r.made+missing <= most {
		return r.reach(from, to, grant) && r.make(from, to, missing, grant)
	}
	// The keys are in runs far apart: make only the blocks that have keys. They are counted first,
	// since making them in vain would take as long as the rows do.
	seen := make([]uint64, (to-from)>>6+1)
	var list []int64
	for i, v := range vals {
		if arr != nil && arr.IsNull(i) {
			continue
		}
		b := int64(v) >> rangeShift
		if at := b - from; seen[at>>6]>>(at&63)&1 == 0 && r.block(b) == nil {
			if seen[at>>6] |= 1 << (at & 63); r.made+len(list) == most {
				return false
			}
			list = append(list, b)
		}
	}
	if !r.reach(from, to, grant) {
		return false
	}
	for _, b := range list {
		if !r.make(b, b, 1, grant) {
			return false
		}
	}
	return true
}

// block returns a block; nil if it is not made.
func (r *groupRange) block(b int64) *rangeBlock {
	if at := b - r.first; at >= 0 && at < int64(len(r.blocks)) {
		return r.blocks[at]
	}
	return nil
}

// near reports whether the blocks in [from, to] are not too far from each other and from those that
// are made.
func (r *groupRange) near(from, to int64) bool {
	if r.made > 0 {
		from, to = min(from, r.lo), max(to, r.hi)
	}
	return uint64(to-from) < rangeReach
}

// reach extends the list to the blocks in [from, to], which are near.
func (r *groupRange) reach(from, to int64, grant func(bytes int64) bool) bool {
	if r.made > 0 {
		from, to = min(from, r.lo), max(to, r.hi)
	}
	if len(r.blocks) > 0 && from >= r.first && to < r.first+int64(len(r.blocks)) {
		return true
	}
	// As much again on both sides: keys may come in any order.
	n := to - from + 1
	first := from - n
	if grant != nil && !grant(8*3*n) {
		return false
	}
	blocks := make([]*rangeBlock, 3*n)
	if r.made > 0 {
		copy(blocks[r.lo-first:], r.blocks[r.lo-r.first:r.hi-r.first+1])
	}
	r.first, r.blocks = first, blocks
	return true
}

// make makes the missing blocks of those in [from, to].
func (r *groupRange) make(from, to int64, missing int, grant func(bytes int64) bool) bool {
	if missing == 0 {
		return true
	}
	if grant != nil && !grant(int64(missing)*blockBytes) {
		return false
	}
	if r.made == 0 {
		r.lo, r.hi = from, to
	}
	r.lo, r.hi, r.made = min(r.lo, from), max(r.hi, to), r.made+missing
	fresh := kernel.Fresh[rangeBlock](missing, missing)
	at := r.blocks[from-r.first : to-r.first+1]
	for i := range at {
		if at[i] == nil {
			at[i], fresh = &fresh[0], fresh[1:]
		}
	}
	return true
}

// leaveRange changes the table from a range to hashes.
func (t *groupTable) leaveRange() {
	t.rng, t.layout, t.coded = nil, nil, nil
	t.hashes = t.pack.Hash(t.words, make([]uint64, 0, t.count))
	t.grow(2 * t.count)
}
