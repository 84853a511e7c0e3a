package record

import (
	"math"
	"unsafe"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/sql/number"
)

// ViewRows is how many rows a View is best read at: chunk by chunk, all columns
// of a chunk one after the other, while its records are in the cache.
const ViewRows = 256

// View reads the rows of a leaf. It is for one goroutine.
type View struct {
	Rows    int
	layout  *Layout
	order   []loc
	store   *Store // what is made of the rows is charged to it; nil: of views of no leaf
	regions [][]byte
	release func()

	// The records of the rows looked at last, found once for all columns.
	from  int
	recs  []unsafe.Pointer
	nulls []byte // of each column of these rows: whether one is NULL
	rows  [f64.Lanes]*float32

	touched uint64

	held  []uint64 // rows held out
	share float64  // of windows held out
	keyed *Windows // of a keyed store
	first []int32
	tied  bool  // of a keyed store: bytes order some of its rows, for nothing else does
	by    []int // of rows of windows that flow by: the columns of their order
}

// Close ends the access. Values that were read as bytes are gone.
func (v *View) Close() { v.release(); v.regions = nil }

// Layout is the form of the rows.
func (v *View) Layout() *Layout { return v.layout }

func (v *View) rec(i int) []byte { return v.order[i].in(v.regions) }

// window returns the records of rows [from, from+n), and which columns have NULLs
// among them. The records are whole: their slots may be read without checks.
func (v *View) window(from, n int) (recs []unsafe.Pointer, nulls []byte) {
	if from != v.from || n != len(v.recs) {
		words := v.layout.fixedNulls() / 8
		if v.recs == nil {
			v.recs, v.nulls = make([]unsafe.Pointer, 0, ViewRows), make([]byte, 8*words)
		}
		v.from, v.recs = from, v.recs[:0]
		clear(v.nulls)
		for _, p := range v.order[from : from+n] {
			v.recs = append(v.recs, unsafe.Pointer(unsafe.SliceData(p.in(v.regions))))
		}
		// Records lie anywhere. All that follows the first line of each is asked of
		// memory now, many at a time, and not when a column wants it.
		var touched uint64
		for at := 64; at+8 <= v.layout.fixed; at += 64 {
			for _, r := range v.recs {
				touched |= slot[uint64](r, at)
			}
		}
		v.touched = touched
		for w := range words {
			var any uint64
			for _, r := range v.recs {
				any |= slot[uint64](r, nullsAt+8*w)
			}
			le.PutUint64(v.nulls[8*w:], any)
		}
	}
	return v.recs, v.nulls
}

// slot reads the number at an offset of a record. Records lie at multiples of
// eight bytes and slots at multiples of their width.
func slot[T uint64 | int64 | int32 | uint32 | int16 | uint8](rec unsafe.Pointer, at int) T {
	return *ptr[T](rec, at)
}

func ptr[T any](rec unsafe.Pointer, at int) *T { return (*T)(unsafe.Add(rec, at)) }

// Draw returns a number that row i's hash chose uniformly from [0, 1): the same
// wherever the row is.
func (v *View) Draw(i int) float64 {
	return float64(be.Uint64(v.rec(i)[8:])>>11) * 0x1p-53
}

func (l *Layout) null(rec []byte, c int) bool { return rec[nullsAt+c>>3]>>(c&7)&1 != 0 }

// Numbers reads column c, of a number, boolean or time type, of rows [from,
// from+len(dst)) as float64s: fixed numerics as their value, booleans as 0 and
// 1, dates in days, times and timestamps in microseconds. NULLs read as NaN,
// and their number is returned; NaN values of the data too are NaN, but not
// counted.
func (v *View) Numbers(c, from int, dst []float64) (nulls int) {
	if len(dst) == 0 {
		return 0
	}
	l := v.layout
	at := l.at[c]
	recs, anyNull := v.window(from, len(dst))
	dst = dst[:len(recs)]
	switch l.classes[c] {
	case classF64:
		for i, r := range recs {
			dst[i] = math.Float64frombits(slot[uint64](r, at))
		}
	case classF32:
		for i, r := range recs {
			dst[i] = float64(math.Float32frombits(slot[uint32](r, at)))
		}
	case classI64:
		if t := l.Cols[c].Type; t.IsFixed() {
			for i, r := range recs {
				dst[i] = FixedFloat(slot[int64](r, at), t.Scale)
			}
		} else {
			for i, r := range recs {
				dst[i] = float64(slot[int64](r, at))
			}
		}
	case classI32:
		for i, r := range recs {
			dst[i] = float64(slot[int32](r, at))
		}
	case classU32:
		for i, r := range recs {
			dst[i] = float64(slot[uint32](r, at))
		}
	case classI16:
		for i, r := range recs {
			dst[i] = float64(slot[int16](r, at))
		}
	case classBool:
		for i, r := range recs {
			dst[i] = float64(slot[uint8](r, at))
		}
	case classNumeric:
		for i := range dst {
			dst[i] = math.NaN()
			if b := v.Bytes(c, from+i); b != nil {
				if d, err := number.DecodeDecimal(b); err == nil {
					dst[i] = d.Float64()
				}
			}
		}
	default:
		for i := range dst {
			dst[i] = math.NaN()
		}
	}
	byteAt, bit := c>>3, c&7
	if anyNull[byteAt]>>bit&1 != 0 {
		for i, r := range recs {
			if slot[uint8](r, nullsAt+byteAt)>>bit&1 != 0 {
				dst[i] = math.NaN()
				nulls++
			}
		}
	}
	return nulls
}

// Bytes returns the canonical bytes of column c in row i, nil for NULL: the text,
// the binary form, or the slot of a number. They alias the view.
func (v *View) Bytes(c, i int) []byte { return v.layout.value(v.rec(i), c) }

// value is View.Bytes of a record.
func (l *Layout) value(rec []byte, c int) []byte {
	if l.null(rec, c) {
		return nil
	}
	k := l.classes[c]
	if !k.variable() {
		w := k.width()
		return rec[l.at[c] : l.at[c]+w : l.at[c]+w]
	}
	at := l.fixed
	for _, vc := range l.vars {
		n := int(le.Uint32(rec[l.at[vc]:]))
		if vc == c {
			return rec[at : at+n : at+n]
		}
		at += n
	}
	return nil
}

// Array reads column c of row i, an array of numbers, appending to dst; ok is
// false for NULL.
func (v *View) Array(c, i int, dst []float64) (out []float64, ok bool) {
	b := v.Bytes(c, i)
	if b == nil {
		return dst, false
	}
	for ; len(b) >= 8; b = b[8:] {
		dst = append(dst, math.Float64frombits(le.Uint64(b)))
	}
	return dst, true
}
