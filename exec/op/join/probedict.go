package join

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel"
)

// probeDict remembers the right row of each entry of a dictionary: where the only key of
// the probe side is a dictionary column and right keys are unique, an entry is hashed,
// looked up and compared once, and rows read their right row by their index.
type probeDict struct {
	t      *hashTable
	of     *array.Data
	known  []uint32 // by index: the head of a list of one row; noHead; 0 for unknown
	misses []int32
	fresh  []int32
	pairs  []int32
	found  found
}

// noHead is an entry without a right row.
const noHead = ^uint32(0)

// dictSpread is how many entries a dictionary may have for each row of a batch: clearing known
// costs a batch about as much as a few of its rows.
const dictSpread = 16

// byDict is find for such batches, and p.found then has pairs whose keys are equal. It returns
// false for others.
func (p *prober) byDict() bool {
	t := p.t
	if len(t.keys) != 1 || t.direct || t.next != nil || t.all != nil || p.cfg.NullSafe[0] {
		return false
	}
	a, ok := p.keys[0].(*array.Dictionary)
	if !ok {
		return false
	}
	of, _ := a.Data().Dictionary().(*array.Data)
	if of == nil || of.Len() == 0 {
		return false
	}
	d := &p.dict
	if d.of != of || d.t != t {
		if of.Len() > dictSpread*p.n {
			return false
		}
		d.of, d.t = of, t
		if cap(d.known) >= of.Len() {
			d.known = d.known[:of.Len()]
			clear(d.known)
		} else {
			d.known = make([]uint32, of.Len())
		}
	}
	index := a.Indices().(*array.Int32).Int32Values()[:p.n]
	nulls := a.NullN() > 0
	d.learn(p, a, index, nulls)
	p.found.room(p.n)
	known, rows, heads, n := d.known, p.found.rows, p.found.heads, 0
	if nulls {
		for i, x := range index {
			if !a.IsNull(i) {
				rows[n], heads[n] = int32(i), known[x]
				n += kernel.NonZero(^known[x])
			}
		}
	} else {
		for i, x := range index {
			head := known[x]
			rows[n], heads[n] = int32(i), head
			n += kernel.NonZero(^head)
		}
	}
	p.found.cut(n)
	return true
}

// learn looks up the entries of a batch that are unknown.
func (d *probeDict) learn(p *prober, a *array.Dictionary, index []int32, nulls bool) {
	if cap(d.misses) < len(index) {
		d.misses = make([]int32, len(index))
	}
	known, misses, m := d.known, d.misses[:len(index)], 0
	for i, x := range index {
		misses[m] = int32(i)
		if !(nulls && a.IsNull(i)) && known[x] == 0 {
			m++
		}
	}
	if m == 0 {
		return
	}
	d.fresh = d.fresh[:0] // a row of each
	for _, i := range misses[:m] {
		if x := index[i]; known[x] == 0 {
			known[x] = noHead
			d.fresh = append(d.fresh, i)
		}
	}
	keys := []arrow.Array{kernel.Flatten(kernel.Take(a, d.fresh))}
	p.t.find(p.h, keys, nil, len(d.fresh), &d.found)
	ids := make([]uint32, len(d.found.heads))
	d.pairs = d.pairs[:0]
	for i, head := range d.found.heads {
		ids[i] = head - 1
		d.pairs = append(d.pairs, int32(i))
	}
	for _, at := range p.t.keys[0].Match(keys[0], d.found.rows, ids, false, d.pairs) {
		known[index[d.fresh[d.found.rows[at]]]] = d.found.heads[at]
	}
}
