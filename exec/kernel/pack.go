package kernel

import (
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/types"
)

// Packer writes rows of columns as words, a fixed number for each row, which are equal exactly
// where the rows are (NULL being equal to NULL). Integers, dates, times and booleans are stored as
// values, with a bit for NULL, floats as keys of their order, of which none is 0, which is NULL; a value
// of any other type is its number in an interner, 0 for NULL. An only column of texts has two words a row, in which short ones are (inliner).
//
//	(int4, text, date)   word 0: text's number, int4   word 1: NULL bits, date
//
// Of equal values that differ (types.Type.EqualIsSame) Unpack returns the one that came first in
// the column.
//
// It is for one goroutine, except Unpack and what Translate reads.
type Packer struct {
	types  []types.Type
	fields []packField
	words  int
	h      *Hasher
	tmp    []uint64
	codes  []uint32
	from   *Packer    // of the rows translated last
	to     [][]uint32 // by field: own codes by those of from
}

// packField is the place of a column in a row.
type packField struct {
	word, nullWord   int
	shift, nullShift uint
	bits             uint
	fixed            bool // a value of its own; else an interner's number, or
	float            bool // floatKey
	in               *interner
	text             *inliner // instead: two words; its interner is in
}

// NewPacker makes the packer of columns of the types ts.
func NewPacker(ts []types.Type) *Packer {
	p := &Packer{types: ts, fields: make([]packField, len(ts)), h: NewHasher(ts)}
	if len(ts) == 1 && inlines(ts[0]) {
		text := newInliner(ts[0])
		p.fields[0], p.words = packField{text: text, in: text.in}, 2
		return p
	}
	var used []uint // bits of each word
	place := func(bits uint) (word int, shift uint) {
		for w, u := range used {
			if u+bits <= 64 {
				used[w] += bits
				return w, u
			}
		}
		used = append(used, bits)
		return len(used) - 1, 0
	}
	order := make([]int, len(ts))
	for i, t := range ts {
		order[i] = i
		f := &p.fields[i]
		if f.bits, f.fixed = fixedBits(t); f.fixed {
			continue
		}
		if f.float = t.Form() == types.FormFloat64; f.float {
			f.bits = 64
		} else {
			f.bits, f.in = 32, newInterner(t)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(p.fields[b].bits) - int(p.fields[a].bits) })
	for _, i := range order {
		f := &p.fields[i]
		f.word, f.shift = place(f.bits)
	}
	for i := range p.fields {
		if f := &p.fields[i]; f.fixed {
			f.nullWord, f.nullShift = place(1)
		}
	}
	p.words = len(used)
	return p
}

// fixedBits returns the width of a type whose values are equal exactly if their bits are.
func fixedBits(t types.Type) (uint, bool) {
	switch t.Arrow().ID() {
	case arrow.BOOL:
		return 1, true
	case arrow.INT16:
		return 16, true
	case arrow.INT32, arrow.UINT32, arrow.DATE32:
		return 32, true
	case arrow.INT64, arrow.TIMESTAMP, arrow.TIME64:
		return 64, true
	}
	return 0, false
}

// Words returns how many words a row has.
func (p *Packer) Words() int { return p.words }

// Bytes returns the memory of the interned values.
func (p *Packer) Bytes() int64 {
	var n int64
	for i := range p.fields {
		if f := &p.fields[i]; f.text != nil {
			n += f.text.held()
		} else if f.in != nil {
			n += f.in.held()
		}
	}
	return n
}

// Interned returns how many values have numbers.
func (p *Packer) Interned() (n int) {
	for i := range p.fields {
		if in := p.fields[i].in; in != nil {
			n += len(in.ids)
		}
	}
	return n
}

// Pack returns the words and the hashes (Hasher's) of n rows of cols, in the given slices where
// they are large enough.
func (p *Packer) Pack(cols []arrow.Array, n int, words, hashes []uint64) (_, _ []uint64) {
	words, hashes = grow(words, n*p.words), grow(hashes, n)
	clear(words)
	p.tmp = grow(p.tmp, n)
	for i, col := range cols {
		out := hashes
		if i > 0 {
			out = p.tmp
		}
		f := &p.fields[i]
		switch {
		case f.text != nil:
			f.text.pack(p.h, i, col, words, out, p.words)
		case f.fixed:
			p.h.column(i, col, out)
			f.put(col, n, words, p.words)
		case f.float:
			p.h.column(i, col, out)
			f.putFloats(col, words, p.words)
		default:
			p.codes = grow(p.codes, n)
			f.in.encode(p.h, i, col, out, p.codes)
			for j, c := range p.codes {
				words[j*p.words+f.word] |= uint64(c) << f.shift
			}
		}
		if i > 0 {
			for j, v := range out {
				hashes[j] = combine(hashes[j], v)
			}
		}
	}
	return words, hashes
}

// PackFixed returns the words of n rows of cols, of types that need no interner, as Pack
// does, without the hashes.
func (p *Packer) PackFixed(cols []arrow.Array, n int, words []uint64) []uint64 {
	words = grow(words, n*p.words)
	clear(words)
	for i, col := range cols {
		p.fields[i].put(col, n, words, p.words)
	}
	return words
}

// put writes the values of a fixed field into words of zeros.
func (f *packField) put(arr arrow.Array, n int, words []uint64, stride int) {
	d := arr.Data()
	bm, off := valid(arr)
	switch arr.DataType().ID() {
	case arrow.NULL:
		for i := range n {
			words[i*stride+f.nullWord] |= 1 << f.nullShift
		}
		return
	case arrow.BOOL:
		a := arr.(*array.Boolean)
		for i := range n {
			if (bm == nil || batch.Bit(bm, off+i)) && a.Value(i) {
				words[i*stride+f.word] |= 1 << f.shift
			}
		}
	case arrow.INT16:
		putFixed(f, values[uint16](d), bm, off, words, stride)
	case arrow.INT32, arrow.UINT32, arrow.DATE32:
		putFixed(f, values[uint32](d), bm, off, words, stride)
	default:
		putFixed(f, values[uint64](d), bm, off, words, stride)
	}
	if bm != nil {
		for i := range n {
			if !batch.Bit(bm, off+i) {
				words[i*stride+f.nullWord] |= 1 << f.nullShift
			}
		}
	}
}

func putFixed[T uint16 | uint32 | uint64](f *packField, vals []T, bm []byte, off int, words []uint64, stride int) {
	at, shift := f.word, f.shift
	if bm == nil {
		for _, v := range vals {
			words[at] |= uint64(v) << shift
			at += stride
		}
		return
	}
	for i, v := range vals {
		if batch.Bit(bm, off+i) {
			words[at] |= uint64(v) << shift
		}
		at += stride
	}
}

func (f *packField) putFloats(arr arrow.Array, words []uint64, stride int) {
	a, ok := arr.(*array.Float64)
	if !ok { // NULLs
		return
	}
	bm, off := valid(arr)
	at := f.word
	for i, v := range a.Float64Values() {
		if bm == nil || batch.Bit(bm, off+i) {
			words[at] = floatKey(v)
		}
		at += stride
	}
}

// Null reports whether column k of a row is NULL.
func (p *Packer) Null(k int, row []uint64) bool {
	if p.fields[k].text != nil {
		return row[1] == 0
	}
	_, ok := p.fields[k].value(row)
	return !ok
}

// Clear makes column k of rows NULL.
func (p *Packer) Clear(k int, words []uint64) {
	f := &p.fields[k]
	if f.text != nil {
		clear(words)
		return
	}
	mask := ^(^uint64(0) >> (64 - f.bits) << f.shift)
	for at := 0; at < len(words); at += p.words {
		words[at+f.word] &= mask
		if f.fixed {
			words[at+f.nullWord] |= 1 << f.nullShift
		}
	}
}

// Fill makes column k, of fixed values, v in all rows.
func (p *Packer) Fill(k int, words []uint64, v uint64) {
	p.Clear(k, words)
	f := &p.fields[k]
	for at := 0; at < len(words); at += p.words {
		words[at+f.nullWord] &^= 1 << f.nullShift
		words[at+f.word] |= v << f.shift
	}
}

// value returns the field of a row; false for NULL.
func (f *packField) value(row []uint64) (uint64, bool) {
	v := row[f.word] >> f.shift & (^uint64(0) >> (64 - f.bits))
	if f.fixed {
		return v, row[f.nullWord]>>f.nullShift&1 == 0
	}
	return v, v != 0
}

// Hash returns the hashes of rows, as Pack did.
func (p *Packer) Hash(words, out []uint64) []uint64 {
	out = grow(out, len(words)/max(p.words, 1))
	for k := range p.fields {
		f, t := &p.fields[k], p.types[k]
		if f.text != nil {
			for i := range out {
				out[i] = f.text.hash(words[i*p.words:])
			}
			continue
		}
		for i := range out {
			h := uint64(hashNull)
			if v, ok := f.value(words[i*p.words : (i+1)*p.words]); ok {
				switch {
				case f.float:
					h = hashFloat(floatOf(v))
				case !f.fixed:
					h = f.in.hashes[v-1]
				case t.IsFixed() && t.Scale > 0:
					h = hashDecimal(int64(v), int32(t.Scale))
				case f.bits == 32 && t.Arrow().ID() != arrow.UINT32:
					h = hash64(uint64(int64(int32(v))))
				case f.bits == 16:
					h = hash64(uint64(int64(int16(v))))
				default:
					h = hash64(v)
				}
			}
			if k > 0 {
				h = combine(out[i], h)
			}
			out[i] = h
		}
	}
	return out
}

// Translate turns rows that were packed by from, of the same types, into rows of p. from must not
// change any more.
func (p *Packer) Translate(from *Packer, words []uint64) {
	if p.from != from {
		p.from, p.to = from, p.Adopt(from)
	}
	p.Recode(p.to, words)
}

// Adopt adds the interned values of from, of the same types, and returns, by field, p's numbers by
// those of from. from must not change any more.
func (p *Packer) Adopt(from *Packer) [][]uint32 {
	to := make([][]uint32, len(p.fields))
	for k := range p.fields {
		if in := p.fields[k].in; in != nil {
			to[k] = in.translate(from.fields[k].in)
		}
	}
	return to
}

// Recode turns rows that were packed by another packer into rows of p, by the result of Adopt. It
// only reads the packer.
func (p *Packer) Recode(codes [][]uint32, words []uint64) {
	for k := range p.fields {
		f := &p.fields[k]
		if f.in == nil {
			continue
		}
		to := codes[k]
		if f.text != nil {
			f.text.recode(to, words, p.words)
			continue
		}
		for at := f.word; at < len(words); at += p.words {
			w := words[at]
			old := w >> f.shift & 0xffffffff
			words[at] = w ^ (old^uint64(to[old]))<<f.shift
		}
	}
}

// Numbers reports whether a row is just the number of its only column's value.
func (p *Packer) Numbers() bool {
	return len(p.fields) == 1 && p.fields[0].in != nil && p.fields[0].text == nil
}

// Inlines reports whether a row is its only column's text, or that text's number, before Numbered.
func (p *Packer) Inlines() bool { return len(p.fields) == 1 && p.fields[0].text != nil }

// Unpack returns column k of rows.
func (p *Packer) Unpack(k int, words []uint64) arrow.Array {
	f, n, dt := &p.fields[k], len(words)/p.words, p.types[k].Arrow()
	if f.text != nil {
		return f.text.unpack(dt, words, p.words)
	}
	if f.float {
		out, bits := make([]float64, n), []byte(nil)
		for i := range out {
			v := words[i*p.words+f.word]
			if v == 0 {
				if bits == nil {
					bits = batch.AllOnes(n)
				}
				batch.ClearBit(bits, i)
				continue
			}
			out[i] = floatOf(v)
		}
		return makeFixed(dt, out, bits)
	}
	if !f.fixed {
		ids := make([]uint32, n)
		for i := range ids {
			ids[i] = NoRow
			if c := uint32(words[i*p.words+f.word] >> f.shift); c != 0 {
				ids[i] = f.in.ids[c-1]
			}
		}
		return f.in.col.Gather(ids)
	}
	var bits []byte
	for i := range n {
		if words[i*p.words+f.nullWord]>>f.nullShift&1 != 0 {
			if bits == nil {
				bits = batch.AllOnes(n)
			}
			batch.ClearBit(bits, i)
		}
	}
	switch f.bits {
	case 1:
		out := make([]byte, batch.BitmapBytes(n))
		for i := range n {
			if words[i*p.words+f.word]>>f.shift&1 != 0 {
				batch.SetBit(out, i)
			}
		}
		return makeBits(dt, out, bits, n)
	case 16:
		return makeFixed(dt, takeField[uint16](f, words, p.words), bits)
	case 32:
		return makeFixed(dt, takeField[uint32](f, words, p.words), bits)
	default:
		return makeFixed(dt, takeField[uint64](f, words, p.words), bits)
	}
}

func takeField[T uint16 | uint32 | uint64](f *packField, words []uint64, stride int) []T {
	out := make([]T, len(words)/stride)
	at := f.word
	for i := range out {
		out[i] = T(words[at] >> f.shift)
		at += stride
	}
	return out
}
