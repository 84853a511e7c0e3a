package block

import (
	"unsafe"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/tempfile"
)

// BySlot has the one-hot features of a block sorted by slot. Where there are so many
// slots that per-slot data do not fit in the caches, a row's look-ups wait for memory,
// one by one. In this order per-slot data are streamed, and look-ups go to per-row data
// of some rows, which stay in the cache. A row's features are added in the order of
// Block.Margins, so the bits are the same.
type BySlot struct {
	spans []slotSpan
}

// SpanRows is how many rows are worked at once: eight bytes for each fit a second-level cache.
const SpanRows = 1 << 15

// slotSpan is the features of SpanRows rows, or at the end fewer, column by column; by
// column those of row[k] are slot[k], ascending.
type slotSpan struct {
	slot [][]int32
	row  [][]uint16
}

const slotBytes = int(unsafe.Sizeof(int32(0)) + unsafe.Sizeof(uint16(0)))

// BySlotBytes is the room that BySlot wants.
func (b *Block) BySlotBytes() int { return b.Padded() * b.Codes * slotBytes }

// BySlot sorts the features in room, of BySlotBytes.
func (b *Block) BySlot(room []byte) *BySlot {
	n := b.Padded() * b.Codes
	slots, rows := tempfile.Numbers[int32](room[:n*4]), tempfile.Numbers[uint16](room[n*4:])
	s := &BySlot{}
	keys, scratch := make([]uint64, 0, min(SpanRows, b.Padded())), make([]uint64, min(SpanRows, b.Padded()))
	for from := 0; from < b.Padded(); from += SpanRows {
		var span slotSpan
		for j := range b.Codes {
			keys = keys[:0]
			for i := from; i < min(from+SpanRows, b.Padded()); i++ {
				at := (i&^(f64.Lanes-1))*b.Codes + j*f64.Lanes + i&(f64.Lanes-1)
				if slot := b.Code[at]; slot >= 0 {
					keys = append(keys, uint64(slot)<<16|uint64(i-from))
				}
			}
			sortSlots(keys, scratch[:len(keys)])
			for k, key := range keys {
				slots[k], rows[k] = int32(key>>16), uint16(key)
			}
			span.slot, span.row = append(span.slot, slots[:len(keys)]), append(span.row, rows[:len(keys)])
			slots, rows = slots[len(keys):], rows[len(keys):]
		}
		s.spans = append(s.spans, span)
	}
	return s
}

// sortSlots sorts keys stably by their bits above the lowest 16.
func sortSlots(keys, scratch []uint64) {
	const digit = 11
	var most uint64
	for _, key := range keys {
		most = max(most, key)
	}
	to := scratch
	from := keys
	for shift := 16; most>>shift > 0; shift += digit {
		var ends [1 << digit]int32
		for _, key := range from {
			ends[key>>shift&(1<<digit-1)]++
		}
		at := int32(0)
		for d, n := range ends {
			ends[d], at = at, at+n
		}
		for _, key := range from {
			d := key >> shift & (1<<digit - 1)
			to[ends[d]] = key
			ends[d]++
		}
		from, to = to, from
	}
	if len(keys) > 0 && &from[0] != &keys[0] {
		copy(keys, from)
	}
}

// Margins adds to z, of the rows from span·SpanRows on, the weights of their slots.
func (s *BySlot) Margins(z []float64, span int, weights []float64) {
	for j, slots := range s.spans[span].slot {
		rows := s.spans[span].row[j][:len(slots)]
		for k, slot := range slots {
			z[rows[k]] += weights[slot]
		}
	}
}

// Factors are those of the rows of a span.
type Factors struct {
	By   *BySlot
	Span int
	R    []float64
}

// AddGrad adds to oneHot, by slot and in units of f64.FixedUnit, the factors of spans of
// blocks of as many columns: for all of them column by column, so that the sums of a
// column's slots are loaded from memory once.
func AddGrad(oneHot []int64, list []Factors) {
	if len(list) == 0 {
		return
	}
	for j := range list[0].By.spans[list[0].Span].slot {
		for _, f := range list {
			slots := f.By.spans[f.Span].slot[j]
			rows := f.By.spans[f.Span].row[j][:len(slots)]
			for k, slot := range slots {
				oneHot[slot] += f64.FixedPart(f.R[rows[k]])
			}
		}
	}
}
