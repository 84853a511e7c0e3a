package feature

import (
	"math"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// columns is a source over Arrow columns. It keeps scratch space and is for one
// goroutine.
type columns struct {
	cols  []arrow.Array
	typ   []types.Type
	buf   []byte
	dicts []dictCodes // by column
}

// dictCodes caches the codes of a dictionary's values. Batches of a segment share one dictionary.
type dictCodes struct {
	of    arrow.ArrayData
	rows  int     // that came with it
	codes []int32 // of its values, unknownCode until a row has one; nil: too few rows for a cache to pay
}

const unknownCode = math.MinInt32

// unknownCodes returns n codes that are not looked up yet.
func unknownCodes(n int) []int32 {
	codes := make([]int32, n)
	for i := range codes {
		codes[i] = unknownCode
	}
	return codes
}

// EncodeColumns makes the block of n rows to predict. cols are the columns of
// f.Cols, of their types.
func (f *Fitted) EncodeColumns(cols []arrow.Array, n int) (*block.Block, error) {
	return f.EncodeInto(nil, cols, n)
}

// EncodeInto is EncodeColumns into b, a block that it made before, which is
// overwritten; nil for a new one.
func (f *Fitted) EncodeInto(b *block.Block, cols []arrow.Array, n int) (*block.Block, error) {
	if len(cols) != len(f.Cols) {
		return nil, pgerr.Internal("a model of %d features was given %d columns", len(f.Cols), len(cols))
	}
	src := &columns{cols: cols}
	idx := make([]int, len(cols))
	for i := range f.Cols {
		src.typ = append(src.typ, f.Cols[i].Type)
		idx[i] = i
		if !carries(cols[i], f.Cols[i].Type) {
			return nil, pgerr.Internal("feature %q came as %s", f.Cols[i].Name, cols[i].DataType())
		}
	}
	if err := f.lengths(cols, n); err != nil {
		return nil, err
	}
	quick := f.newTiler(src)
	if b == nil {
		b = block.New(n, f.Dense, f.Codes, f.Narrow)
	} else {
		b.Reset(n, quick != nil)
	}
	f.fill(b, src, idx, quick, nil)
	return b, nil
}

// lengths returns an error for an array of another length than those of training.
func (f *Fitted) lengths(cols []arrow.Array, n int) error {
	for i := range f.Cols {
		c := &f.Cols[i]
		a, ok := cols[i].(*array.List)
		if !ok || c.Encoder != Array && c.Encoder != PlainArray && !c.Encoder.imputes() {
			continue
		}
		for r := range n {
			if lo, hi := a.ValueOffsets(r); !a.IsNull(r) && int(hi-lo) != c.Dim {
				return pgerr.New(pgerr.ArraySubscriptError, "an array of feature %q has %d elements, those that the model was trained on have %d", c.Name, hi-lo, c.Dim).OnColumn(c.Name)
			}
		}
	}
	return nil
}

// tiler encodes columns, each of which is one dense column, tile by tile: float4 to float32, or float8.
type tiler struct {
	cols        [][]float32
	wide        [][]float64
	plain       bool // no transform
	center, inv []float64
}

// newTiler returns nil where there are other columns, or NULLs.
func (f *Fitted) newTiler(s *columns) *tiler {
	if f.Codes > 0 || f.Dense != len(f.Cols) {
		return nil
	}
	t := &tiler{}
	for i, arr := range s.cols {
		switch a := arr.(type) {
		case *array.Float32:
			if !f.Narrow {
				return nil
			}
			t.cols = append(t.cols, a.Float32Values())
		case *array.Float64:
			if f.Narrow || f.Cols[i].Type.OID != types.Float8OID {
				return nil
			}
			t.wide = append(t.wide, a.Float64Values())
		default:
			return nil
		}
		if arr.NullN() > 0 {
			return nil
		}
	}
	for i := range f.Cols {
		switch f.Cols[i].Encoder {
		case Plain, Standard, MinMax, MaxAbs, Robust:
		default:
			return nil
		}
	}
	t.center, t.inv, t.plain = f.scales()
	return t
}

// fill writes rows [from, to) of b; where tiles are not whole, or a value is missing,
// it leaves zeros and returns false.
func (t *tiler) fill(b *block.Block, from, to int) bool {
	d, all := b.Dense, (to-from)%f64.Lanes == 0
	if t.wide != nil {
		return t.fillWide(b.X64[from*d:f64.Tiles(to)*f64.Lanes*d], from, to, d, all)
	}
	x := b.X32[from*d : f64.Tiles(to)*f64.Lanes*d]
	switch {
	case !all:
	case t.plain:
		all = f64.Tile32(x, t.cols, from, (to-from)/f64.Lanes)
	default:
		all = f64.TileScaled32(x, t.cols, from, (to-from)/f64.Lanes, t.center, t.inv)
	}
	if !all {
		clear(x)
	}
	return all
}

func (t *tiler) fillWide(x []float64, from, to, d int, all bool) bool {
	for j, col := range t.wide {
		all = all && f64.TileColumn64(x[j*f64.Lanes:], d, col[from:to])
	}
	switch {
	case !all:
		clear(x)
	case !t.plain:
		f64.Standardize(x, t.center, t.inv)
	}
	return all
}

// carries reports whether arr has the physical type of t.
func carries(arr arrow.Array, t types.Type) bool {
	if t.IsString() {
		switch a := arr.(type) {
		case *array.String:
			return true
		case *array.Dictionary:
			_, ok := a.Dictionary().(*array.String)
			return ok
		}
		return false
	}
	return arr.DataType().ID() == t.Arrow().ID() || t.IsNumber() && arr.DataType().ID() == arrow.FLOAT64
}

// Numbers implements source.
func (s *columns) Numbers(c, from int, dst []float64) (nulls int) {
	arr := s.cols[c]
	switch a := arr.(type) {
	case *array.Float64:
		canonicalize(dst, a.Float64Values()[from:])
		if a.NullN() == 0 {
			return 0
		}
	case *array.Float32:
		src, whole := a.Float32Values()[from:from+len(dst)], len(dst)&^(f64.Lanes-1)
		f64.Widen(dst, src[:whole])
		for i, v := range src[whole:] {
			dst[whole+i] = float64(v)
		}
	case *array.Int64:
		t := s.typ[c]
		for i, v := range a.Int64Values()[from : from+len(dst)] {
			if t.IsFixed() {
				dst[i] = record.FixedFloat(v, t.Scale)
			} else {
				dst[i] = float64(v)
			}
		}
	case *array.Int32:
		for i, v := range a.Int32Values()[from : from+len(dst)] {
			dst[i] = float64(v)
		}
	case *array.Int16:
		for i, v := range a.Int16Values()[from : from+len(dst)] {
			dst[i] = float64(v)
		}
	case *array.Date32:
		for i, v := range a.Date32Values()[from : from+len(dst)] {
			dst[i] = float64(v)
		}
	case *array.Timestamp:
		for i, v := range a.TimestampValues()[from : from+len(dst)] {
			dst[i] = float64(v)
		}
	case *array.Binary:
		for i := range dst {
			dst[i] = math.NaN()
			if !a.IsNull(from + i) {
				if d, err := number.DecodeDecimal(a.Value(from + i)); err == nil {
					dst[i] = d.Float64()
				}
			}
		}
	default:
		for i := range dst {
			dst[i] = math.NaN()
		}
	}
	if arr.NullN() > 0 {
		for i := range dst {
			if arr.IsNull(from + i) {
				dst[i] = math.NaN()
				nulls++
			}
		}
	}
	canonicalize(dst, dst)
	return nulls
}

// canonicalize sets dst to src, -0 being 0, as in training; infinities are missing, as NaN
// is.
func canonicalize(dst, src []float64) {
	for i, v := range src[:len(dst)] {
		if v-v != 0 {
			v = math.NaN()
		}
		dst[i] = v + 0
	}
}

// Bytes implements source. The bytes are valid until the next call.
func (s *columns) Bytes(c, i int) []byte {
	arr := s.cols[c]
	if arr.IsNull(i) {
		return nil
	}
	b := s.buf[:0]
	switch a := arr.(type) {
	case *array.Boolean:
		if a.Value(i) {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	case *array.Int16:
		b = le.AppendUint16(b, uint16(a.Value(i)))
	case *array.Int32:
		b = le.AppendUint32(b, uint32(a.Value(i)))
	case *array.Date32:
		b = le.AppendUint32(b, uint32(a.Value(i)))
	case *array.Int64:
		b = le.AppendUint64(b, uint64(a.Value(i)))
	case *array.Float32:
		b = le.AppendUint32(b, math.Float32bits(f64.Canonical32(a.Value(i))))
	case *array.Float64:
		v := a.Value(i) + 0 // -0 becomes 0
		if t := s.typ[c]; t.OID != types.Float8OID {
			b = appendKey(b, t, v)
			break
		}
		if v != v {
			v = math.NaN()
		}
		b = le.AppendUint64(b, math.Float64bits(v))
	case *array.Binary:
		b = number.NormalizeDecimalBytes(b, a.Value(i))
	case *array.FixedSizeBinary:
		b = append(b, a.Value(i)...)
	case *array.String, *array.Dictionary:
		b = append(b, batch.StringsOf(arr).Value(i)...)
	}
	if b == nil {
		b = []byte{}
	}
	s.buf = b
	return b
}

// appendKey appends the key of a number of type t that came as a float; of one that t does not have, the
// key is no category's.
func appendKey(b []byte, t types.Type, v float64) []byte {
	switch {
	case t.Form() == types.FormFloat32:
		return le.AppendUint32(b, math.Float32bits(f64.Canonical32(float32(v))))
	case isDecimal(t):
		if d, err := number.ParseDecimal(strconv.FormatFloat(v, 'g', -1, 64)); err == nil {
			return number.NormalizeDecimalBytes(b, d.AppendBinary(nil))
		}
		return b
	case t.IsFixed():
		v *= math.Pow10(int(t.Scale))
	}
	width := map[types.OID]int{types.Int2OID: 2, types.Int4OID: 4}[t.OID]
	if width == 0 {
		width = 8
	}
	if v = math.RoundToEven(v); !(math.Abs(v) < math.Ldexp(1, 8*width-1)) {
		return b
	}
	return append(b, le.AppendUint64(nil, uint64(int64(v)))[:width]...)
}

// remembered returns code(i) for rows with these values, from a small cache by value: most
// columns of integer categories have few and small values.
func remembered[T int16 | int32 | int64](a arrow.Array, values []T, code func(i int) int32) func(i int) int32 {
	var known [64]struct {
		value T
		code  int32
		seen  bool
	}
	nulls := a.NullN() > 0
	return func(i int) int32 {
		if nulls && a.IsNull(i) {
			return code(i)
		}
		v := values[i]
		k := &known[uint64(v)%uint64(len(known))]
		if !k.seen || k.value != v {
			k.value, k.code, k.seen = v, code(i), true
		}
		return k.code
	}
}

// codes implements coded: a value of a dictionary is looked up once, when the first row
// has it, also over several batches with one dictionary. find must be the same for all
// of them.
func (s *columns) codes(c int, find func([]byte) int32) func(i int) int32 {
	code := func(i int) int32 { return find(s.Bytes(c, i)) }
	var a *array.Dictionary
	switch arr := s.cols[c].(type) {
	case *array.Dictionary:
		a = arr
	case *array.Int16:
		return remembered(arr, arr.Int16Values(), code)
	case *array.Int32:
		return remembered(arr, arr.Int32Values(), code)
	case *array.Int64:
		return remembered(arr, arr.Int64Values(), code)
	default:
		return code
	}
	if s.dicts == nil {
		s.dicts = make([]dictCodes, len(s.cols))
	}
	dict := &s.dicts[c]
	if of := a.Data().Dictionary(); dict.of != of {
		*dict = dictCodes{of: of}
	}
	dict.rows += a.Len()
	d := batch.StringsOf(a)
	if dict.codes == nil {
		if d.Values.Len() > 4*dict.rows+64 {
			return code
		}
		dict.codes = unknownCodes(d.Values.Len())
	}
	known, null := dict.codes, find(nil)
	return func(i int) int32 {
		if a.IsNull(i) {
			return null
		}
		at := d.Index[i]
		if known[at] == unknownCode {
			s.buf = append(s.buf[:0], d.Values.Value(int(at))...)
			if s.buf == nil {
				s.buf = []byte{}
			}
			known[at] = find(s.buf)
		}
		return known[at]
	}
}

// Array implements source.
func (s *columns) Array(c, i int, dst []float64) ([]float64, bool) {
	a, ok := s.cols[c].(*array.List)
	if !ok || a.IsNull(i) {
		return dst, false
	}
	elem, _ := s.typ[c].Elem()
	lo, hi := a.ValueOffsets(i)
	in := &columns{cols: []arrow.Array{a.ListValues()}, typ: []types.Type{elem}}
	n := len(dst)
	for range hi - lo {
		dst = append(dst, 0)
	}
	in.Numbers(0, int(lo), dst[n:])
	return dst, true
}
