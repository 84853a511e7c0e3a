package compare

import (
	"bytes"
	"cmp"
	"math"
	"math/bits"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/checked"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// compareFixed compares a fixed numeric with one that is represented as bytes. Where the latter
// repeats from row to row, as an average that all rows are compared with, it is converted to the
// scale of the former once.
func compareFixed(op CmpOp, fixed, plain types.Type) function.Impl {
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		ints, a, b := vector.IntReader(args[0]), vector.DecimalReader(args[0], fixed), vector.DecimalReader(args[1], plain)
		out := vector.Alloc[uint8](c.Arena, c.N)
		var last []byte
		var bound scaled
		tried := false
		for i := range out {
			if c.Skip(i) {
				continue
			}
			at := args[1].Bytes(i)
			if !bytes.Equal(at, last) {
				last = at
				bound = shortScaled(at, fixed.Scale)
				tried = bound.ok
			} else if !tried {
				tried, bound = true, scaledOf(b(i), int32(fixed.Scale))
			}
			v := ints(i)
			if bound.ok {
				out[i] = vector.ByteOf(op.Holds(bound.against(v)))
				continue
			}
			if sign, known := number.SignOfBytes(at); known && cmp.Compare(v, 0) != sign { // as most are of 0
				out[i] = vector.ByteOf(op.Holds(cmp.Compare(cmp.Compare(v, 0), sign)))
				continue
			}
			out[i] = vector.ByteOf(op.Holds(a(i).Cmp(b(i))))
		}
		return vector.NewBool(out, c.Valid), nil
	}
}

// scaled is a number in units of a scale: the whole units, and whether there is a remainder.
type scaled struct {
	floor    int64
	more, ok bool
}

// scaledOf converts d to a scale; the result is not ok if it is no int64.
func scaledOf(d number.Decimal, scale int32) scaled {
	whole := d.Trunc(scale)
	v, ok := whole.Coefficient(scale)
	more := ok && whole.Cmp(d) != 0
	if more && d.Sign() < 0 {
		if v--; v > 0 {
			return scaled{}
		}
	}
	return scaled{v, more, ok}
}

// shortScaled is scaledOf of a decimal in a word or two, of at least the scale; of others the result is not ok.
func shortScaled(b []byte, scale uint8) scaled {
	v, own, ok := number.SmallDecimalBytes(b)
	if !ok {
		return longScaled(b, scale)
	}
	more := own - int32(scale)
	if more < 0 || more > 18 {
		return scaled{}
	}
	floor, rest := checked.FloorDiv(v, int64(checked.Pow10[more]))
	return scaled{floor, rest != 0, true}
}

// longScaled is shortScaled of two words, as averages have.
func longScaled(b []byte, scale uint8) scaled {
	w, ok := number.WideOf(b)
	negative, hi, lo, own := w.Words()
	more := own - int32(scale)
	if !ok || more < 0 || more > 19 || hi >= checked.Pow10[more] {
		return scaled{}
	}
	whole, rest := bits.Div64(hi, lo, checked.Pow10[more])
	if whole > math.MaxInt64 {
		return scaled{}
	}
	floor := int64(whole)
	if negative {
		if floor = -floor; rest != 0 {
			floor--
		}
	}
	return scaled{floor, rest != 0, true}
}

// against returns the three-way comparison of v units with s.
func (s *scaled) against(v int64) int {
	if v == s.floor && s.more {
		return -1
	}
	return cmp.Compare(v, s.floor)
}
