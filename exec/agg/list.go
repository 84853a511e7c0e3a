package agg

import (
	"math/bits"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Lister is an Agg that adds rows group by group, where a batch has few groups: the state stays in
// registers, and rows are read in place.
type Lister interface {
	// UpdateList adds rows of args to group g: all of them if rows is nil. n is
	// their number, which count(*) cannot see from its arguments.
	UpdateList(g uint32, rows []int32, n int, args []arrow.Array) error
}

// UpdateList implements Lister.
func (c *count) UpdateList(g uint32, rows []int32, n int, args []arrow.Array) error {
	if c.star || args[0].NullN() == 0 && args[0].DataType().ID() != arrow.NULL {
		c.n[g] += int64(n)
		return nil
	}
	k := int64(0)
	switch {
	case args[0].DataType().ID() == arrow.NULL:
	case rows == nil:
		k = int64(args[0].Len() - args[0].NullN())
	default:
		valid := bitsOf(args[0])
		for _, r := range rows {
			k += int64(valid.at(int(r)))
		}
	}
	c.n[g] += k
	return nil
}

// UpdateList implements Lister.
func (s *intSum) UpdateList(g uint32, rows []int32, n int, args []arrow.Array) error {
	switch a := args[0].(type) {
	case *array.Int64:
		sumList(s, g, rows, a.Int64Values(), a)
	case *array.Int32:
		sumList(s, g, rows, a.Int32Values(), a)
	case *array.Int16:
		sumList(s, g, rows, a.Int16Values(), a)
	default:
		return pgerr.Internal("sum of %s", args[0].DataType())
	}
	return nil
}

// sumList adds in 64 bits, tracking the magnitude of values; only where the sum may have overflowed
// it is computed again in 128.
func sumList[T int16 | int32 | int64](s *intSum, g uint32, rows []int32, vals []T, arr arrow.Array) {
	if rows == nil {
		batch.ValidRuns(arr, func(from, to int) { sumRun(s, g, vals[from:to]) })
		return
	}
	if arr.NullN() > 0 {
		sumListNull(s, g, rows, vals, bitsOf(arr))
		return
	}
	var sum, large int64
	for _, r := range rows {
		x := int64(vals[r])
		sum += x
		large |= x ^ x>>63
	}
	if !s.fits(g, sum, large, len(rows)) {
		var lo uint64
		var hi int64
		for _, r := range rows {
			x := int64(vals[r])
			lo += uint64(uint32(x))
			hi += x >> 32
		}
		s.addHalves(g, lo, hi, len(rows))
	}
}

// sumListNull adds the values that are not NULL, taking 0 for the others.
func sumListNull[T int16 | int32 | int64](s *intSum, g uint32, rows []int32, vals []T, valid validBits) {
	var sum, large, n int64
	for _, r := range rows {
		k := int64(valid.at(int(r)))
		x := int64(vals[r]) & -k
		sum += x
		large |= x ^ x>>63
		n += k
	}
	if !s.fits(g, sum, large, int(n)) {
		for _, r := range rows {
			if valid.at(int(r)) != 0 {
				s.add(g, int64(vals[r]), 1)
			}
		}
	}
}

func sumRun[T int16 | int32 | int64](s *intSum, g uint32, vals []T) {
	var sum, large int64
	for _, v := range vals {
		x := int64(v)
		sum += x
		large |= x ^ x>>63
	}
	if !s.fits(g, sum, large, len(vals)) {
		var lo uint64
		var hi int64
		for _, v := range vals {
			lo += uint64(uint32(v))
			hi += int64(v) >> 32
		}
		s.addHalves(g, lo, hi, len(vals))
	}
}

// addHalves adds the sum of n values, of which lo is the sum of their lower 32 bits, and hi of what is above.
func (s *intSum) addHalves(g uint32, lo uint64, hi int64, n int) {
	low, carry := bits.Add64(uint64(hi)<<32, lo, 0)
	s.add(g, int64(low), int64(n))
	s.addHigh(g, hi>>32+int64(carry)-int64(low)>>63)
}

// fits adds the sum of n values, of which large has the bits of all magnitudes, if
// 64 bits were enough for it.
func (s *intSum) fits(g uint32, sum, large int64, n int) bool {
	if bits.Len64(uint64(large))+bits.Len(uint(n)) > 63 {
		return false
	}
	s.add(g, sum, int64(n))
	return true
}

// UpdateList implements Lister.
func (s *floatSum) UpdateList(g uint32, rows []int32, n int, args []arrow.Array) error {
	switch a := args[0].(type) {
	case *array.Float64:
		eachValid(rows, a, func(rows []int32) { exact.AddList(&s.s, g, rows, a.Float64Values()) })
	case *array.Float32:
		eachValid(rows, a, func(rows []int32) { exact.AddList(&s.s, g, rows, a.Float32Values()) })
	default:
		return pgerr.Internal("sum of %s", args[0].DataType())
	}
	return nil
}

// UpdateList implements Lister.
func (v *floatVariance) UpdateList(g uint32, rows []int32, n int, args []arrow.Array) error {
	switch a := args[0].(type) {
	case *array.Float64:
		eachValid(rows, a, func(rows []int32) { exact.AddSquaresList(&v.s, g, rows, a.Float64Values()) })
	case *array.Float32:
		eachValid(rows, a, func(rows []int32) { exact.AddSquaresList(&v.s, g, rows, a.Float32Values()) })
	default:
		return pgerr.Internal("variance of %s", args[0].DataType())
	}
	return nil
}

// eachValid calls f with the rows that are not NULL, nil for all, in lists as long as possible: the
// runs between NULLs are short, and a long list is added several values at once.
func eachValid(rows []int32, arr arrow.Array, f func(rows []int32)) {
	if arr.NullN() == 0 {
		f(rows)
		return
	}
	var block [validBlock]int32
	valid, k := bitsOf(arr), 0
	n := len(rows)
	if rows == nil {
		n = arr.Len()
	}
	for i := range n {
		r := int32(i)
		if rows != nil {
			r = rows[i]
		}
		block[k] = r
		if k += valid.at(int(r)); k == validBlock {
			f(block[:])
			k = 0
		}
	}
	if k > 0 {
		f(block[:k])
	}
}

// validBlock is how many rows of values are listed at a time.
const validBlock = 1024

// UpdateList implements Lister.
func (e *fixedExtreme[T]) UpdateList(g uint32, rows []int32, n int, args []arrow.Array) error {
	vals := e.vals(args[0])
	if rows == nil {
		batch.ValidRuns(args[0], func(from, to int) {
			e.put(g, vals[from])
			best := e.v[g]
			for _, x := range vals[from:to] {
				if e.better(x, best) {
					best = x
				}
			}
			e.v[g] = best
		})
		return nil
	}
	valid := bitsOf(args[0])
	for !e.has[g] && len(rows) > 0 {
		if valid.at(int(rows[0])) != 0 {
			e.put(g, vals[rows[0]])
		}
		rows = rows[1:]
	}
	if len(rows) == 0 {
		return nil
	}
	best := e.v[g]
	for _, r := range rows {
		// Few values are better than the best so far: whether they are NULL is asked last.
		if x := vals[r]; e.better(x, best) && valid.at(int(r)) != 0 {
			best = x
		}
	}
	e.v[g] = best
	return nil
}
