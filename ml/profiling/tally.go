package profiling

import (
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
)

// A tally counts the keys of a column over all blocks of a goroutine. Nearly all of a column's keys are in a few pages of
// neighbours, which it keeps from the first such key on; the others come to the histogram now and then. A page is of the
// same numbers whatever low is: counts of fewer keys each are fewer.
type tally struct {
	low   uint8                             // of the histogram that it makes
	at    [1 << (keyBits - pageBits)]uint16 // where a page's counts begin in pages, 0 for none
	pages []uint32                          // before those of the first page there is one without a use
	other []uint32                          // keys that are not in pages, while a block is read
	rest  histogram

	missing int64 // NaN
}

const (
	tallyPages = 1<<6 - 1
	// tallyBytes has room for pages that are moved where there are more.
	tallyBytes = 2<<(keyBits-pageBits) + 3*(tallyPages+1)*(4<<pageBits)/2
	// otherKeys is how many keys outside of pages are added to the histogram at a time.
	otherKeys = 4096
	// columnsAtOnce is the number of columns that are read side by side: their values of a tile are neighbours in memory.
	columnsAtOnce = 2
	// keyRows is of how many rows keys are made at a time.
	keyRows = 512
)

// add counts keys as f64.CenteredKeys has them.
func (t *tally) add(keys []uint32, scratch *keyCounts) {
	pages, shift, size := t.pages, keyShift+t.low, t.size()
	for _, key := range keys {
		i := int(t.at[key>>(keyShift+pageBits)]) + int(key>>(shift&31))&(size-1)
		if i >= size && i < len(pages) {
			pages[i]++
			continue
		}
		t.outside(key>>keyShift, scratch)
		pages = t.pages
	}
}

// size is how many counts a page has.
func (t *tally) size() int { return 1 << (pageBits - t.low) }

// outside counts a key whose page there is not yet.
func (t *tally) outside(key uint32, scratch *keyCounts) {
	if page := key >> pageBits; page == 0 || page == 1<<(keyBits-pageBits)-1 { // NaN: infinities are in the pages next to these
		t.missing++
		return
	}
	size := t.size()
	if len(t.pages) == 0 {
		t.pages = make([]uint32, size, 8*size)
	}
	if len(t.pages) <= tallyPages*size {
		at := len(t.pages)
		t.pages = append(t.pages, make([]uint32, size)...)
		t.at[key>>pageBits] = uint16(at)
		t.pages[at+int(key>>t.low)&(size-1)]++
		return
	}
	if t.other = append(t.other, key); len(t.other) == cap(t.other) {
		t.spare(scratch)
	}
}

// spare moves the other keys to the histogram.
func (t *tally) spare(scratch *keyCounts) {
	if len(t.other) == 0 {
		return
	}
	for _, key := range t.other {
		scratch.add(key)
	}
	t.other = t.other[:0]
	t.rest = t.rest.merge(scratch.take())
}

// take returns what was counted, how many of the values were NaN, and begins anew.
func (t *tally) take() (_ histogram, missing int64) {
	some := 0
	for _, n := range t.pages {
		if n > 0 {
			some++
		}
	}
	h, size := histogram{t.low, make([]keyCount, 0, some)}, t.size()
	for p, at := range t.at {
		if at == 0 {
			continue
		}
		for i, n := range t.pages[at:][:size] {
			if n > 0 {
				h.items = append(h.items, keyCount{uint32(p*size + i), int64(n)})
			}
		}
	}
	h, missing = h.cut().merge(t.rest), t.missing
	*t = tally{low: t.low}
	return h, missing
}

// numbers counts the keys of the columns of numbers in a block; weights are nil where all rows have some.
func numbers[T float32 | float64](d *Drafter, x []T, b *block.Block, weights []float64) {
	var together []int
	for k, t := range d.tallies {
		if t == nil {
			continue
		}
		if together = append(together, k); len(together) == columnsAtOnce {
			sideBySide(d, together, x, b, weights)
			together = together[:0]
		}
	}
	sideBySide(d, together, x, b, weights)
}

func sideBySide[T float32 | float64](d *Drafter, cols []int, x []T, b *block.Block, weights []float64) {
	for i, k := range cols {
		d.tallies[k].other = d.room[i][:0]
	}
	var room [keyRows]uint32
	for from := 0; from < b.Rows; from += keyRows {
		n := min(keyRows, b.Rows-from)
		for _, k := range cols {
			p, keys := &d.cols[k], room[:n]
			f64.CenteredKeys(room[:f64.Tiles(n)*f64.Lanes], x[from*b.Dense+p.dense*f64.Lanes:], b.Dense, d.centers[k])
			if p.null >= 0 || weights != nil {
				m := 0
				for i, key := range keys {
					switch {
					case weights != nil && !(weights[from+i] > 0):
					case p.null >= 0 && b.Value(from+i, p.null) != 0:
						d.draft.Cols[k].missing++
					default:
						keys[m] = key
						m++
					}
				}
				keys = keys[:m]
			}
			d.tallies[k].add(keys, d.scratch)
		}
	}
	for _, k := range cols {
		d.tallies[k].spare(d.scratch)
		d.tallies[k].other = nil
	}
}
