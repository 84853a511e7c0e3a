package join_test

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/join"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

var kindNames = map[plan.JoinKind]string{plan.Inner: "inner", plan.Left: "left", plan.Right: "right", plan.Full: "full", plan.Semi: "semi",
	plan.Anti: "anti", plan.AntiNull: "antinull", plan.Mark: "mark", plan.Single: "single", plan.RightSemi: "rightsemi", plan.RightAnti: "rightanti"}

// less is the residual condition of the tests, left column 1 < right column 1, as a filter and as
// an expression.
type less struct{}

func (less) value(b *batch.Batch, i int) types.Datum {
	l, r := types.DatumAt(types.Int4, b.Cols[0], i), types.DatumAt(types.Int4, b.Cols[1], i)
	if l == nil || r == nil {
		return nil
	}
	return l.(int64) < r.(int64)
}

func (f less) Select(_ context.Context, b *batch.Batch) (*batch.Batch, error) {
	out := b.With(b.Cols)
	out.Sel = []int32{}
	for i := 0; i < b.N; i++ {
		if f.value(b, i) == true {
			out.Sel = append(out.Sel, int32(i))
		}
	}
	return out, nil
}

func (f less) EvalScratch(ctx context.Context, b *batch.Batch) (arrow.Array, error) {
	vals, valid := make([]byte, batch.BitmapBytes(b.N)), batch.AllOnes(b.N)
	for i := 0; i < b.N; i++ {
		switch f.value(b, i) {
		case true:
			batch.SetBit(vals, i)
		case nil:
			batch.ClearBit(valid, i)
		}
	}
	return batch.FromBits(vals, valid, b.N), nil
}

func (f less) Eval(ctx context.Context, b *batch.Batch) (arrow.Array, error) {
	return f.EvalScratch(ctx, b)
}

// joinCase is a join of two tables on their first columns, or on columns 0 and
// 2 for two keys.
type joinCase struct {
	kind     plan.JoinKind
	keys     []int
	nullSafe bool
	residual bool
	ranges   []join.Range // the residual, where there are some
}

func (c joinCase) config(ts []types.Type, threads int) join.Config {
	jc := join.Config{Kind: c.kind, LTypes: ts, RTypes: ts, LKeys: optest.Columns(threads, c.keys...), RKeys: optest.Columns(threads, c.keys...)}
	for _, k := range c.keys {
		jc.KeyTypes = append(jc.KeyTypes, ts[k])
		jc.NullSafe = append(jc.NullSafe, c.nullSafe)
	}
	if c.residual {
		jc.ResidualCols = []int{1, len(ts) + 1}
		for range threads {
			if c.kind == plan.Mark {
				jc.ResidualValue = append(jc.ResidualValue, less{})
			} else {
				jc.Residual = append(jc.Residual, less{})
			}
		}
	}
	c.setRanges(&jc, ts, threads)
	all := make([]int, len(ts))
	for i := range all {
		all[i] = i
	}
	if c.kind != plan.RightSemi && c.kind != plan.RightAnti {
		jc.LOut = all
	}
	switch c.kind {
	case plan.Semi, plan.Anti, plan.AntiNull, plan.Mark:
	default:
		jc.ROut = all
	}
	return jc
}

func (c joinCase) out(ts []types.Type) []types.Type {
	switch c.kind {
	case plan.Semi, plan.Anti, plan.AntiNull, plan.RightSemi, plan.RightAnti:
		return ts
	case plan.Mark:
		return append(append([]types.Type(nil), ts...), types.Bool)
	}
	return append(append([]types.Type(nil), ts...), ts...)
}

// pair evaluates the join condition for a pair of rows, with three-valued logic.
func (c joinCase) pair(ts []types.Type, l, r types.Row) types.Datum {
	null := false
	if c.ranges != nil && within(ts, c.ranges, l, r) != true {
		return false
	}
	for _, k := range c.keys {
		a, b := l[k], r[k]
		switch {
		case a == nil || b == nil:
			if c.nullSafe {
				if a != nil || b != nil {
					return false
				}
				continue
			}
			null = true
		case types.Compare(ts[k], a, b) != 0:
			return false
		}
	}
	if null && c.residual {
		return false // pairs with different keys never match
	}
	if c.residual {
		if l[1] == nil || r[1] == nil {
			return nil
		}
		return l[1].(int64) < r[1].(int64)
	}
	if null {
		if c.kind == plan.AntiNull || c.kind == plan.Mark && len(c.keys) == 1 {
			return nil
		}
		return false
	}
	return true
}

func (c joinCase) want(l, r optest.Table) (out []types.Row, many bool) {
	none := make(types.Row, len(l.Types))
	rMatched := make([]bool, len(r.Rows))
	for _, a := range l.Rows {
		matches, unknown := 0, false
		for j, b := range r.Rows {
			switch c.pair(l.Types, a, b) {
			case true:
				matches++
				rMatched[j] = true
				switch c.kind {
				case plan.Inner, plan.Left, plan.Right, plan.Full, plan.Single:
					out = append(out, append(append(types.Row(nil), a...), b...))
				}
			case nil:
				unknown = true
			}
		}
		many = many || matches > 1
		switch c.kind {
		case plan.Left, plan.Full, plan.Single:
			if matches == 0 {
				out = append(out, append(append(types.Row(nil), a...), none...))
			}
		case plan.Semi:
			if matches > 0 {
				out = append(out, a)
			}
		case plan.Anti:
			if matches == 0 {
				out = append(out, a)
			}
		case plan.AntiNull:
			if matches == 0 && !unknown {
				out = append(out, a)
			}
		case plan.Mark:
			var m types.Datum = matches > 0
			if matches == 0 && unknown {
				m = nil
			}
			out = append(out, append(append(types.Row(nil), a...), m))
		}
	}
	for j, b := range r.Rows {
		switch {
		case (c.kind == plan.Right || c.kind == plan.Full) && !rMatched[j]:
			out = append(out, append(append(types.Row(nil), none...), b...))
		case c.kind == plan.RightSemi && rMatched[j], c.kind == plan.RightAnti && !rMatched[j]:
			out = append(out, b)
		}
	}
	return out, many
}

func (c joinCase) run(t *testing.T, l, r optest.Table, budget int64) {
	t.Helper()
	rows, many := c.want(l, r)
	tc := optest.Case{Inputs: []optest.Table{l, r}, Out: c.out(l.Types), Want: rows, Spills: budget > 0, Budget: budget,
		Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
			return join.New(rt, nil, c.config(l.Types, rt.Threads), in[0], in[1])
		}}
	if c.kind == plan.Single && many {
		tc.Err = func(err error) bool { return pgerr.Is(err, pgerr.CardinalityViolation) }
	}
	optest.Run(t, tc)
}

func TestJoin(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	sets := []struct {
		name string
		ts   []types.Type
		keys []int
	}{
		{"int4", []types.Type{types.Int4, types.Int4, types.Text}, []int{0}},
		{"text", []types.Type{types.Text, types.Int4, types.Text}, []int{0}},
		{"two", []types.Type{types.Numeric, types.Int4, types.Date}, []int{0, 2}},
		{"none", []types.Type{types.Text, types.Int4}, nil},
	}
	for kind := plan.Inner; kind <= plan.RightAnti; kind++ {
		for _, s := range sets {
			if kind == plan.AntiNull && len(s.keys) != 1 {
				continue
			}
			for _, residual := range []bool{false, true} {
				if residual && kind == plan.AntiNull || !residual && len(s.keys) == 0 && kind == plan.Mark {
					continue
				}
				for _, sizes := range [][2]int{{60, 50}, {0, 20}, {20, 0}} {
					if sizes[0] != 60 && s.name != "int4" && s.name != "none" {
						continue
					}
					c := joinCase{kind: kind, keys: s.keys, residual: residual}
					l, rr := optest.Random(r, sizes[0], s.ts...), optest.Random(r, sizes[1], s.ts...)
					if kind == plan.Single {
						rr.Rows = rr.Rows[:min(2, len(rr.Rows))]
					}
					t.Run(fmt.Sprintf("%s/%s/residual=%v/%v", kindNames[kind], s.name, residual, sizes), func(t *testing.T) { c.run(t, l, rr, 0) })
				}
			}
		}
	}
	l, rr := optest.Random(r, 60, sets[2].ts...), optest.Random(r, 50, sets[2].ts...)
	for _, kind := range []plan.JoinKind{plan.Inner, plan.Full, plan.Semi} {
		t.Run("nullsafe/"+kindNames[kind], func(t *testing.T) { joinCase{kind: kind, keys: []int{0, 2}, nullSafe: true}.run(t, l, rr, 0) })
	}
}

// TestJoinNullSafeInteger: one integer key, null-safe, with NULLs in either, both or none of the tables: a table of
// places is only for right rows without.
func TestJoinNullSafeInteger(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	table := func(nulls bool, n int) (tb optest.Table) {
		tb.Types = []types.Type{types.Int4, types.Int4}
		for range n {
			row := types.Row{int64(r.Intn(40)), int64(r.Intn(5))}
			if nulls && r.Intn(5) == 0 {
				row[0] = nil
			}
			tb.Rows = append(tb.Rows, row)
		}
		return tb
	}
	for at := range 4 {
		l, rr := table(at&1 > 0, 90), table(at&2 > 0, 50)
		for kind, name := range kindNames {
			if kind != plan.Single && kind != plan.AntiNull {
				t.Run(fmt.Sprint(name, at), func(t *testing.T) { joinCase{kind: kind, keys: []int{0}, nullSafe: true}.run(t, l, rr, 0) })
			}
		}
	}
}

// TestJoinDictionary: left keys are strings that repeat, some without a match, and right keys are
// unique, so that each dictionary entry is looked up only once.
func TestJoinDictionary(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	name := func(i int) types.Datum {
		if i%9 == 0 {
			return nil
		}
		return fmt.Sprint("a name, and some of them are long: "[i%30:], i)
	}
	ts := []types.Type{types.Text, types.Int4}
	l, rr := optest.Table{Types: ts}, optest.Table{Types: ts}
	for i := range 400 {
		l.Rows = append(l.Rows, types.Row{name(1 + r.Intn(10+i/4)), int64(r.Intn(5))})
	}
	for i := range 70 {
		if key := name(i); key != nil {
			rr.Rows = append(rr.Rows, types.Row{key, int64(r.Intn(5))})
		}
	}
	for kind := plan.Inner; kind <= plan.RightAnti; kind++ {
		for _, residual := range []bool{false, true} {
			if residual && kind == plan.AntiNull {
				continue
			}
			c := joinCase{kind: kind, keys: []int{0}, residual: residual}
			t.Run(fmt.Sprintf("%s/residual=%v", kindNames[kind], residual), func(t *testing.T) { c.run(t, l, rr, 0) })
		}
	}
}

// TestJoinSpills: the same results where the build side does not fit in memory.
func TestJoinSpills(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	for kind := plan.Inner; kind <= plan.RightAnti; kind++ {
		t.Run(kindNames[kind], func(t *testing.T) {
			l, rr := optest.Wide(r, 300, 4000), optest.Wide(r, 4000, 4000)
			if kind == plan.Single {
				for i := range rr.Rows {
					rr.Rows[i][0] = int64(i)
				}
			}
			c := joinCase{kind: kind, keys: []int{0}}
			spillOnly(t, c, l, rr, small(kind))
			if kind != plan.AntiNull {
				c.residual = true
				spillOnly(t, c, l, rr, small(kind))
			}
		})
	}
}

// small returns a memory limit that is too small for the build side; some join kinds keep only its
// keys.
func small(kind plan.JoinKind) int64 {
	switch kind {
	case plan.Semi, plan.Anti, plan.AntiNull, plan.Mark:
		return 48 << 10
	}
	return 600 << 10
}

// spillOnly compares the results under a small memory limit, for each number of threads.
func spillOnly(t *testing.T, c joinCase, l, r optest.Table, budget int64) {
	t.Helper()
	want, _ := c.want(l, r)
	tc := optest.Case{Inputs: []optest.Table{l, r}, Out: c.out(l.Types), Want: want, Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
		return join.New(rt, nil, c.config(l.Types, rt.Threads), in[0], in[1])
	}}
	for _, threads := range []int{1, 3} {
		if n := optest.Once(t, tc, threads, optest.Form{Size: 1000, Dict: true, Mix: true}, budget); n == 0 {
			t.Error("nothing was spilled")
		}
	}
}

// TestJoinRanges: an integer key in a narrow range (an array), in a wider one (a bitmap), and in a
// very wide one (a hash table).
func TestJoinRanges(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	for _, gap := range []int64{1, 100, 1 << 40} {
		for _, ty := range []types.Type{types.Int8, types.FixedNumeric(18, 2, true)} {
			ts := []types.Type{ty, types.Int4, types.Text}
			make := func(n int) optest.Table {
				tb := optest.Random(r, n, ts...)
				for i := range tb.Rows {
					if k := (int64(r.Intn(300)) - 100) * gap; ty.IsFixed() {
						tb.Rows[i][0] = number.DecimalFromInt64(k, 2)
					} else {
						tb.Rows[i][0] = k
					}
				}
				tb.Rows[n/2][0] = nil
				return tb
			}
			l, rr := make(300), make(100)
			for _, kind := range []plan.JoinKind{plan.Inner, plan.Full, plan.Anti, plan.RightSemi} {
				c := joinCase{kind: kind, keys: []int{0}}
				want, _ := c.want(l, rr)
				tc := optest.Case{Inputs: []optest.Table{l, rr}, Out: c.out(ts), Want: want, Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
					return join.New(rt, nil, c.config(ts, rt.Threads), in[0], in[1])
				}}
				for _, threads := range []int{1, 3} {
					optest.Once(t, tc, threads, optest.Form{Size: 20, Sel: true}, 0)
				}
			}
		}
	}
}

// borrower lets the join reuse the memory of a batch for the next one (op.AllowReuse), so it copies each
// batch before it calls Next.
type borrower struct {
	op.Operator
	last   *byte
	reused *atomic.Int32 // batches whose last column was in the memory of the batch before
}

func (o *borrower) Open(ctx context.Context) error {
	err := o.Operator.Open(ctx)
	op.AllowReuse(o.Operator)
	return err
}

func (o *borrower) Next(ctx context.Context) (*batch.Batch, error) {
	b, err := o.Operator.Next(ctx)
	if err != nil {
		return nil, err
	}
	if buf := b.Cols[len(b.Cols)-1].Data().Buffers()[1]; buf != nil && buf.Len() > 0 {
		if p := &buf.Bytes()[0]; p == o.last {
			o.reused.Add(1)
		} else {
			o.last = p
		}
	}
	rows := make([]int32, b.Rows())
	for i := range rows {
		rows[i] = int32(i)
	}
	rows = slices.Clone(b.SourceRows(rows))
	cols := make([]arrow.Array, len(b.Cols))
	for i, c := range b.Cols {
		cols[i] = kernel.Take(c, rows)
	}
	return batch.New(cols, len(rows)), nil
}

// TestJoinReuse: batches in reused memory are right until Next is called again.
func TestJoinReuse(t *testing.T) {
	r := rand.New(rand.NewSource(6))
	ts := []types.Type{types.Int8, types.Int4}
	var reused atomic.Int32
	for _, gap := range []int64{1, 100, 1 << 40} {
		l, rr := optest.Random(r, 9000, ts...), optest.Random(r, 300, ts...)
		for i := range l.Rows {
			l.Rows[i][0] = int64(r.Intn(310)) * gap
		}
		for i := range rr.Rows {
			rr.Rows[i][0] = int64(i) * gap
		}
		for _, kind := range []plan.JoinKind{plan.Inner, plan.Left, plan.Full} {
			c := joinCase{kind: kind, keys: []int{0}}
			want, _ := c.want(l, rr)
			tc := optest.Case{Inputs: []optest.Table{l, rr}, Out: c.out(ts), Want: want, Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
				out := join.New(rt, nil, c.config(ts, rt.Threads), in[0], in[1])
				for i := range out {
					out[i] = &borrower{Operator: out[i], reused: &reused}
				}
				return out
			}}
			for _, form := range []optest.Form{{Size: 1500}, {Size: 3000, Sel: true}, {Size: 100, Sel: true}} {
				optest.Once(t, tc, 2, form, 0)
			}
		}
	}
	if reused.Load() < 5 {
		t.Errorf("%d batches lay in reused memory", reused.Load())
	}
}

// TestJoinSkew: one key has most rows, so that no partition with it fits in memory; without keys
// rows cannot be partitioned at all.
func TestJoinSkew(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	for kind := plan.Inner; kind <= plan.RightAnti; kind++ {
		if kind == plan.Single {
			continue
		}
		t.Run(kindNames[kind], func(t *testing.T) {
			l, rr := optest.Wide(r, 30, 20), optest.Wide(r, 4000, 3)
			for i := range rr.Rows {
				if i%50 != 0 {
					rr.Rows[i][0] = int64(7)
				}
			}
			spillOnly(t, joinCase{kind: kind, keys: []int{0}}, l, rr, small(kind))
			if kind != plan.AntiNull {
				spillOnly(t, joinCase{kind: kind, keys: []int{0}, residual: true}, l, rr, small(kind))
				spillOnly(t, joinCase{kind: kind, residual: true}, l, rr, small(kind)/2)
			}
		})
	}
}

func TestJoinAllKeyTypes(t *testing.T) {
	r := rand.New(rand.NewSource(4))
	ints, _ := types.ArrayOf(types.Int4)
	for _, ty := range []types.Type{types.Bool, types.Int2, types.Int8, types.Oid, types.Float4, types.Float8, types.FixedNumeric(9, 2, true),
		types.Bytea, types.Timetz, types.Timestamp, types.IntervalT, types.UUID, types.JSONB, types.Bpchar, ints} {
		ts := []types.Type{ty, types.Int4, types.Text}
		l, rr := optest.Random(r, 80, ts...), optest.Random(r, 30, ts...)
		for _, kind := range []plan.JoinKind{plan.Inner, plan.Anti} {
			t.Run(ty.String()+"/"+kindNames[kind], func(t *testing.T) {
				c := joinCase{kind: kind, keys: []int{0}}
				want, _ := c.want(l, rr)
				tc := optest.Case{Inputs: []optest.Table{l, rr}, Out: c.out(ts), Want: want, Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
					return join.New(rt, nil, c.config(ts, rt.Threads), in[0], in[1])
				}}
				optest.Once(t, tc, 2, optest.Form{Size: 16, Dict: true, Mix: true}, 0)
			})
		}
	}
}
