package agg

import (
	"encoding/binary"
	"iter"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Agg is the states of all groups of one aggregate. Group numbers are below
// the last Resize. It is for one goroutine.
type Agg interface {
	// Resize makes room for groups; new ones are empty.
	Resize(groups int)
	// Update adds row i of args to group groups[i]. args are dense.
	Update(groups []uint32, args []arrow.Array) error
	// MergeStates adds encoded state i to group groups[i]. One that is NULL, which an outer
	// join has for rows without a partner, adds nothing.
	MergeStates(groups []uint32, states *array.Binary) error
	// States encodes the states of groups [from, to); Results returns their values.
	States(from, to int) (arrow.Array, error)
	Results(from, to int) (arrow.Array, error)
	// Bytes returns the memory held, to be charged by the operator.
	Bytes() int64
}

// Holistic is an Agg that keeps its rows ("Data Cube", Gray and others, 1997): its results and encoded
// states may be long. Takes bounds the bytes that n rows of args take, Need those that computing
// the results of groups [from, to) takes.
type Holistic interface {
	Takes(args []arrow.Array, n int) int64
	Need(from, to int, states bool) int64
}

// ParallelResult is an Agg whose result of group 0, the only one, is computed by all threads together,
// before Results is called.
type ParallelResult interface {
	Agg
	// Begin prepares for so many workers, and returns how many steps it takes them.
	Begin(workers int) (steps int)
	// Step does a worker's share of a step. All workers end it before any begins the next.
	Step(step, worker int)
	// End is called after the last step. Afterwards only the results of this aggregate and of those
	// that were merged into it may be read.
	End()
}

// New makes the aggregate of a call. Its arguments come in the order of
// call.Args, then those of call.OrderBy. env writes text (json, string forms), and runs the functions of
// aggregates of users.
func New(call expr.AggCall, env *function.Env) (Agg, error) {
	args := make([]types.Type, len(call.Args))
	for i, a := range call.Args {
		args[i] = a.Type()
	}
	name := call.Fn.Name
	if call.Machine != nil {
		m, err := newMachine(call.Machine, env)
		if err != nil {
			return nil, err
		}
		if call.Machine.Combine == nil || call.Distinct || len(call.OrderBy) > 0 {
			return newCollect(call, args, env, m)
		}
		return &combined{m: m, args: args, ret: call.Typ}, nil
	}
	if call.Distinct && (name == "min" || name == "max" || name == "bool_and" || name == "bool_or" || name == "every") {
		call.Distinct = false // the result is the same with and without
	}
	if p := newPercentile(call, args); p != nil {
		return p, nil
	}
	if call.Distinct || len(call.OrderBy) > 0 {
		return newCollect(call, args, env, nil)
	}
	if a := plain(name, args, call.Typ); a != nil {
		return a, nil
	}
	return newCollect(call, args, env, nil)
}

// NewWhole is New for an aggregation in one phase: its encoded states come back to aggregates of
// the same call, so their form may depend on the arguments and not only on their types. The results
// are the same.
func NewWhole(call expr.AggCall, env *function.Env) (Agg, error) {
	a, err := New(call, env)
	if p, ok := a.(*pair); ok && smallInts(call.Args) {
		return &intPair{fn: p.fn}, nil
	}
	return a, err
}

// plain makes the aggregates that need not keep their rows; nil for others.
func plain(name string, args []types.Type, ret types.Type) Agg {
	switch name {
	case "count":
		return &count{star: len(args) == 0}
	case "approx_count_distinct":
		return newApproxDistinct(args[0])
	case "sum":
		return newSum(args[0], ret, false)
	case "avg":
		return newSum(args[0], ret, true)
	case "min", "max":
		return newExtreme(args[0], name == "max")
	case "bool_and", "every":
		return &logic{and: true}
	case "bool_or":
		return &logic{}
	case "bit_and", "bit_or", "bit_xor":
		if args[0].OID == types.BitOID {
			return &bitStrings{op: name[4]}
		}
		return &bitwise{op: name[4], typ: args[0]}
	case "ml_bin_counts":
		return &binCounts{}
	case "var_pop", "var_samp", "variance", "stddev", "stddev_pop", "stddev_samp":
		return newVariance(name, args[0], ret)
	}
	if ofPairs[name] || strings.HasPrefix(name, "regr_") {
		return &pair{fn: name}
	}
	return metricOf(name, args)
}

// grown extends a slice with zero values.
func grown[T any](s []T, n int) []T {
	if n <= len(s) {
		return s
	}
	if n <= cap(s) {
		return s[:n]
	}
	out := kernel.Fresh[T](n, n+n/2+16)
	copy(out, s)
	return out
}

// stored yields the states that are not NULL, each with its group.
func stored(groups []uint32, states *array.Binary) iter.Seq2[uint32, []byte] {
	return func(yield func(uint32, []byte) bool) {
		for i, g := range groups {
			if !states.IsNull(i) && !yield(g, states.Value(i)) {
				return
			}
		}
	}
}

// binaryColumn builds a bytea column by a function that appends row i's value
// or says that it is NULL.
func binaryColumn(from, to int, f func(dst []byte, g int) ([]byte, bool)) arrow.Array {
	b := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
	b.Reserve(to - from)
	var tmp []byte
	for g := from; g < to; g++ {
		v, ok := f(tmp[:0], g)
		tmp = v
		if ok {
			b.Append(v)
		} else {
			b.AppendNull()
		}
	}
	return b.NewArray()
}

// datumColumn builds a column of values.
func datumColumn(t types.Type, from, to int, f func(g int) (types.Datum, error)) (arrow.Array, error) {
	b := array.NewBuilder(memory.DefaultAllocator, t.Arrow())
	b.Reserve(to - from)
	for g := from; g < to; g++ {
		d, err := f(g)
		if err != nil {
			return nil, err
		}
		if err := types.AppendDatum(b, t, d); err != nil {
			return nil, err
		}
	}
	return b.NewArray(), nil
}

// numericColumn builds a column of variable numerics, NULL where has is false.
func numericColumn(from, to int, has func(g int) bool, value func(g int) (number.Decimal, error)) (arrow.Array, error) {
	n := to - from
	offs := make([]int32, 1, n+1)
	data := make([]byte, 0, 12*n)
	valid := make([]byte, batch.BitmapBytes(n))
	for g := from; g < to; g++ {
		if has(g) {
			d, err := value(g)
			if err != nil {
				return nil, err
			}
			data = d.AppendBinary(data)
			batch.SetBit(valid, g-from)
		}
		offs = append(offs, int32(len(data)))
	}
	return batch.FromOffsets(types.Numeric.Arrow(), offs, data, valid), nil
}

func badState() error { return pgerr.New(pgerr.DataCorrupted, "malformed aggregate state") }

func getU64(b []byte) (uint64, []byte, error) {
	if len(b) < 8 {
		return 0, nil, badState()
	}
	return binary.LittleEndian.Uint64(b), b[8:], nil
}
