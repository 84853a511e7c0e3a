package aggregate

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel"
)

// groupDict finds the groups of rows whose keys are columns with dictionaries, as segments have for
// repeated strings, or such columns and integers from a small range. The keys of a row are combined into
// one number, its code, and the group of a code is looked up in the hash table only once:
//
//	'id007' at index 6 of 100, 12 of 1 to 100   ─▶   code 6·101 + 11
//
// The code of a single column with a dictionary is its index.
type groupDict struct {
	keys  []dictKey
	known []uint32 // by code: group+1, 0 unknown
	far   bool     // the integers were too far apart: later batches do not try

	codes  []int32 // scratch
	misses []int32
	fresh  []int32
}

// dictKey says how the values of a key are numbered. NULL has the last number.
type dictKey struct {
	of     *array.Data // the dictionary; nil: integers, from lo to hi
	lo, hi int64
	width  int // the number of numbers, NULL's included
}

// dictSpread is the most codes for each row of a batch: clearing known takes a batch about as long as
// processing a few of its rows.
const dictSpread = 16

// byDict is find for keys of which some are strings that have dictionaries. It returns false where
// others are not integers, or there are too many codes.
func (t *groupTable) byDict(cols []arrow.Array, n int) ([]uint32, bool) {
	if t.values != nil || n == 0 {
		return nil, false
	}
	if t.dict == nil {
		t.dict = &groupDict{}
	}
	d := t.dict
	if !d.use(cols, n) {
		return nil, false
	}
	if cap(d.misses) < n {
		d.misses = make([]int32, n)
	}
	groups, codes := t.room(n), d.encode(cols, n)
	known, misses, m := d.known, d.misses[:n], 0
	for i, x := range codes {
		g := known[x]
		groups[i], misses[m] = g-1, int32(i)
		if g == 0 {
			m++
		}
	}
	if m == 0 {
		return groups, true
	}
	// The first row of each code that has no group yet; they are looked up together.
	fresh := d.fresh[:0]
	for _, i := range misses[:m] {
		if p := &known[codes[i]]; *p == 0 {
			*p = ^uint32(0)
			fresh = append(fresh, i)
		}
	}
	d.fresh = fresh
	some := make([]arrow.Array, len(cols))
	for k, col := range cols {
		if some[k] = kernel.Take(col, fresh); d.keys[k].width > dictSpread*len(fresh) || len(cols) == 1 {
			some[k] = kernel.Flatten(some[k])
		}
	}
	t.groups = nil
	found := t.look(some, len(fresh))
	for j, i := range fresh {
		known[codes[i]] = found[j] + 1
	}
	for _, i := range misses[:m] {
		groups[i] = known[codes[i]] - 1
	}
	t.groups = groups
	return groups, true
}

// use prepares known for the codes of n rows of cols; it returns false if there would be too many
// codes.
func (d *groupDict) use(cols []arrow.Array, n int) bool {
	most, product, dicts := dictSpread*n, 1, 0
	for _, col := range cols {
		switch a := col.(type) {
		case *array.Dictionary:
			of, _ := a.Data().Dictionary().(*array.Data)
			if of == nil || of.Len() == 0 {
				return false
			}
			if product *= of.Len() + 1; product > most {
				return false
			}
			dicts++
		case *array.Int64, *array.Int32, *array.Int16, *array.Date32:
			if d.far {
				return false
			}
		default:
			return false
		}
	}
	if dicts == 0 {
		return false
	}
	begun := len(d.keys) == len(cols)
	if !begun {
		d.keys = make([]dictKey, len(cols))
	}
	same := begun
	for k, col := range cols {
		key := &d.keys[k]
		if of, ok := col.Data().Dictionary().(*array.Data); ok && of != nil {
			if key.of != of {
				*key, same = dictKey{of: of, width: of.Len() + 1}, false
			}
			continue
		}
		lo, hi, some := kernel.IntRange(col)
		if begun && key.of == nil && (!some || lo >= key.lo && hi <= key.hi) {
			continue
		}
		if same = false; !key.widen(lo, hi, some, begun) {
			d.drop(true)
			return false
		}
	}
	if same {
		return true
	}
	product = 1
	for k := range d.keys {
		if product *= d.keys[k].width; product > most {
			d.drop(product > dictSpread*kernel.ChunkRows)
			return false
		}
	}
	if cap(d.known) < product {
		d.known = make([]uint32, product)
		return true
	}
	d.known = d.known[:product]
	clear(d.known)
	return true
}

// drop removes the keys, and with them all codes in known.
func (d *groupDict) drop(far bool) { d.keys, d.far = nil, far }

// widen gives numbers to the integers from lo to hi if some is set. If the range has been begun
// already it at least doubles, so that it seldom grows. It returns false if the range would be too
// large.
func (k *dictKey) widen(lo, hi int64, some, begun bool) bool {
	if begun && k.of == nil {
		size := k.hi - k.lo + 1
		if lo < k.lo {
			lo = min(lo, k.lo-min(size, k.lo+maxKey))
		} else {
			lo = k.lo
		}
		if hi > k.hi {
			hi = max(hi, k.hi+min(size, maxKey-k.hi))
		} else {
			hi = k.hi
		}
	} else if !some {
		lo, hi = 0, 0
	}
	if lo < -maxKey || hi > maxKey || hi-lo >= dictSpread*kernel.ChunkRows {
		return false
	}
	*k = dictKey{lo: lo, hi: hi, width: int(hi-lo) + 2}
	return true
}

// encode returns the rows' codes. Indices without NULLs are taken as they are.
func (d *groupDict) encode(cols []arrow.Array, n int) []int32 {
	if len(cols) == 1 && cols[0].NullN() == 0 {
		return cols[0].(*array.Dictionary).Indices().(*array.Int32).Int32Values()[:n]
	}
	if cap(d.codes) < n {
		d.codes = make([]int32, n)
	}
	codes := d.codes[:n]
	for k, col := range cols {
		key := &d.keys[k]
		switch a := col.(type) {
		case *array.Dictionary:
			numberKeys(codes, a.Indices().(*array.Int32).Int32Values(), a, key, k == 0)
		case *array.Int64:
			numberKeys(codes, a.Int64Values(), a, key, k == 0)
		case *array.Int32:
			numberKeys(codes, a.Int32Values(), a, key, k == 0)
		case *array.Int16:
			numberKeys(codes, a.Int16Values(), a, key, k == 0)
		case *array.Date32:
			numberKeys(codes, a.Date32Values(), a, key, k == 0)
		}
	}
	return codes
}

// numberKeys writes the numbers of a row's first key into codes, or combines those of a later key with
// the numbers of the keys before it.
func numberKeys[T kernel.Integer](codes []int32, vals []T, arr arrow.Array, key *dictKey, first bool) {
	vals = vals[:len(codes)]
	lo, w := key.lo, int32(key.width)
	switch {
	case arr.NullN() > 0:
		for i, v := range vals {
			x := w - 1
			if !arr.IsNull(i) {
				x = int32(int64(v) - lo)
			}
			if !first {
				x += codes[i] * w
			}
			codes[i] = x
		}
	case first:
		for i, v := range vals {
			codes[i] = int32(int64(v) - lo)
		}
	default:
		for i, v := range vals {
			codes[i] = codes[i]*w + int32(int64(v)-lo)
		}
	}
}

// held returns its memory in bytes.
func (d *groupDict) held() int64 {
	if d == nil {
		return 0
	}
	return 4 * int64(cap(d.known)+cap(d.codes)+cap(d.misses)+cap(d.fresh))
}
