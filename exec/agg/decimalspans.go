package agg

import (
	"math/bits"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/sql/checked"
	"github.com/tributarydb/tributary/sql/number"
)

// spanScales are the most scales of the values that spans are summed of.
const spanScales = 4

// UpdateSpans implements Spanner. A sum has the greatest scale of its own values, not of those around them.
func (s *decimalSum) UpdateSpans(spans [][2]int32, args []arrow.Array) bool {
	a, ok := args[0].(*array.Binary)
	if !ok {
		return false
	}
	lo, hi := bounds(spans)
	coefs, of := make([]int64, hi-lo), make([]int32, hi-lo)
	var scales []int32 // that are there
	for i := range coefs {
		if of[i] = -1; a.IsNull(int(lo) + i) {
			continue
		}
		high, low, scale, ok := number.WideDecimalBytes(a.Value(int(lo) + i))
		if !ok || high != int64(low)>>63 {
			return false
		}
		coefs[i], of[i] = int64(low), scale
		if !slices.Contains(scales, scale) {
			if scales = append(scales, scale); len(scales) > spanScales {
				return false
			}
		}
	}
	if len(scales) == 0 {
		return true
	}
	slices.SortFunc(scales, func(a, b int32) int { return int(b - a) })
	if scales[0] < 0 || int(scales[0]) >= len(checked.Pow10)-1 {
		return false
	}
	sums := make([]int64, len(coefs)+1)
	var large int64
	for i, c := range coefs {
		if of[i] >= 0 {
			if c, ok = checked.Mul(c, int64(checked.Pow10[scales[0]-of[i]])); !ok {
				return false
			}
		}
		sums[i+1] = sums[i] + c
		large |= c ^ c>>63
	}
	if bits.Len64(uint64(large))+bits.Len32(uint32(len(coefs))) > 62 {
		return false
	}
	counts := make([][]int32, len(scales)) // of the values of a scale before a row
	for k, scale := range scales {
		counts[k] = make([]int32, len(coefs)+1)
		for i, x := range of {
			counts[k][i+1] = counts[k][i]
			if x == scale {
				counts[k][i+1]++
			}
		}
	}
	for g, x := range spans {
		from, to := x[0]-lo, x[1]-lo
		sum := sums[to] - sums[from]
		for k, scale := range scales {
			n := counts[k][to] - counts[k][from]
			if s.x[g].n == 0 && n > 0 { // the greatest: all digits beyond it are zeros
				s.scale[g] = scale
				sum /= int64(checked.Pow10[scales[0]-scale])
			}
			s.x[g].n += int64(n)
		}
		s.x[g].hi, s.x[g].lo = sum>>63, uint64(sum)
	}
	return true
}
