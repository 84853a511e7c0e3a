package kernel

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/types"
)

// inliner packs a column of texts as two words a row, which are the text where it is short. So groups
// of short texts are found, deferred and merged like those of integers.
//
//	short text   its bytes, and their number + 1 in the uppermost one (shortText)
//	longer text  its number in an interner, Numbered
//	NULL         0, 0
type inliner struct {
	in    *interner // of longer texts
	dict  *array.Data
	known []inlined // by the dictionary's index; zero: not looked up
	seen  DictRows  // of a dictionary that is too large for them so far
	long  []int32   // scratch
	codes []uint32
}

// inlined is a text as an inliner packs it, and its hash.
type inlined struct {
	shortText
	hash uint64
}

// Numbered is the second word of an inlined text that the first word numbers.
const Numbered = ^uint64(0)

func newInliner(t types.Type) *inliner {
	in := newInterner(t)
	in.texts = false // none is short
	return &inliner{in: in}
}

// inlines reports whether values of t are texts that are equal as their bytes are.
func inlines(t types.Type) bool { return NewColumn(t).lay == layVar && t.EqualIsSame() }

func (l *inliner) held() int64 {
	return l.in.held() + 24*int64(cap(l.known)) + 4*int64(cap(l.long)+cap(l.codes))
}

// hash is HashBytes of a text that is short.
func (s shortText) hash() uint64 {
	n := s.hi>>56 - 1
	hi := s.hi << 8 >> 8
	var a, b uint64
	switch {
	case n >= 8:
		a = s.lo
		b = s.lo>>(8*(n-8)) | hi<<(8*(16-n))
	case n >= 4:
		a, b = s.lo&0xffffffff, s.lo>>(8*(n-4))
	case n > 0:
		a = s.lo&255 | s.lo>>(8*(n>>1))&255<<8 | s.lo>>(8*(n-1))&255<<16
	}
	return mix(mix(a^hashK0, b^hashK1^n*hashK2), hashK1^n)
}

// pack writes the texts of arr, which is column i of h, into words of zeros, and their hashes.
func (l *inliner) pack(h *Hasher, i int, arr arrow.Array, words, hashes []uint64, stride int) {
	strs, ok := textsOf(arr)
	if !ok { // all rows are NULL
		for j := range hashes {
			hashes[j] = hashNull
		}
		return
	}
	if d, ok := arr.(*array.Dictionary); ok && l.use(dictOf(d), len(hashes)) {
		l.byIndex(d, words, hashes, stride)
		return
	}
	for n := len(hashes); n > ChunkRows; n = len(hashes) {
		l.pack(h, i, array.NewSlice(arr, 0, ChunkRows), words, hashes[:ChunkRows], stride)
		arr, words, hashes = array.NewSlice(arr, ChunkRows, int64(n)), words[ChunkRows*stride:], hashes[ChunkRows:]
		strs, _ = textsOf(arr)
	}
	bm, off := valid(arr)
	long := l.long[:0]
	if strs.index != nil {
		h.column(i, arr, hashes)
	}
	at := 0
	for j := range hashes {
		if bm != nil && !batch.Bit(bm, off+j) {
			hashes[j] = hashNull
			at += stride
			continue
		}
		s, short := strs.short(j)
		if words[at], words[at+1] = s.lo, s.hi; !short {
			long = append(long, int32(j))
		}
		if strs.index == nil {
			if short {
				hashes[j] = s.hash()
			} else {
				hashes[j] = HashBytes(strs.data[strs.offs[j]:strs.offs[j+1]])
			}
		}
		at += stride
	}
	if l.long = long; len(long) == 0 {
		return
	}
	l.codes = grow(l.codes, len(hashes))
	l.in.intern(arr, long, hashes, l.codes)
	for _, j := range long {
		words[int(j)*stride] = uint64(l.codes[j])
	}
}

// use is interner.use.
func (l *inliner) use(dict *array.Data, n int) bool {
	if dict == nil {
		return false
	}
	if l.dict != dict {
		if dict.Len() > 16*l.seen.Add(dict, n) {
			return false
		}
		l.dict, l.known = dict, make([]inlined, dict.Len())
	}
	return true
}

func (l *inliner) byIndex(d *array.Dictionary, words, hashes []uint64, stride int) {
	index := values[int32](d.Data())
	bm, off := valid(d)
	offs, data := offsets(l.dict), bytesOf(l.dict)
	var long []int32
	for j, k := range index {
		if bm != nil && !batch.Bit(bm, off+j) {
			continue
		}
		if e := &l.known[k]; e.hi == 0 {
			short := false
			if e.shortText, short = shortOf(data, offs[k], offs[k+1]); short {
				e.hash = e.shortText.hash()
			} else {
				long = append(long, k)
			}
		}
	}
	for len(long) > 0 {
		some := long[:min(len(long), ChunkRows)]
		long = long[len(some):]
		vals := Take(array.MakeFromData(l.dict), some)
		hs, cs := make([]uint64, len(some)), make([]uint32, len(some))
		hashVar(l.in.typ, vals, hs)
		l.in.intern(vals, allRows[:len(some)], hs, cs)
		for j, k := range some {
			l.known[k].lo, l.known[k].hash = uint64(cs[j]), hs[j]
		}
	}
	at := 0
	for j, k := range index {
		if bm != nil && !batch.Bit(bm, off+j) {
			hashes[j] = hashNull
		} else {
			e := &l.known[k]
			words[at], words[at+1], hashes[j] = e.lo, e.hi, e.hash
		}
		at += stride
	}
}

// hash returns the hash of a row whose words of the text begin at at.
func (l *inliner) hash(row []uint64) uint64 {
	switch row[1] {
	case 0:
		return hashNull
	case Numbered:
		return l.in.hashes[row[0]-1]
	}
	return shortText{row[0], row[1]}.hash()
}

// recode turns numbers of another inliner into those of this one.
func (l *inliner) recode(to []uint32, words []uint64, stride int) {
	for at := 0; at < len(words); at += stride {
		if words[at+1] == Numbered {
			words[at] = uint64(to[words[at]])
		}
	}
}

// unpack returns the texts of rows.
func (l *inliner) unpack(dt arrow.DataType, words []uint64, stride int) arrow.Array {
	n := len(words) / stride
	offs := make([]int32, n+1)
	var ids []uint32
	total := 0
	for at := 0; at < len(words); at += stride {
		switch hi := words[at+1]; hi {
		case 0:
		case Numbered:
			ids = append(ids, l.in.ids[words[at]-1])
		default:
			total += int(hi>>56 - 1)
		}
	}
	if len(ids) == n {
		return l.in.col.Gather(ids)
	}
	var long texts
	if len(ids) > 0 {
		long, _ = textsOf(Flatten(l.in.col.Gather(ids)))
		total += int(long.offs[len(ids)] - long.offs[0])
	}
	if total > math.MaxInt32 {
		panic("BUG: kernel: unpacked texts pass 2 GiB")
	}
	data := make([]byte, total+wordText)
	var nulls []byte
	to, next := 0, 0
	for i := range n {
		lo, hi := words[i*stride], words[i*stride+1]
		switch hi {
		case 0:
			if nulls == nil {
				nulls = batch.AllOnes(n)
			}
			batch.ClearBit(nulls, i)
		case Numbered:
			to += copy(data[to:], long.data[long.offs[next]:long.offs[next+1]])
			next++
		default:
			putWords(data[to:], lo, hi)
			to += int(hi>>56 - 1)
		}
		offs[i+1] = int32(to)
	}
	return makeVar(dt, offs, data[:total:total], nulls)
}

// putWords writes two words as the 16 bytes that they are in memory.
func putWords(to []byte, lo, hi uint64) {
	binary.LittleEndian.PutUint64(to, lo)
	binary.LittleEndian.PutUint64(to[8:], hi)
}
