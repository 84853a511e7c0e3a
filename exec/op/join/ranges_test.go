package join_test

import (
	"context"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/op/join"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// between is a residual of comparisons.
type between struct {
	ts     []types.Type
	ranges []join.Range
}

func (f between) Select(_ context.Context, b *batch.Batch) (*batch.Batch, error) {
	out := b.With(b.Cols)
	out.Sel = []int32{}
	for i := range b.N {
		l, r := make(types.Row, len(f.ts)), make(types.Row, len(f.ts))
		for k, t := range f.ts {
			l[k], r[k] = types.DatumAt(t, b.Cols[k], i), types.DatumAt(t, b.Cols[len(f.ts)+k], i)
		}
		if within(f.ts, f.ranges, l, r) == true {
			out.Sel = append(out.Sel, int32(i))
		}
	}
	return out, nil
}

func within(ts []types.Type, ranges []join.Range, l, r types.Row) types.Datum {
	for _, x := range ranges {
		a, b := l[x.Left], r[x.Right]
		if a == nil || b == nil {
			return false
		}
		if c := types.Compare(ts[x.Right], b, a); x.AtLeast && c < 0 || !x.AtLeast && c > 0 {
			return false
		}
	}
	return true
}

func (c joinCase) setRanges(jc *join.Config, ts []types.Type, threads int) {
	if c.ranges == nil {
		return
	}
	jc.Ranges = c.ranges
	for i := range 2 * len(ts) {
		jc.ResidualCols = append(jc.ResidualCols, i)
	}
	for range threads {
		jc.Residual = append(jc.Residual, between{ts: ts, ranges: c.ranges})
	}
}

// TestRanges: joins by comparisons find the same pairs as a look at all of them.
func TestRanges(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	table := func(n int, ts ...types.Type) optest.Table {
		out := optest.Table{Types: ts}
		for range n {
			var row types.Row
			for _, typ := range ts {
				v := int64(r.Intn(40))
				switch {
				case r.Intn(12) == 0:
					row = append(row, nil)
				case typ.IsFloat():
					row = append(row, []float64{math.NaN(), math.Inf(-1), math.Inf(1), math.Copysign(0, -1), 0, float64(v) - 20}[min(5, r.Intn(12))])
				default:
					row = append(row, v-20)
				}
			}
			out.Rows = append(out.Rows, row)
		}
		return out
	}
	conds := []struct {
		name   string
		ranges []join.Range
	}{
		{"right between", []join.Range{{Left: 0, Right: 0, AtLeast: true}, {Left: 1, Right: 0}}},
		{"left between", []join.Range{{Left: 0, Right: 0}, {Left: 0, Right: 1, AtLeast: true}}},
		{"overlap", []join.Range{{Left: 1, Right: 0}, {Left: 0, Right: 1, AtLeast: true}}},
		{"contained", []join.Range{{Left: 0, Right: 0, AtLeast: true}, {Left: 1, Right: 1}}},
		{"one", []join.Range{{Left: 1, Right: 0, AtLeast: true}}},
		{"three", []join.Range{{Left: 0, Right: 1, AtLeast: true}, {Left: 1, Right: 1, AtLeast: true}, {Left: 0, Right: 0}}},
		{"both sides of both", []join.Range{{Left: 0, Right: 0, AtLeast: true}, {Left: 1, Right: 0}, {Left: 1, Right: 1, AtLeast: true}, {Left: 0, Right: 1}}},
	}
	for _, ts := range [][]types.Type{{types.Int4, types.Int4}, {types.Float8, types.Float8}, {types.Date, types.Date}, {types.Int2, types.Int2}} {
		for i, cond := range conds {
			for kind := plan.Inner; kind <= plan.RightAnti; kind++ {
				if kind == plan.AntiNull || kind == plan.Mark {
					continue
				}
				if (ts[0] != types.Int4 || i > 1) && kind != plan.Full && kind != plan.Semi {
					continue
				}
				n := 90
				if kind == plan.Single {
					n = 1
				}
				l, rr := table(70, ts...), table(n, ts...)
				t.Run(fmt.Sprintf("%s/%s/%s", ts[0], cond.name, kindNames[kind]), func(t *testing.T) {
					joinCase{kind: kind, ranges: cond.ranges}.run(t, l, rr, 0)
				})
				typ, keys := types.Int4, 1+int(kind)%5
				if kind%2 == 1 {
					typ = types.Text
				}
				t.Run(fmt.Sprintf("%s/%s/%s/%d keys of %s", ts[0], cond.name, kindNames[kind], keys, typ), func(t *testing.T) {
					joinCase{kind: kind, keys: []int{2}, ranges: cond.ranges}.run(t, keyed(r, l, typ, keys), keyed(r, rr, typ, keys), 0)
				})
			}
		}
	}
}

// keyed is a table with a column of so many keys.
func keyed(r *rand.Rand, t optest.Table, typ types.Type, keys int) optest.Table {
	out := optest.Table{Types: append(slices.Clone(t.Types), typ)}
	for _, row := range t.Rows {
		var key types.Datum = int64(r.Intn(keys)) * 1000
		if r.Intn(20) == 0 {
			key = nil
		} else if typ.IsText() {
			key = fmt.Sprint("key ", key)
		}
		out.Rows = append(out.Rows, append(slices.Clone(row), key))
	}
	return out
}

// TestRangesSpill: a right side that does not fit is joined in passes, or in parts of keys, each with an order of its own.
func TestRangesSpill(t *testing.T) {
	r := rand.New(rand.NewSource(4))
	for _, keys := range []int{0, 1, 3, 40} {
		for _, kind := range []plan.JoinKind{plan.Inner, plan.Left, plan.Full, plan.Semi, plan.Anti, plan.RightSemi} {
			t.Run(fmt.Sprintf("%s/%d keys", kindNames[kind], keys), func(t *testing.T) {
				ts := []types.Type{types.Int4, types.Int4, types.Text}
				table := func(n int) optest.Table {
					out := optest.Table{Types: ts}
					for range n {
						v := int64(r.Intn(100000))
						out.Rows = append(out.Rows, types.Row{v, v + int64(r.Intn(100)), string(slices.Repeat([]byte{'x'}, r.Intn(400)))})
					}
					return out
				}
				l, rr := table(200), table(3000)
				c := joinCase{kind: kind, ranges: []join.Range{{Left: 0, Right: 0}, {Left: 0, Right: 1, AtLeast: true}}}
				if keys > 0 {
					c.keys = []int{3}
					l, rr = keyed(r, l, types.Int4, keys), keyed(r, rr, types.Int4, keys)
				}
				spillOnly(t, c, l, rr, 600<<10)
			})
		}
	}
}
