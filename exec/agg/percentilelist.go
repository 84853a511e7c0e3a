package agg

import (
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/sql/types"
)

// fractions reports whether a type is that of several fractions.
func fractions(t types.Type) bool {
	elem, ok := t.Elem()
	return ok && elem.OID == types.Float8OID
}

// fractionBytes is what several fractions take beside their place, and about what their results take.
func fractionBytes(p types.Datum) int64 {
	if a, ok := p.(types.Array); ok {
		return 64 + 24*int64(len(a.Elems))
	}
	return 0
}

// percentiles are percentile_cont and percentile_disc of several fractions. Of a group's keys only those are put in
// their places that a fraction lies at or between.
func (s *keyed) percentiles(from, to int) (arrow.Array, error) {
	desc, _ := s.desc()
	between := s.call.Fn.Name == "percentile_cont"
	b := array.NewBuilder(memory.DefaultAllocator, s.call.Typ.Arrow()).(*array.ListBuilder)
	b.Reserve(to - from)
	values, rank := b.ValueBuilder(), s.code.ranks()
	var wanted []int
	for g := from; g < to; g++ {
		s.all = s.keys[g].appendTo(s.all[:0])
		ps, ok := s.p[g].(types.Array)
		if !ok || len(s.all) == 0 {
			b.AppendNull()
			continue
		}
		wanted = wanted[:0]
		at := func(i int) int { // among the keys, which ascend
			if desc {
				return len(s.all) - 1 - i
			}
			return i
		}
		for _, x := range ps.Elems {
			if p, ok := x.(float64); ok {
				if err := checkFraction(p); err != nil {
					return nil, err
				}
				lo, hi, _ := percentileAt(p, int64(len(s.all)), between)
				wanted = append(wanted, at(int(lo)), at(int(hi)))
			}
		}
		rank.by(s.all)
		placeKeys(s.all, wanted)
		b.Append(true)
		for _, x := range ps.Elems {
			p, ok := x.(float64)
			if !ok {
				values.AppendNull()
				continue
			}
			lo, hi, after := percentileAt(p, int64(len(s.all)), between)
			key := s.all[at(int(lo))]
			if !between {
				s.code.append(values, rank.key(key))
				continue
			}
			v := orderedFloat(key)
			if lo != hi {
				v += after * (orderedFloat(s.all[at(int(hi))]) - v)
			}
			values.(*array.Float64Builder).Append(v)
		}
	}
	return b.NewArray(), nil
}

// percentileAt returns the two places of n values between which a fraction lies, and how far after the first.
func percentileAt(p float64, n int64, between bool) (lo, hi int64, after float64) {
	if !between {
		i := max(int64(math.Ceil(p*float64(n)))-1, 0)
		return i, i, 0
	}
	pos := p * float64(n-1)
	lo = int64(math.Floor(pos))
	return lo, int64(math.Ceil(pos)), pos - float64(lo)
}

// placeKeys puts the keys of some places of the order there.
func placeKeys(keys []uint64, wanted []int) {
	slices.Sort(wanted)
	from := 0 // all before are in their places, or less
	for _, at := range slices.Compact(wanted) {
		switch rest := keys[from:]; {
		case at > from:
			placeKey(rest, at-from)
		case len(rest) > 0: // the next one
			least := 0
			for i, k := range rest {
				if k < rest[least] {
					least = i
				}
			}
			rest[0], rest[least] = rest[least], rest[0]
		}
		from = at + 1
	}
}
