package opt_test

import (
	"testing"

	"github.com/tributarydb/tributary/internal/plantest"
	"github.com/tributarydb/tributary/planner/opt"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
)

func TestKeyed(t *testing.T) {
	w := plantest.Small(t)
	for sql, want := range map[string]bool{
		"select 1":                     true,
		"select c from t where a = $1": true,
		"select c from t where $1 = a and b > 3 order by c limit 1":         true,
		"select count(*) from t where a = 5":                                true,
		"select t.c from t join s on t.b = s.v where t.a = $1 and s.k = $2": true,
		"select c from t where a > $1":                                      false,
		"select c from t where b = $1":                                      false,
		"select c from t where a = b":                                       false,
		"select c from t where a = $1 or a = $2":                            false,
		"select t.c from t join s on t.b = s.k where t.a = $1":              false,
		"select g from generate_series(1, 10) g":                            false,
		"select c from t where a = $1 union all select y from u":            false,
	} {
		q, err := w.Optimize(t, sql)
		if err != nil {
			t.Fatal(sql, err)
		}
		if got := opt.Keyed(q.Root, props.Estimates(w)); got != want {
			t.Errorf("%s: %v\n%s", sql, got, plan.FormatQuery(q))
		}
	}
}

// TestEstimatesProveNothing: the least and greatest values of the present rows prove nothing for a
// cached plan, since rows may be added before it runs again; constraints do.
func TestEstimatesProveNothing(t *testing.T) {
	w := plantest.Small(t)
	exact, est := w.Table(w.OID("t")), props.Estimates(w).Table(w.OID("t"))
	for num := range int16(4) {
		a, _ := exact.Col(num + 1)
		b, ok := est.Col(num + 1)
		if !ok || !a.Bounds || b.Bounds || a.NDV != b.NDV || a.Min != b.Min && num != 3 || exact.NotNull(num+1) != est.NotNull(num+1) {
			t.Errorf("column %d: %+v, %+v", num+1, a, b)
		}
	}
	if est.Rows != exact.Rows || len(est.Unique) != 1 || props.Estimates(w).Table(1) != nil {
		t.Errorf("%+v", est)
	}
}
