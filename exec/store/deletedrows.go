package store

import (
	"math/bits"
	"slices"

	"github.com/RoaringBitmap/roaring"

	"github.com/tributarydb/tributary/exec/kernel/selection"
	"github.com/tributarydb/tributary/sql/catalog"
)

// deletedRows are those of a segment, in two parts (catalog.RowSet).
type deletedRows struct {
	older *roaring.Bitmap // nil where no row is deleted
	late  []uint32
}

// readDeleted decodes what a segment says of them, and aliases it.
func readDeleted(s *catalog.Segment) (d deletedRows, err error) {
	d.older, d.late, err = s.Deleted.Parts()
	if err != nil || int64(d.older.GetCardinality())+int64(len(d.late)) != s.DeletedRows {
		return deletedRows{}, &CorruptError{Segment: s.ID, What: "bitmap of deleted rows"}
	}
	return d, nil
}

// within are the late rows of [from, to).
func (d deletedRows) within(from, to int64) []uint32 {
	i, _ := slices.BinarySearch(d.late, uint32(from))
	j := i
	for j < len(d.late) && int64(d.late[j]) < to {
		j++
	}
	return d.late[i:j]
}

// goneRows are the deleted rows of a split as bits, for its batches.
type goneRows struct {
	from int64 // the row of the first bit, a multiple of 64
	bits []uint64
	mask []uint16
	sel  []int32
}

// fewGone is up to how many rows of a split it does not pay to read the bitmap's containers as a
// whole.
const fewGone = 1 << 12

// read takes the rows of [from, to).
func (g *goneRows) read(d deletedRows, from, to int64) {
	if to-from <= fewGone {
		g.from = from &^ 63
		g.bits = make([]uint64, (to-g.from+63)/64)
		it := d.older.Iterator()
		for it.AdvanceIfNeeded(uint32(from)); it.HasNext() && int64(it.PeekNext()) < to; {
			g.set(it.Next())
		}
	} else {
		// Containers are of 2¹⁶ rows: moved by so many they stay as they are.
		g.from = from &^ (1<<16 - 1)
		g.bits = make([]uint64, (to-g.from+63)/64)
		part := roaring.New()
		part.AddRange(uint64(from), uint64(to))
		part.And(d.older)
		roaring.AddOffset64(part, -g.from).WriteDenseTo(g.bits)
	}
	for _, row := range d.within(from, to) {
		g.set(row)
	}
}

func (g *goneRows) set(row uint32) {
	at := int64(row) - g.from
	g.bits[at/64] |= 1 << (at % 64)
}

// live returns the selection of the n rows from at on that are not deleted, nil for all. With
// scratch the selection is valid until the next call only.
func (g *goneRows) live(at int64, n int, scratch bool) (sel []int32, none bool) {
	if w := selection.Words(n); len(g.mask) < w {
		g.mask = make([]uint16, w)
	}
	m := g.mask[:selection.Words(n)]
	left := 0
	for i := range m {
		bit := at - g.from + 16*int64(i)
		w := g.bits[bit/64] >> (bit % 64)
		if more := bit/64 + 1; bit%64 > 48 && more < int64(len(g.bits)) {
			w |= g.bits[more] << (64 - bit%64)
		}
		m[i] = ^uint16(w)
		if rest := n - 16*i; rest < 16 {
			m[i] &= 1<<rest - 1
		}
		left += bits.OnesCount16(m[i])
	}
	if left == n {
		return nil, false
	}
	if left == 0 {
		return nil, true
	}
	out := g.sel
	if room := n + selection.Slack; !scratch || len(out) < room {
		if out = make([]int32, room); scratch {
			g.sel = out
		}
	}
	return out[:selection.Rows(m, out)], false
}

// live returns the selection of the next n rows that are not deleted, nil for all; with scratch it
// is valid until the next call.
func (r *reader) live(n int, scratch bool) (sel []int32, none bool) {
	if r.deleted.older == nil {
		return nil, false
	}
	if r.gone.bits == nil {
		r.gone.read(r.deleted, r.at, r.to)
	}
	return r.gone.live(r.at, n, scratch)
}
