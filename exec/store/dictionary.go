package store

import (
	"slices"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
)

// dictionary numbers the strings of a column, over all groups of a segment.
//
//	slots[h & mask] = h | number + 1, h being the upper half of a hash, linear probing
type dictionary struct {
	offs   []int32
	data   []byte
	slots  []uint64
	used   bool            // some group refers to it
	closed bool            // takes no more values
	half   int             // values after half a group
	last   arrow.ArrayData // the dictionary of the column last seen, and
	lastTo []int32         // the numbers of its values; -1: not looked up
	arr    *array.String
}

func newDictionary() *dictionary { return &dictionary{offs: []int32{0}, slots: make([]uint64, 64)} }

func (d *dictionary) len() int { return len(d.offs) - 1 }

func (d *dictionary) value(k int32) []byte { return d.data[d.offs[k]:d.offs[k+1]] }

func (d *dictionary) bytes() int64 {
	return int64(cap(d.data)) + 4*int64(cap(d.offs)+cap(d.lastTo)) + 8*int64(len(d.slots))
}

func (d *dictionary) number(s string) int32 {
	h := kernel.HashBytes(unsafe.Slice(unsafe.StringData(s), len(s))) >> 32
	mask := uint64(len(d.slots) - 1)
	for at := h & mask; ; at = (at + 1) & mask {
		x := d.slots[at]
		if x == 0 {
			d.slots[at] = h<<32 | uint64(len(d.offs))
			break
		}
		if k := int32(uint32(x)) - 1; x>>32 == h && string(d.value(k)) == s {
			return k
		}
	}
	d.data = append(d.data, s...)
	d.offs = append(d.offs, int32(len(d.data)))
	d.arr = nil
	if 2*d.len() > len(d.slots) {
		d.grow()
	}
	return int32(d.len() - 1)
}

func (d *dictionary) grow() {
	old := d.slots
	d.slots = make([]uint64, 2*len(old))
	mask := uint64(len(d.slots) - 1)
	for _, x := range old {
		if x != 0 {
			at := x >> 32 & mask
			for d.slots[at] != 0 {
				at = (at + 1) & mask
			}
			d.slots[at] = x
		}
	}
}

// encode appends the numbers of the rows' strings to index, -1 for NULL. It stops numbering when
// the dictionary is full: the caller checks fits.
func (d *dictionary) encode(index []int32, s batch.Strings, arr arrow.Array, sel []int32, n int) []int32 {
	index = slices.Grow(index, n)
	out := index[len(index) : len(index)+n]
	index = index[:len(index)+n]
	null := nullsOf(arr)
	if s.Plain != nil {
		prev, prevK := "", int32(-1)
		for i := range out {
			row := rowAt(sel, i)
			if null.at(row) {
				out[i] = -1
				continue
			}
			v := s.Plain.Value(row)
			if prevK < 0 || v != prev {
				prev, prevK = v, d.number(v)
			}
			out[i] = prevK
		}
		return index
	}
	// A dictionary column: each of its values is looked up once.
	if of := arr.Data().Dictionary(); d.last != of {
		d.last, d.lastTo = of, make([]int32, s.Values.Len())
		for i := range d.lastTo {
			d.lastTo[i] = -1
		}
	}
	m, rows := d.lastTo, s.Index
	if null.valid == nil {
		low := int32(0) // negative once a value was not looked up
		if sel == nil {
			for i, k := range rows[:n] {
				out[i] = m[k]
				low |= out[i]
			}
		} else {
			for i, row := range sel {
				out[i] = m[rows[row]]
				low |= out[i]
			}
		}
		if low >= 0 {
			return index
		}
	}
	for i := range out {
		row := rowAt(sel, i)
		k := rows[row]
		switch {
		case null.at(row):
			out[i] = -1
		case m[k] >= 0:
			out[i] = m[k]
		default:
			m[k] = d.number(s.Values.Value(int(k)))
			out[i] = m[k]
		}
	}
	return index
}

// fits reports whether the dictionary may grow further, with rows in the group.
func (d *dictionary) fits(rows int) bool {
	if d.len() > dictEntries || len(d.data) > dictBytes {
		return false
	}
	if rows <= GroupRows/2 {
		d.half = d.len()
	}
	// If strings are mostly different, detect it early: hashing them is expensive. Of dictEntries
	// values, each as often as another, n rows have about n²/(2·dictEntries) that came before. Values
	// that come in cycles, as 1 to 10,000 repeatedly, are not recognised before the second cycle.
	return d.used || rows < 2*batch.DefaultSize || (rows-d.len())*4*dictEntries >= rows*rows
}

// pays reports whether a group of rows is smaller and quicker as indices, or those after it
// will be: it has most of the values that there are. Of dictEntries values, each as often
// as another, the second half of a group brings 7/9 of those that the first brought; where
// half of the rows have a value of their own, it brings as many.
func (d *dictionary) pays(rows int) bool {
	return d.used || d.len()*4 <= rows || rows == GroupRows && 2*len(d.data) <= dictBytes && 9*(d.len()-d.half) <= 7*d.half
}

// shrinks reports whether the strings of the rows would take several times as much outside of the
// dictionary, and much: ten long ones that all rows but a few have would be gigabytes.
func (d *dictionary) shrinks(index []int32) bool {
	plain := int64(0)
	for _, k := range index {
		if k >= 0 {
			plain += int64(d.offs[k+1] - d.offs[k])
		}
	}
	return plain > max(2*int64(len(d.data)), dictBytes)
}

func (d *dictionary) array() *array.String {
	if d.arr == nil {
		// The slices only grow beyond what this array refers to.
		d.arr = batch.FromOffsets(arrow.BinaryTypes.String, d.offs[:len(d.offs):len(d.offs)], d.data[:len(d.data):len(d.data)], nil).(*array.String)
	}
	return d.arr
}
