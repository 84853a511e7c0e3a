package aggregate

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel"
)

// groupDict finds the groups of rows whose only key is a column with a large dictionary,
// as segments have of strings that come again: an entry's group is looked up once, and
// rows read it by their index.
type groupDict struct {
	of     *array.Data
	known  []uint32 // by index: group+1, 0 unknown
	null   uint32   // group+1 of NULL
	misses []int32
	fresh  []int32
}

// dictSpread is how many entries a dictionary may have for each row of a batch: clearing known
// costs a batch about as much as a few of its rows.
const dictSpread = 16

// byDict is find for tables of one key that is numbered. It returns false for a column
// without a dictionary, or with one that is too large.
func (t *groupTable) byDict(col arrow.Array, n int) ([]uint32, bool) {
	a, ok := col.(*array.Dictionary)
	if !ok || t.values != nil {
		return nil, false
	}
	of, _ := a.Data().Dictionary().(*array.Data)
	if of == nil || of.Len() == 0 {
		return nil, false
	}
	d := t.dict
	if d == nil || d.of != of {
		if of.Len() > dictSpread*n {
			return nil, false
		}
		if d == nil {
			d = &groupDict{}
			t.dict = d
		}
		d.of, d.null = of, 0
		if cap(d.known) >= of.Len() {
			d.known = d.known[:of.Len()]
			clear(d.known)
		} else {
			d.known = make([]uint32, of.Len())
		}
	}
	if cap(d.misses) < n {
		d.misses = make([]int32, n)
	}
	groups := t.room(n)
	index := a.Indices().(*array.Int32).Int32Values()[:n]
	known, misses, m := d.known, d.misses[:n], 0
	if a.NullN() == 0 {
		for i, x := range index {
			g := known[x]
			groups[i], misses[m] = g-1, int32(i)
			if g == 0 {
				m++
			}
		}
	} else {
		for i, x := range index {
			g := d.null
			if !a.IsNull(i) {
				g = known[x]
			}
			groups[i], misses[m] = g-1, int32(i)
			if g == 0 {
				m++
			}
		}
	}
	if m == 0 {
		return groups, true
	}
	// The first row of each entry that is new: looking it up uses the table's groups.
	fresh := d.fresh[:0]
	for _, i := range misses[:m] {
		if p := d.place(a, int(i), index); *p == 0 {
			*p = ^uint32(0)
			fresh = append(fresh, i)
		}
	}
	d.fresh = fresh
	t.groups = nil
	found := t.find([]arrow.Array{kernel.Flatten(kernel.Take(col, fresh))}, len(fresh))
	for j, i := range fresh {
		*d.place(a, int(i), index) = found[j] + 1
	}
	for _, i := range misses[:m] {
		groups[i] = *d.place(a, int(i), index) - 1
	}
	t.groups = groups
	return groups, true
}

// place returns where the group of row i is kept.
func (d *groupDict) place(a *array.Dictionary, i int, index []int32) *uint32 {
	if a.IsNull(i) {
		return &d.null
	}
	return &d.known[index[i]]
}

// held returns its memory in bytes.
func (d *groupDict) held() int64 {
	if d == nil {
		return 0
	}
	return 4 * int64(cap(d.known)+cap(d.misses)+cap(d.fresh))
}
