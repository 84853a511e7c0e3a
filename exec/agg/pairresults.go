package agg

import (
	"math"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel/exact"
)

// pairSpreads are spreads of some groups: statistics of the same pairs need the same ones.
type pairSpreads struct {
	from, to int
	of       [3][]float64 // by exact.PairSpread; nil: not computed
}

// pairResult is a statistic of two variables.
type pairResult struct {
	needs  []exact.PairSpread
	values bool // whether it needs Σx and Σy
	of     func(s *sums) (v float64, ok bool)
}

var pairFuncs = map[string]pairResult{
	"covar_pop":  {[]exact.PairSpread{exact.SpreadXY}, false, func(s *sums) (float64, bool) { return s.sxy / s.n, true }},
	"covar_samp": {[]exact.PairSpread{exact.SpreadXY}, false, func(s *sums) (float64, bool) { return s.sxy / (s.n - 1), s.n > 1 }},
	"corr":       {allSpreads, false, func(s *sums) (float64, bool) { return s.sxy / math.Sqrt(s.sxx*s.syy), s.sxx != 0 && s.syy != 0 }},
	"regr_sxx":   {[]exact.PairSpread{exact.SpreadX}, false, func(s *sums) (float64, bool) { return s.sxx, true }},
	"regr_syy":   {[]exact.PairSpread{exact.SpreadY}, false, func(s *sums) (float64, bool) { return s.syy, true }},
	"regr_sxy":   {[]exact.PairSpread{exact.SpreadXY}, false, func(s *sums) (float64, bool) { return s.sxy, true }},
	"regr_avgx":  {nil, true, func(s *sums) (float64, bool) { return s.sx / s.n, true }},
	"regr_avgy":  {nil, true, func(s *sums) (float64, bool) { return s.sy / s.n, true }},
	"regr_r2": {allSpreads, false, func(s *sums) (float64, bool) {
		if s.syy == 0 {
			return 1, s.sxx != 0
		}
		return s.sxy * s.sxy / (s.sxx * s.syy), s.sxx != 0
	}},
	"regr_slope": {[]exact.PairSpread{exact.SpreadX, exact.SpreadXY}, false, func(s *sums) (float64, bool) { return s.sxy / s.sxx, s.sxx != 0 }},
	"regr_intercept": {[]exact.PairSpread{exact.SpreadX, exact.SpreadXY}, true, func(s *sums) (float64, bool) {
		return (s.sy - s.sx*s.sxy/s.sxx) / s.n, s.sxx != 0
	}},
}

var allSpreads = []exact.PairSpread{exact.SpreadX, exact.SpreadY, exact.SpreadXY}

func (p *pair) Results(from, to int) (arrow.Array, error) {
	f := pairFuncs[p.fn]
	if p.fn == "regr_count" || !p.s.Plain() {
		return pairResults(p.fn, from, to, p.s.N, p.sums)
	}
	if p.spreads == nil {
		p.spreads = &pairSpreads{}
	}
	kept := p.spreads
	if kept.from != from || kept.to != to {
		*kept = pairSpreads{from: from, to: to}
	}
	for _, k := range f.needs {
		if kept.of[k] == nil {
			kept.of[k] = make([]float64, to-from)
			p.s.Spreads(kept.of[k], k, from)
		}
	}
	return floatColumn(from, to, func(g int) (float64, bool, error) {
		s := sums{n: float64(p.s.N(g))}
		if s.n < 1 {
			return 0, false, nil
		}
		for k, to := range [3]*float64{&s.sxx, &s.syy, &s.sxy} {
			if of := kept.of[k]; of != nil {
				*to = of[g-from]
			}
		}
		if f.values {
			s.sx, s.sy = p.s.Values(g)
		}
		v, ok := f.of(&s)
		return v, ok, nil
	})
}

// pairResults returns the values of fn by the groups' numbers and sums.
func pairResults(fn string, from, to int, n func(g int) int64, of func(g int) (sums, error)) (arrow.Array, error) {
	if fn == "regr_count" {
		out := make([]int64, to-from)
		for i := range out {
			out[i] = n(from + i)
		}
		return batch.FromSlice(arrow.PrimitiveTypes.Int64, out, nil), nil
	}
	value := pairFuncs[fn].of
	return floatColumn(from, to, func(g int) (float64, bool, error) {
		s, err := of(g)
		if err != nil || s.n < 1 {
			return 0, false, err
		}
		v, ok := value(&s)
		return v, ok, nil
	})
}
