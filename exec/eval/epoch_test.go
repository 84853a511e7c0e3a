package eval_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// TestWholeEpoch: to_timestamp of whole seconds, of every type that has them, is that of their float, and so are its errors.
func TestWholeEpoch(t *testing.T) {
	seconds := []int64{0, 1, -1, 59, 1200, -1200, 1740787200, math.MaxInt32, math.MinInt32, 1<<37 - 1, 1 << 37, -1 << 37, -1<<37 - 1, 1 << 38,
		210866803199, 9224318015999, 9224318016000, -210866803200, -210866803201, 1e17, -1e17}
	for _, typ := range []types.Type{types.Int4, types.Int8, types.FixedNumeric(18, 0, false)} {
		schema := []plan.Column{{ID: 1, Type: typ}}
		e := call("to_timestamp(float8)", &expr.Cast{Arg: &expr.Col{ID: 1, Typ: typ}, Typ: types.Float8}).(*expr.Call)
		e.Typ = types.Timestamptz
		p, err := eval.Compile(e, schema, newEnv(newHost()))
		if err != nil {
			t.Fatal(err)
		}
		run := func(vals ...types.Datum) (arrow.Array, error) {
			arr, err := column(typ, vals)
			if err != nil {
				t.Fatal(err)
			}
			return p.Eval(context.Background(), batch.New([]arrow.Array{arr}, len(vals)))
		}
		for _, s := range seconds {
			if typ == types.Int4 && int64(int32(s)) != s {
				continue
			}
			var d types.Datum = s
			if typ.OID == types.NumericOID {
				d = number.DecimalFromInt64(s, 0)
			}
			want, bad := datetime.TimestamptzFromUnix(float64(s))
			got, err := run(nil, d)
			if (err != nil) != (bad != nil) {
				t.Errorf("%s %d: error %v, want %v", typ, s, err, bad)
			}
			if err == nil && (types.DatumAt(types.Timestamptz, got, 0) != nil || types.DatumAt(types.Timestamptz, got, 1) != types.Datum(want)) {
				t.Errorf("%s %d: %v, want %d", typ, s, got, want)
			}
		}
	}
}

// TestSecondsBetween: the seconds between two timestamps are the epoch of their interval, as a numeric and as a float, of
// columns and constants, beside NULLs; infinities and differences without an interval are the errors that they are.
func TestSecondsBetween(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	stamps := []types.Datum{nil, int64(0), int64(1), int64(-1), int64(datetime.MicrosPerDay), int64(1) << 50, -int64(1) << 50, int64(1)<<61 - 1, int64(1) << 61, -int64(1) << 61}
	for range 40 {
		stamps = append(stamps, r.Int64N(2e15)-1e15)
	}
	infinite := append(slices.Clone(stamps), int64(math.MaxInt64), int64(math.MinInt64))
	for _, kind := range []types.Type{types.Timestamp, types.Timestamptz} {
		diff := "timestamp_mi(timestamp,timestamp)"
		if kind.OID == types.TimestamptzOID {
			diff = "timestamptz_mi(timestamptz,timestamptz)"
		}
		for _, ret := range []types.Type{types.Float8, types.FixedNumeric(18, 6, false)} {
			id := "extract(text,interval)"
			if ret.OID == types.Float8OID {
				id = "date_part(text,interval)"
			}
			for form, values := range [][]types.Datum{stamps, stamps, infinite} {
				var a, b []types.Datum
				for range 500 {
					a, b = append(a, values[r.IntN(len(values))]), append(b, values[r.IntN(len(values))])
				}
				left := expr.Expr(&expr.Col{ID: 1, Typ: kind})
				if form == 1 {
					left = &expr.Const{Typ: kind, Val: int64(12345678)}
					for i := range a {
						a[i] = int64(12345678)
					}
				}
				e := call(id, &expr.Const{Typ: types.Text, Val: "epoch"}, call(diff, left, &expr.Col{ID: 2, Typ: kind})).(*expr.Call)
				e.Typ = ret
				p, err := eval.Compile(e, []plan.Column{{ID: 1, Type: kind}, {ID: 2, Type: kind}}, newEnv(newHost()))
				if err != nil {
					t.Fatal(err)
				}
				x, err := column(kind, a)
				if err != nil {
					t.Fatal(err)
				}
				y, err := column(kind, b)
				if err != nil {
					t.Fatal(err)
				}
				got, err := p.Eval(context.Background(), batch.New([]arrow.Array{x, y}, len(a)))
				var bad error
				for i := range a {
					var want types.Datum
					if a[i] != nil && b[i] != nil {
						span, no := datetime.TimestampDiff(a[i].(int64), b[i].(int64))
						if no != nil {
							bad = no
							break
						}
						v, _, no := types.Extract("epoch", types.Type{OID: types.IntervalOID, Mod: -1}, span, nil)
						if no != nil {
							t.Fatal(no)
						}
						if want = v; ret.OID == types.Float8OID {
							want = float64(a[i].(int64)-b[i].(int64)) / 1e6 // as date_part of an interval, and PostgreSQL, have it
						}
					}
					if err == nil {
						if d := types.DatumAt(ret, got, i); d != want && fmt.Sprint(d) != fmt.Sprint(want) {
							t.Fatalf("%s %s form %d: between %v and %v are %v, want %v", kind, id, form, a[i], b[i], d, want)
						}
					}
				}
				if (err != nil) != (bad != nil) {
					t.Errorf("%s %s form %d: error %v, want %v", kind, id, form, err, bad)
				}
			}
		}
	}
}
