package canon

import (
	"encoding/binary"
	"io"
	"iter"
	"math"
	"slices"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// E appends values to B. The zero value is ready; one made by To writes them to an
// io.Writer chunk by chunk, so that the whole encoding is never in memory.
type E struct {
	B    []byte
	to   io.Writer
	gone int // bytes already written
	err  error
}

// chunkBytes is about how many bytes are buffered before they are written.
const chunkBytes = 256 << 10

// To returns an E that writes to w. Flush must be called at the end; it also returns
// the error of a value that cannot be encoded.
func To(w io.Writer) *E { return &E{to: w} }

// Flush writes what is buffered, and returns the first error.
func (e *E) Flush() error {
	if e.to != nil && e.err == nil && len(e.B) > 0 {
		_, e.err = e.to.Write(e.B)
	}
	if e.to != nil {
		e.gone += len(e.B)
		e.B = e.B[:0]
	}
	return e.err
}

// drain flushes when enough is buffered.
func (e *E) drain() {
	if e.to != nil && len(e.B) >= chunkBytes {
		_ = e.Flush() // Flush returns the error again at the end
	}
}

// U8, U32, U64, I64, Int and F64 append one number.
func (e *E) U8(v uint8)    { e.B = append(e.B, v) }
func (e *E) U32(v uint32)  { e.B = binary.LittleEndian.AppendUint32(e.B, v); e.drain() }
func (e *E) U64(v uint64)  { e.B = binary.LittleEndian.AppendUint64(e.B, v); e.drain() }
func (e *E) I64(v int64)   { e.U64(uint64(v)) }
func (e *E) Int(v int)     { e.I64(int64(v)) }
func (e *E) F64(v float64) { e.U64(math.Float64bits(v)) }

// count appends a length.
func (e *E) count(n int) {
	if n > math.MaxUint32 && e.err == nil {
		e.err = pgerr.New(pgerr.ProgramLimitExceeded, "a list of %d is too long to be kept", n)
	}
	e.U32(uint32(n))
}

// Bool appends a truth value as one byte.
func (e *E) Bool(v bool) {
	if v {
		e.U8(1)
	} else {
		e.U8(0)
	}
}

// Str appends a string after its length.
func (e *E) Str(v string) { e.count(len(v)); e.B = append(e.B, v...); e.drain() }

// Bytes appends bytes after their length.
func (e *E) Bytes(v []byte) { e.count(len(v)); e.B = append(e.B, v...); e.drain() }

// F64s appends numbers after their count.
func (e *E) F64s(v []float64) {
	e.count(len(v))
	e.f64s(v)
}

func (e *E) f64s(v []float64) {
	for part := range e.parts(len(v), 8) {
		for i, f := range v[part.from:part.to] {
			binary.LittleEndian.PutUint64(part.b[8*i:], math.Float64bits(f))
		}
	}
}

// F32s appends numbers after their count.
func (e *E) F32s(v []float32) {
	e.count(len(v))
	e.f32s(v)
}

func (e *E) f32s(v []float32) {
	for part := range e.parts(len(v), 4) {
		for i, f := range v[part.from:part.to] {
			binary.LittleEndian.PutUint32(part.b[4*i:], math.Float32bits(f))
		}
	}
}

// part is the space for the numbers from … to-1 of a list.
type part struct {
	from, to int
	b        []byte
}

// parts yields space for a list of n numbers of size bytes: all at once, or, with a
// writer, chunk by chunk.
func (e *E) parts(n, size int) iter.Seq[part] {
	return func(yield func(part) bool) {
		for from := 0; from < n; {
			to := n
			if e.to != nil {
				to = min(n, from+chunkBytes/size)
			}
			if !yield(part{from, to, e.Room(size * (to - from))}) {
				return
			}
			e.drain()
			from = to
		}
	}
}

// I64s appends numbers after their count.
func (e *E) I64s(v []int64) {
	e.count(len(v))
	e.i64s(v)
}

func (e *E) i64s(v []int64) {
	for part := range e.parts(len(v), 8) {
		for i, f := range v[part.from:part.to] {
			binary.LittleEndian.PutUint64(part.b[8*i:], uint64(f))
		}
	}
}

// Room appends n bytes for the caller to fill.
func (e *E) Room(n int) []byte {
	have := len(e.B)
	e.B = slices.Grow(e.B, n)[:have+n]
	return e.B[have:]
}

// Strs appends strings after their count.
func (e *E) Strs(v []string) {
	e.count(len(v))
	for _, s := range v {
		e.Str(s)
	}
}

// Type appends a SQL type. Record shapes are not encoded: no model has them.
func (e *E) Type(t types.Type) {
	e.U32(uint32(t.OID))
	e.U32(uint32(t.Mod))
	e.U8(t.Prec)
	e.U8(t.Scale)
}

// D decodes what E encoded.
type D struct {
	b      []byte
	size   int // of the whole input
	bad    bool
	charge func(bytes int64) error
	owed   int64 // not charged yet
	err    error // of charge
}

// Read returns a D over b, which must not change while byte slices or strings of it are
// in use.
func Read(b []byte) *D { return &D{b: b, size: len(b)} }

// ReadWithin is Read with a charge for the memory of decoded values before they are
// allocated. Done returns an error of charge.
func ReadWithin(b []byte, charge func(bytes int64) error) *D {
	return &D{b: b, size: len(b), charge: charge}
}

const (
	// single is how many bytes of memory are charged for each encoded byte outside of
	// lists: structs have padding, and their slices spare capacity.
	single = 4
	// header is what a string takes besides its bytes: in a slice, and in a map.
	header = 64
)

// owe charges n bytes; small amounts are collected and charged later.
func (d *D) owe(n int) {
	if d.charge == nil {
		return
	}
	if d.owed += int64(n); d.owed < 64<<10 && n < 64<<10 {
		return
	}
	if err := d.charge(d.owed); err != nil && d.err == nil {
		d.err = err
		d.Fail()
	}
	d.owed = 0
}

// take returns the next n bytes, or nil after a fault.
func (d *D) take(n int) []byte {
	if d.bad || n < 0 || n > len(d.b) {
		d.bad, d.b = true, nil
		return nil
	}
	v := d.b[:n]
	d.b = d.b[n:]
	return v
}

// one is take for a single value.
func (d *D) one(n int) []byte {
	d.owe(single * n)
	return d.take(n)
}

// U8, U32, U64, I64, Int and F64 read one number.
func (d *D) U8() uint8 {
	if v := d.one(1); v != nil {
		return v[0]
	}
	return 0
}

func (d *D) U32() uint32 {
	if v := d.one(4); v != nil {
		return binary.LittleEndian.Uint32(v)
	}
	return 0
}

func (d *D) U64() uint64 {
	if v := d.one(8); v != nil {
		return binary.LittleEndian.Uint64(v)
	}
	return 0
}

func (d *D) I64() int64   { return int64(d.U64()) }
func (d *D) Int() int     { return int(d.I64()) }
func (d *D) F64() float64 { return math.Float64frombits(d.U64()) }

// Bool reads a truth value; a byte that is neither 0 nor 1 is a fault, since encodings
// are unique.
func (d *D) Bool() bool {
	v := d.U8()
	d.bad = d.bad || v > 1
	return v == 1
}

// Count reads a length of a list whose members take at least size bytes each,
// so that a huge length is a fault before anything is allocated.
func (d *D) Count(size int) int {
	n := int(d.U32())
	if n*max(size, 1) > len(d.b) {
		d.bad, d.b = true, nil
		return 0
	}
	return n
}

// Str reads a string.
func (d *D) Str() string {
	n := d.Count(1)
	d.owe(n + header)
	return string(d.take(n))
}

// Bytes reads bytes; they alias the input.
func (d *D) Bytes() []byte { return d.take(d.Count(1)) }

// Take reads n bytes; nil where there are fewer.
func (d *D) Take(n int) []byte { return d.take(n) }

// Ahead returns the remaining bytes, which Take would read.
func (d *D) Ahead() []byte { return d.b }

// Left returns how many bytes remain.
func (d *D) Left() int { return len(d.b) }

// F64s reads numbers; nil for none.
func (d *D) F64s() []float64 {
	n := d.Count(8)
	if n == 0 {
		return nil
	}
	b := d.list(n, 8)
	v := make([]float64, len(b)/8)
	for i := range v {
		v[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return v
}

// F32s reads numbers; nil for none.
func (d *D) F32s() []float32 {
	n := d.Count(4)
	if n == 0 {
		return nil
	}
	b := d.list(n, 4)
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}

// I64s reads numbers; nil for none.
func (d *D) I64s() []int64 {
	n := d.Count(8)
	if n == 0 {
		return nil
	}
	b := d.list(n, 8)
	v := make([]int64, len(b)/8)
	for i := range v {
		v[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return v
}

// list is take for n numbers of size bytes, whose decoded list is charged; nil where
// that fails.
func (d *D) list(n, size int) []byte {
	d.owe(n * size)
	return d.take(n * size)
}

// Strs reads strings; nil for none.
func (d *D) Strs() []string {
	n := d.Count(4)
	if n == 0 {
		return nil
	}
	v := make([]string, n)
	for i := range v {
		v[i] = d.Str()
	}
	return v
}

// Type reads a SQL type.
func (d *D) Type() types.Type {
	return types.Type{OID: types.OID(d.U32()), Mod: int32(d.U32()), Prec: d.U8(), Scale: d.U8()}
}

// Fail marks the input as malformed: an impossible value was read.
func (d *D) Fail() { d.bad, d.b = true, nil }

// OK reports whether no fault was met so far.
func (d *D) OK() bool { return !d.bad }

// Done returns an error for a fault, or for bytes left over. what names the decoded
// thing.
func (d *D) Done(what string) error {
	if d.err != nil {
		return d.err
	}
	if d.bad || len(d.b) > 0 {
		return pgerr.New(pgerr.DataCorrupted, "invalid encoding of %s", what)
	}
	return nil
}
