package profiling

import (
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
)

// A tally counts the keys of a column over all blocks of a goroutine. Nearly all of a column's keys are in a few pages of
// neighbours, which it keeps from the first such key on; the others come to the histogram now and then.
type tally struct {
	at    [1 << (keyBits - pageBits)]uint8 // a page's place in pages, 0 for none
	pages [tallyPages + 1]*[1 << pageBits]uint32
	used  int
	other []uint32 // keys that are not in pages, while a block is read
	rest  histogram
}

const (
	tallyPages = 1<<6 - 1
	tallyBytes = 1<<(keyBits-pageBits) + (tallyPages+1)*(8+4<<pageBits)
	// otherKeys is how many keys outside of pages are added to the histogram at a time.
	otherKeys = 4096
	// columnsAtOnce is the number of columns that are read side by side: their values of a tile are neighbours in memory.
	columnsAtOnce = 2
)

// outside counts a key whose page there is not yet.
func (t *tally) outside(key uint32, scratch *keyCounts) {
	if t.used < tallyPages {
		t.used++
		t.at[key>>pageBits] = uint8(t.used)
		page := new([1 << pageBits]uint32)
		page[key&(1<<pageBits-1)] = 1
		t.pages[t.used] = page
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

// take returns what was counted, and begins anew.
func (t *tally) take() histogram {
	var h histogram
	for p, at := range t.at {
		if at == 0 {
			continue
		}
		for i, n := range t.pages[at] {
			if n > 0 {
				h.items = append(h.items, keyCount{uint32(p<<pageBits + i), int64(n)})
			}
		}
	}
	h = h.cut().merge(t.rest)
	*t = tally{}
	return h
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
	var some [f64.Lanes]T
	for from := 0; from < b.Rows; from += f64.Lanes {
		n := min(f64.Lanes, b.Rows-from)
		for _, k := range cols {
			p, t, to := &d.cols[k], d.tallies[k], &d.draft.Cols[k]
			vals := x[from*b.Dense+p.dense*f64.Lanes:][:n]
			if p.null >= 0 || weights != nil {
				m := 0
				for i, v := range vals {
					switch {
					case weights != nil && !(weights[from+i] > 0):
					case p.null >= 0 && x[from*b.Dense+p.null*f64.Lanes+i] != 0:
						to.missing++
					default:
						some[m] = v
						m++
					}
				}
				vals = some[:m]
			}
			to.missing += tell(t, vals, d.centers[k], d.scratch)
		}
	}
	for _, k := range cols {
		d.tallies[k].spare(d.scratch)
		d.tallies[k].other = nil
	}
}

// tell counts the keys of numbers, and returns how many are missing.
func tell[T float32 | float64](t *tally, vals []T, center float64, scratch *keyCounts) (missing int64) {
	for _, v := range vals {
		if v != v {
			missing++
			continue
		}
		key := keyOf(float32(float64(v) - center))
		if page := t.pages[t.at[key>>pageBits]&tallyPages]; page != nil {
			page[key&(1<<pageBits-1)]++
		} else {
			t.outside(key, scratch)
		}
	}
	return missing
}
