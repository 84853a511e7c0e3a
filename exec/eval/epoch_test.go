package eval_test

import (
	"context"
	"math"
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
