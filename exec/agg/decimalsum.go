package agg

import (
	"encoding/binary"
	"math/bits"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// decimalSum is sum and avg of variable numerics. Values of up to 120 bits are added in 128, at the
// greatest scale so far; all others, and sums that 128 bits do not hold, are added to over.
type decimalSum struct {
	mean  bool
	x     []wideSum
	scale []int32
	over  []number.Decimal // nil until it is needed
}

func (s *decimalSum) Resize(groups int) {
	s.x = grown(s.x, groups)
	s.scale = grown(s.scale, groups)
	if s.over != nil {
		s.over = grown(s.over, groups)
	}
}

func (s *decimalSum) Update(groups []uint32, args []arrow.Array) error {
	a, ok := args[0].(*array.Binary)
	if !ok {
		return pgerr.Internal("sum of %s", args[0].DataType())
	}
	for i, g := range groups {
		if a.IsNull(i) {
			continue
		}
		if err := s.addBytes(g, a.Value(i), 1); err != nil {
			return err
		}
	}
	return nil
}

// addBytes adds the sum b of n values.
func (s *decimalSum) addBytes(g uint32, b []byte, n int64) error {
	s.x[g].n += n
	if hi, lo, scale, ok := number.WideDecimalBytes(b); ok {
		if done, err := s.put(g, hi, lo, scale); done || err != nil {
			return err
		}
	}
	d, err := number.DecodeDecimal(b)
	if err != nil {
		return err
	}
	return s.addWide(g, d)
}

func (s *decimalSum) addWide(g uint32, d number.Decimal) (err error) {
	if s.over == nil {
		s.over = make([]number.Decimal, len(s.scale))
	}
	s.over[g], err = s.over[g].Add(d)
	return err
}

// put adds hi·2^64 + lo at a scale to the words; it reports whether they have room for it.
func (s *decimalSum) put(g uint32, hi int64, lo uint64, scale int32) (bool, error) {
	switch d := scale - s.scale[g]; {
	case d > 0:
		h, l, ok := times10(s.x[g].hi, s.x[g].lo, d)
		if !ok {
			if err := s.flush(g); err != nil {
				return false, err
			}
			h, l = 0, 0
		}
		s.x[g].hi, s.x[g].lo, s.scale[g] = h, l, scale
	case d < 0:
		var ok bool
		if hi, lo, ok = times10(hi, lo, -d); !ok {
			return false, nil
		}
	}
	s.x[g].merge(wide{lo, hi})
	if roomy(s.x[g].hi) {
		return true, nil
	}
	return true, s.flush(g)
}

// roomy reports whether 128 bits hold the sum of two numbers with such high words.
func roomy(hi int64) bool { return hi>>62 == hi>>63 }

// flush moves the words of a group to over.
func (s *decimalSum) flush(g uint32) error {
	err := s.addWide(g, s.x[g].decimal(s.scale[g]))
	s.x[g].hi, s.x[g].lo = 0, 0
	return err
}

// times10 returns the number times 10^n, and whether it stays roomy.
func times10(hi int64, lo uint64, n int32) (int64, uint64, bool) {
	if hi|int64(lo) == 0 {
		return 0, 0, true
	}
	if n > 18 {
		return 0, 0, false
	}
	p := uint64(1)
	for range n {
		p *= 10
	}
	neg := hi < 0
	h := uint64(hi)
	if neg {
		var b uint64
		lo, b = bits.Sub64(0, lo, 0)
		h, _ = bits.Sub64(0, h, b)
	}
	over, low := bits.Mul64(lo, p)
	top, mid := bits.Mul64(h, p)
	mid, c := bits.Add64(mid, over, 0)
	if top+c != 0 || mid>>62 != 0 {
		return 0, 0, false
	}
	if neg {
		var b uint64
		low, b = bits.Sub64(0, low, 0)
		mid, _ = bits.Sub64(0, mid, b)
	}
	return int64(mid), low, true
}

// value returns the sum of a group.
func (s *decimalSum) value(g int) (number.Decimal, error) {
	d := s.x[g].decimal(s.scale[g])
	if s.over == nil {
		return d, nil
	}
	return d.Add(s.over[g])
}

func (s *decimalSum) MergeStates(groups []uint32, states *array.Binary) error {
	for g, state := range stored(groups, states) {
		n, rest, err := getU64(state)
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		if err := s.addBytes(g, rest, int64(n)); err != nil {
			return err
		}
	}
	return nil
}

// MergeFrom implements Merger.
func (s *decimalSum) MergeFrom(groups []uint32, from Agg, ids []uint32) error {
	o := from.(*decimalSum)
	for i, g := range groups {
		k := ids[i]
		s.x[g].n += o.x[k].n
		done, err := s.put(g, o.x[k].hi, o.x[k].lo, o.scale[k])
		if err == nil && !done {
			err = s.addWide(g, o.x[k].decimal(o.scale[k]))
		}
		if err == nil && o.over != nil {
			err = s.addWide(g, o.over[k])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *decimalSum) States(from, to int) (out arrow.Array, err error) {
	out = binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(s.x[g].n))
		if s.x[g].n == 0 {
			return dst, true
		}
		d, e := s.value(g)
		if e != nil {
			err = e
		}
		return d.AppendBinary(dst), true
	})
	return out, err
}

func (s *decimalSum) Results(from, to int) (arrow.Array, error) {
	return numericColumn(from, to, func(g int) bool { return s.x[g].n > 0 }, func(g int) (number.Decimal, error) {
		d, err := s.value(g)
		if err != nil || !s.mean {
			return d, err
		}
		return d.Div(number.DecimalFromInt64(s.x[g].n, 0))
	})
}

func (s *decimalSum) Bytes() int64 {
	return int64(cap(s.x))*24 + int64(cap(s.scale))*4 + int64(cap(s.over))*64
}
