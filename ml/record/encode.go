package record

import (
	"encoding/binary"
	"math"
	"slices"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/tempfile"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// groupRows is how many rows are turned into records at a time: few enough that
// their records stay in the cache while column after column is written.
const groupRows = 256

var (
	le = binary.LittleEndian
	be = binary.BigEndian
)

// encoder turns groups of rows into records. It is scratch space of one shard.
type encoder struct {
	l     *Layout
	seed  uint64
	buf   []byte   // the group's records
	start []int    // of each row's record in buf; one more at the end
	data  [][]byte // values of the variable columns: column-major, groupRows each
	side  []byte   // bytes of normalised values that data refers to
	rows  []int32  // the rows of the group
	group [groupRows]int32
	vals  [][]float32
	keyed *Windows // records are hashed by their partition
	part  []byte
}

func newEncoder(l *Layout, seed uint64, w *Windows) *encoder {
	return &encoder{l: l, seed: seed, keyed: w, start: make([]int, groupRows+1), data: make([][]byte, len(l.vars)*groupRows)}
}

// measure makes selected rows [from, to) of b, at most groupRows, the current group,
// and returns the size of its records.
func (e *encoder) measure(b *batch.Batch, from, to int) (int, error) {
	n := to - from
	e.rows = e.group[:n]
	if b.Sel != nil {
		copy(e.rows, b.Sel[from:to])
	} else {
		for i := range e.rows {
			e.rows[i] = int32(from + i)
		}
	}
	e.side = e.side[:0]
	for v, c := range e.l.vars {
		if err := e.variable(e.data[v*groupRows:][:n], b.Cols[c], c, e.rows); err != nil {
			return 0, err
		}
	}
	at := 0
	for i := range n {
		e.start[i] = at
		at += e.l.fixed
		for v := range e.l.vars {
			at += len(e.data[v*groupRows+i])
		}
		at = (at + 7) &^ 7
	}
	e.start[n] = at
	return at, nil
}

// write writes the group's records to buf, zeros of the size that measure gave.
func (e *encoder) write(b *batch.Batch, buf []byte) error {
	e.buf = buf
	rows := e.rows
	quick := b.Sel == nil && len(e.l.vars) == 0
	if quick {
		for _, run := range e.l.runs {
			e.floats(b, run, rows)
		}
	}
	for c := range e.l.Cols {
		if !quick || e.l.classes[c] != classF32 {
			if err := e.column(b.Cols[c], c, rows); err != nil {
				return err
			}
		}
		if e.nulls(b.Cols[c], c, rows) && e.keyed != nil {
			switch {
			case slices.Contains(e.keyed.Order, c):
				return errOrderNull(e.l.Cols[c])
			case e.keyed.Whole && slices.Contains(e.keyed.Partition, c):
				return errPartitionNull(e.l.Cols[c])
			}
		}
	}
	for i := range rows {
		rec := e.buf[e.start[i]:e.start[i+1]]
		at := e.l.fixed
		for v := range e.l.vars {
			at += copy(rec[at:], e.data[v*groupRows+i])
		}
		hashed := rec[block.HashBytes:]
		if e.keyed != nil {
			e.part = e.l.partitionKey(e.part[:0], rec, e.keyed.Partition)
			hashed = e.part
		}
		hi, lo := hash128(hashed, e.seed)
		be.PutUint64(rec, hi)
		be.PutUint64(rec[8:], lo)
	}
	return nil
}

// floats writes the slots of a run of float4 columns, of records of one length.
func (e *encoder) floats(b *batch.Batch, run []int, rows []int32) {
	e.vals = e.vals[:0]
	for _, c := range run {
		e.vals = append(e.vals, b.Cols[c].(*array.Float32).Float32Values())
	}
	at, stride := e.l.at[run[0]]/4, e.l.fixed/4
	slots := tempfile.Numbers[float32](e.buf)
	i, first := 0, int(rows[0])
	for ; i+f64.Lanes <= len(rows); i += f64.Lanes {
		f64.Scatter32(slots[i*stride+at:], stride, e.vals, first+i)
	}
	for ; i < len(rows); i++ {
		for j, v := range e.vals {
			slots[i*stride+at+j] = f64.Canonical32(v[first+i])
		}
	}
}

// column writes the slots of one column.
func (e *encoder) column(arr arrow.Array, c int, rows []int32) error {
	at := e.l.at[c]
	switch k := e.l.classes[c]; {
	case k == classF64:
		vals := arr.(*array.Float64).Float64Values()
		base := unsafe.Pointer(unsafe.SliceData(e.buf))
		for i, r := range rows {
			v := vals[r] + 0 // -0 becomes 0
			if v != v {
				v = math.NaN()
			}
			*(*float64)(unsafe.Add(base, e.start[i]+at)) = v
		}
	case k == classF32:
		vals := arr.(*array.Float32).Float32Values()
		base := unsafe.Pointer(unsafe.SliceData(e.buf))
		for i, r := range rows {
			*(*float32)(unsafe.Add(base, e.start[i]+at)) = f64.Canonical32(vals[r])
		}
	case k == classI64:
		vals, err := int64s(arr)
		if err != nil {
			return err
		}
		for i, r := range rows {
			le.PutUint64(e.buf[e.start[i]+at:], uint64(vals[r]))
		}
	case k == classI32:
		switch a := arr.(type) {
		case *array.Int32:
			for i, r := range rows {
				le.PutUint32(e.buf[e.start[i]+at:], uint32(a.Value(int(r))))
			}
		case *array.Date32:
			for i, r := range rows {
				le.PutUint32(e.buf[e.start[i]+at:], uint32(a.Value(int(r))))
			}
		default:
			return errUnexpectedArray(arr, e.l.Cols[c])
		}
	case k == classU32:
		a, ok := arr.(*array.Uint32)
		if !ok {
			return errUnexpectedArray(arr, e.l.Cols[c])
		}
		for i, r := range rows {
			le.PutUint32(e.buf[e.start[i]+at:], a.Value(int(r)))
		}
	case k == classI16:
		vals := arr.(*array.Int16).Int16Values()
		for i, r := range rows {
			le.PutUint16(e.buf[e.start[i]+at:], uint16(vals[r]))
		}
	case k == classBool:
		a := arr.(*array.Boolean)
		for i, r := range rows {
			if a.Value(int(r)) {
				e.buf[e.start[i]+at] = 1
			}
		}
	default:
		for v, vc := range e.l.vars {
			if vc == c {
				for i := range rows {
					le.PutUint32(e.buf[e.start[i]+at:], uint32(len(e.data[v*groupRows+i])))
				}
			}
		}
	}
	return nil
}

// nulls sets the NULL bits of one column, and its slots there to zeros. It reports
// whether there are any.
func (e *encoder) nulls(arr arrow.Array, c int, rows []int32) (any bool) {
	if arr.NullN() == 0 {
		return false
	}
	at, w := e.l.at[c], e.l.classes[c].width()
	for i, r := range rows {
		if arr.IsNull(int(r)) {
			rec := e.buf[e.start[i]:]
			clear(rec[at : at+w])
			rec[nullsAt+c>>3] |= 1 << (c & 7)
			any = true
		}
	}
	return any
}

// variable finds the bytes of the values of a variable column.
func (e *encoder) variable(out [][]byte, arr arrow.Array, c int, rows []int32) error {
	switch e.l.classes[c] {
	case classText:
		s := batch.StringsOf(arr)
		for i, r := range rows {
			out[i] = nil
			if !s.IsNull(int(r)) {
				out[i] = bytesOfString(s.Value(int(r)))
			}
		}
	case classBytes:
		a := arr.(*array.Binary)
		for i, r := range rows {
			out[i] = nil
			if !a.IsNull(int(r)) {
				out[i] = a.Value(int(r))
			}
		}
	case classFixed:
		a := arr.(*array.FixedSizeBinary)
		for i, r := range rows {
			out[i] = nil
			if !a.IsNull(int(r)) {
				out[i] = a.Value(int(r))
			}
		}
	case classNumeric:
		a := arr.(*array.Binary)
		for i, r := range rows {
			out[i] = nil
			if !a.IsNull(int(r)) {
				from := len(e.side)
				e.side = number.NormalizeDecimalBytes(e.side, a.Value(int(r)))
				out[i] = e.side[from:len(e.side):len(e.side)]
			}
		}
	case classArray:
		a := arr.(*array.List)
		elem, _ := e.l.Cols[c].Type.Elem()
		for i, r := range rows {
			out[i] = nil
			if a.IsNull(int(r)) {
				continue
			}
			lo, hi := a.ValueOffsets(int(r))
			from := len(e.side)
			for j := lo; j < hi; j++ {
				v, null, err := numberAt(a.ListValues(), elem, int(j))
				if err != nil {
					return err
				}
				if null {
					return pgerr.New(pgerr.NullValueNotAllowed, "an array in column %q contains a NULL", e.l.Cols[c].Name).OnColumn(e.l.Cols[c].Name)
				}
				e.side = le.AppendUint64(e.side, math.Float64bits(v+0))
			}
			out[i] = e.side[from:len(e.side):len(e.side)]
		}
	}
	return nil
}

// numberAt returns row i of a numeric column of type t as a float64.
func numberAt(arr arrow.Array, t types.Type, i int) (v float64, null bool, err error) {
	if arr.IsNull(i) {
		return 0, true, nil
	}
	switch a := arr.(type) {
	case *array.Float64:
		return a.Value(i), false, nil
	case *array.Float32:
		return float64(a.Value(i)), false, nil
	case *array.Int64:
		if t.IsFixed() {
			return FixedFloat(a.Value(i), t.Scale), false, nil
		}
		return float64(a.Value(i)), false, nil
	case *array.Int32:
		return float64(a.Value(i)), false, nil
	case *array.Int16:
		return float64(a.Value(i)), false, nil
	case *array.Binary:
		d, err := number.DecodeDecimal(a.Value(i))
		return d.Float64(), false, err
	}
	return 0, false, errUnexpectedArray(arr, Column{Type: t})
}

var pow10 = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18}

// FixedFloat is the value of a fixed numeric as a float64.
func FixedFloat(v int64, scale uint8) float64 { return float64(v) / pow10[scale] }

func int64s(arr arrow.Array) ([]int64, error) {
	switch a := arr.(type) {
	case *array.Int64:
		return a.Int64Values(), nil
	case *array.Timestamp:
		return arrow.Int64Traits.CastFromBytes(arrow.TimestampTraits.CastToBytes(a.TimestampValues())), nil
	case *array.Time64:
		return arrow.Int64Traits.CastFromBytes(arrow.Time64Traits.CastToBytes(a.Time64Values())), nil
	}
	return nil, errUnexpectedArray(arr, Column{})
}

func errUnexpectedArray(arr arrow.Array, c Column) error {
	return pgerr.Internal("training column %q of type %d came as %s", c.Name, c.Type.OID, arr.DataType())
}

func bytesOfString(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
