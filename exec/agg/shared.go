package agg

import (
	"encoding/binary"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/planner/expr"
)

// Shared reports whether the states of a serve b too, if their arguments are the
// same: a sum and an average keep the same, a variance these and more, and all count their
// values. All regressions of two variables keep the same.
func Shared(a, b expr.AggCall) bool {
	for _, c := range []expr.AggCall{a, b} {
		if c.Filter != nil || c.Distinct || len(c.OrderBy) > 0 || c.Direct > 0 || c.Machine != nil {
			return false
		}
	}
	x, y := keeps(a), keeps(b)
	return x != keepsOther && y != keepsOther && (x == y || x != keepsPair && y != keepsPair && x > y)
}

// What a call keeps of the values of its arguments.
const (
	keepsOther = iota
	keepsCount
	keepsSum
	keepsSquares
	keepsPair
)

func keeps(c expr.AggCall) int {
	if len(c.Args) == 2 && (ofPairs[c.Fn.Name] || strings.HasPrefix(c.Fn.Name, "regr_")) {
		return keepsPair
	}
	if len(c.Args) != 1 {
		return keepsOther
	}
	switch c.Fn.Name {
	case "count":
		return keepsCount
	case "sum", "avg":
		return keepsSum
	case "var_pop", "var_samp", "variance", "stddev", "stddev_pop", "stddev_samp":
		if t := c.Args[0].Type(); t.IsInteger() || t.IsFloat() || t.IsFixed() {
			return keepsSquares
		}
	}
	return keepsOther
}

// ofPairs are the aggregates of two variables beside those that begin with regr_.
var ofPairs = map[string]bool{"corr": true, "covar_pop": true, "covar_samp": true}

// Certain reports whether the results of a call are never an error, so that they need not be found for groups that nobody
// asks for.
func Certain(c expr.AggCall) bool {
	if c.Machine != nil || c.Distinct || len(c.OrderBy) > 0 || c.Direct > 0 || len(c.Args) > 1 {
		return false
	}
	switch c.Fn.Name {
	case "count", "min", "max", "bool_and", "bool_or", "every":
		return true
	case "avg":
		t := c.Args[0].Type()
		return t.IsInteger() || t.IsFixed()
	}
	return false
}

// View returns b's results from the states of a, for calls that are Shared. It is
// valid until a changes.
func View(a, b Agg) Agg {
	if p, ok := a.(*pair); ok {
		if p.spreads == nil {
			p.spreads = &pairSpreads{}
		}
		return &pair{fn: b.(*pair).fn, s: p.s, spreads: p.spreads}
	}
	if p, ok := a.(*intPair); ok {
		return &intPair{fn: b.(*intPair).fn, s: p.s}
	}
	if c, ok := b.(*count); ok {
		if n := counted(a); n != nil {
			return &countOf{count: c, at: n}
		}
		return a
	}
	switch b := b.(type) {
	case *intSum:
		v := *b
		switch a := a.(type) {
		case *intSum:
			v.s, v.over = a.s, a.over
		case *intVariance:
			v.s, v.over, v.beside = a.sums.s, a.sums.over, a.sums.beside
		}
		return &v
	case *floatSum:
		v := *b
		switch a := a.(type) {
		case *floatSum:
			v.s = a.s
		case *floatVariance:
			v.of = exact.SquareValues{Squares: &a.s}
		}
		return &v
	case *decimalSum:
		v := *a.(*decimalSum)
		v.mean = b.mean
		return &v
	case *intervalSum:
		v := *a.(*intervalSum)
		v.mean = b.mean
		return &v
	case *intVariance:
		v, from := *b, a.(*intVariance)
		in := v.sums.in
		v.sums, v.over = from.sums, from.over
		v.sums.in = in
		return &v
	case *floatVariance:
		v := *b
		v.s = a.(*floatVariance).s
		return &v
	}
	return nil
}

// counted returns how many values each group of a has; nil if a is a count.
func counted(a Agg) func(g int) int64 {
	switch a := a.(type) {
	case *intSum:
		return func(g int) int64 { return a.at(g).n }
	case *floatSum:
		return a.s.N
	case *decimalSum:
		return func(g int) int64 { return a.x[g].n }
	case *intervalSum:
		return func(g int) int64 { return a.n[g] }
	case *intVariance:
		return func(g int) int64 { return a.sums.at(g).n }
	case *floatVariance:
		return a.s.N
	}
	return nil
}

// countOf is count(x) by the states of another aggregate of x.
type countOf struct {
	*count
	at func(g int) int64
}

func (c *countOf) States(from, to int) (arrow.Array, error) {
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) {
		return binary.LittleEndian.AppendUint64(dst, uint64(c.at(g))), true
	}), nil
}

func (c *countOf) Results(from, to int) (arrow.Array, error) {
	out := make([]int64, to-from)
	for i := range out {
		out[i] = c.at(from + i)
	}
	return batch.FromSlice(arrow.PrimitiveTypes.Int64, out, nil), nil
}
