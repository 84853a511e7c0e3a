package canon

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// E appends values to B. The zero value is ready.
type E struct{ B []byte }

// U8 and its siblings append one number.
func (e *E) U8(v uint8)    { e.B = append(e.B, v) }
func (e *E) U32(v uint32)  { e.B = binary.LittleEndian.AppendUint32(e.B, v) }
func (e *E) U64(v uint64)  { e.B = binary.LittleEndian.AppendUint64(e.B, v) }
func (e *E) I64(v int64)   { e.U64(uint64(v)) }
func (e *E) Int(v int)     { e.I64(int64(v)) }
func (e *E) F64(v float64) { e.U64(math.Float64bits(v)) }

// Bool appends a truth value as one byte.
func (e *E) Bool(v bool) {
	if v {
		e.U8(1)
	} else {
		e.U8(0)
	}
}

// Str appends a string after its length.
func (e *E) Str(v string) { e.U32(uint32(len(v))); e.B = append(e.B, v...) }

// Bytes appends bytes after their length.
func (e *E) Bytes(v []byte) { e.U32(uint32(len(v))); e.B = append(e.B, v...) }

// F64s appends numbers after their count.
func (e *E) F64s(v []float64) {
	e.U32(uint32(len(v)))
	e.B = slices.Grow(e.B, 8*len(v))
	for _, f := range v {
		e.F64(f)
	}
}

// F32s appends numbers after their count.
func (e *E) F32s(v []float32) {
	e.U32(uint32(len(v)))
	e.B = slices.Grow(e.B, 4*len(v))
	for _, f := range v {
		e.U32(math.Float32bits(f))
	}
}

// I64s appends numbers after their count.
func (e *E) I64s(v []int64) {
	e.U32(uint32(len(v)))
	e.B = slices.Grow(e.B, 8*len(v))
	for _, f := range v {
		e.I64(f)
	}
}

// Strs appends strings after their count.
func (e *E) Strs(v []string) {
	e.U32(uint32(len(v)))
	for _, s := range v {
		e.Str(s)
	}
}

// Type appends a SQL type. Record shapes are not kept: no model has them.
func (e *E) Type(t types.Type) {
	e.U32(uint32(t.OID))
	e.U32(uint32(t.Mod))
	e.U8(t.Prec)
	e.U8(t.Scale)
}

// D reads what E wrote.
type D struct {
	b   []byte
	bad bool
}

// Read starts reading b, which must not change while strings of it are in use.
func Read(b []byte) *D { return &D{b: b} }

// take gives the next n bytes, or nil after a fault.
func (d *D) take(n int) []byte {
	if d.bad || n < 0 || n > len(d.b) {
		d.bad, d.b = true, nil
		return nil
	}
	v := d.b[:n]
	d.b = d.b[n:]
	return v
}

// U8 and its siblings read one number.
func (d *D) U8() uint8 {
	if v := d.take(1); v != nil {
		return v[0]
	}
	return 0
}

func (d *D) U32() uint32 {
	if v := d.take(4); v != nil {
		return binary.LittleEndian.Uint32(v)
	}
	return 0
}

func (d *D) U64() uint64 {
	if v := d.take(8); v != nil {
		return binary.LittleEndian.Uint64(v)
	}
	return 0
}

func (d *D) I64() int64   { return int64(d.U64()) }
func (d *D) Int() int     { return int(d.I64()) }
func (d *D) F64() float64 { return math.Float64frombits(d.U64()) }

// Bool reads a truth value; a byte that is neither 0 nor 1 is a fault, for the
// encoding is unique.
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
func (d *D) Str() string { return string(d.take(d.Count(1))) }

// Bytes reads bytes; they alias the input.
func (d *D) Bytes() []byte { return d.take(d.Count(1)) }

// Take reads n bytes; nil where there are fewer.
func (d *D) Take(n int) []byte { return d.take(n) }

// Rest gives what is left.
func (d *D) Rest() []byte { return d.take(len(d.b)) }

// F64s reads numbers; nil for none.
func (d *D) F64s() []float64 {
	n := d.Count(8)
	if n == 0 {
		return nil
	}
	v, b := make([]float64, n), d.take(8*n)
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
	v, b := make([]float32, n), d.take(4*n)
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
	v, b := make([]int64, n), d.take(8*n)
	for i := range v {
		v[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return v
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

// Fail marks the input as faulty: a value was read that cannot be.
func (d *D) Fail() { d.bad, d.b = true, nil }

// OK tells whether no fault was met so far.
func (d *D) OK() bool { return !d.bad }

// Varint reads a number as binary.AppendVarint writes it; a longer spelling of it
// is a fault.
func (d *D) Varint() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 || n > 1 && d.b[n-1] == 0 {
		d.Fail()
		return 0
	}
	d.b = d.b[n:]
	return v
}

// Done reports a fault, or bytes that were left over. what names the thing.
func (d *D) Done(what string) error {
	if d.bad || len(d.b) > 0 {
		return pgerr.New(pgerr.DataCorrupted, "invalid encoding of %s", what)
	}
	return nil
}
