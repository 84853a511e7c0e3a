package stage_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/internal/plantest"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// within nests n fragments.
func within(n int, open, in, end string) string {
	return strings.Repeat(open, n) + in + strings.Repeat(end, n)
}

// growing returns statements of the shapes that tools generate, with n parts each.
func growing(n int) map[string]string {
	number := func(i int) string { return fmt.Sprint(i) }
	m := map[string]string{
		"and":           "select 1 from t where " + times(n, " and ", func(i int) string { return fmt.Sprintf("a <> %d", i) }),
		"or":            "select 1 from t where " + times(n, " or ", func(i int) string { return fmt.Sprintf("a = %d and b = %d.5", i, i) }),
		"in":            "select 1 from t where a in (" + times(n, ", ", number) + ")",
		"rows":          "select 1 from t where (a, b) in (" + times(n, ", ", func(i int) string { return fmt.Sprintf("(%d, %d)", i, i) }) + ")",
		"case":          "select case " + times(n, " ", func(i int) string { return fmt.Sprintf("when a = %d then %d", i, i) }) + " end from t",
		"constants":     "select " + times(n, ", ", number),
		"sums":          "select " + times(n, ", ", func(i int) string { return fmt.Sprintf("sum(a + %d)", i) }) + " from t",
		"keys":          "select count(*) from t group by " + times(n, ", ", func(i int) string { return fmt.Sprintf("a + %d", i) }),
		"order":         "select a from t order by " + times(n, ", ", func(i int) string { return fmt.Sprintf("a + %d", i) }),
		"windows":       "select " + times(n, ", ", func(i int) string { return fmt.Sprintf("sum(a) over (order by b + %d)", i) }) + " from t",
		"scalar":        "select " + times(n, ", ", func(i int) string { return fmt.Sprintf("(select max(a) from t where b > %d)", i) }),
		"correlated":    "select " + times(n, ", ", func(i int) string { return fmt.Sprintf("(select max(t.a) from t where t.b = u.a + %d)", i) }) + " from u",
		"exists":        "select 1 from u where " + times(n, " and ", func(i int) string { return fmt.Sprintf("exists (select 1 from t where t.a = u.a and t.b <> %d)", i) }),
		"nested in":     "select 1 from t where " + within(n, "a in (select a from t where ", "true", ")"),
		"nested scalar": "select " + within(n, "(select a + ", "1", " from t limit 1)"),
		"nested from":   within(n, "select a from (", "select a from t", ") q"),
		"joins":         "select 1 from t t0 " + times(n, " ", func(i int) string { return fmt.Sprintf("join t t%d on t%d.a = t%d.a", i+1, i, i+1) }),
		"left joins":    "select 1 from t t0 " + times(n, " ", func(i int) string { return fmt.Sprintf("left join t t%d on t0.a = t%d.a", i+1, i+1) }),
		"using":         "select 1 from t t0 " + times(n, " ", func(i int) string { return fmt.Sprintf("join t t%d using (a)", i+1) }),
		"nested joins":  within(n, "select x.a, y.b from (", "select a, b from t", ") x join t y on x.a = y.a"),
		"tables":        "select 1 from " + times(n, ", ", func(i int) string { return fmt.Sprintf("t t%d", i) }),
		"lateral":       "select 1 from t t0" + times(n, "", func(i int) string { return fmt.Sprintf(", lateral (select t%d.a + 1 as a) t%d", i, i+1) }),
		"union all":     times(n, " union all ", func(i int) string { return fmt.Sprintf("select a, %d from t", i) }),
		"union":         times(n, " union ", func(i int) string { return fmt.Sprintf("select %d", i) }),
		"with":          "with " + times(n, ", ", func(i int) string { return fmt.Sprintf("c%d as (select %d as a)", i, i) }) + " " + times(n, " union all ", func(i int) string { return fmt.Sprintf("select a from c%d", i) }),
		"with chain":    "with c0 as (select a from t), " + times(n, ", ", func(i int) string { return fmt.Sprintf("c%d as (select a + 1 as a from c%d)", i+1, i) }) + fmt.Sprintf(" select a from c%d", n),
	}
	return m
}

// TestGrowth: the objects that planning makes grow at most a little faster than the statement, and so does how often
// it looks whether it may go on. Bytes may grow faster: a chain of joins has n columns at each of n places.
func TestGrowth(t *testing.T) {
	w := plantest.Small(t)
	const n, times, most = 100, 4, 8 // what is quadratic grows by 16
	small, large := growing(n), growing(times*n)
	for name := range small {
		t.Run(name, func(t *testing.T) {
			cost := func(sql string) (objects uint64, looks int) {
				var a, b runtime.MemStats
				runtime.ReadMemStats(&a)
				if _, err := w.Plan(sql, func() error { looks++; return nil }); err != nil {
					t.Fatal(err)
				}
				runtime.ReadMemStats(&b)
				return b.Mallocs - a.Mallocs, looks
			}
			cost(small[name]) // what is made once in a process
			o, l := cost(small[name])
			oo, ll := cost(large[name])
			if oo > most*o || ll > most*l || ll <= l {
				t.Errorf("%d objects and %d looks; %d and %d for a statement %d times as long", o, l, oo, ll, times)
			}
		})
	}
}

// TestStop: each of these statements ends with the error of the look that says so, early and late.
func TestStop(t *testing.T) {
	w := plantest.Small(t)
	over := pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request")
	for name, sql := range growing(40) {
		all := 0
		if _, err := w.Plan(sql, func() error { all++; return nil }); err != nil {
			t.Fatal(name, err)
		}
		for _, k := range []int{1, all / 4, all / 2, all} {
			looks := 0
			p, err := w.Plan(sql, func() error {
				if looks++; looks >= k {
					return over
				}
				return nil
			})
			if p != nil || err != error(over) || looks != k {
				t.Errorf("%s: told at look %d of %d: %v, %v, %d looks", name, k, all, p, err, looks)
			}
		}
	}
}
