package stage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/internal/plantest"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// times returns n fragments of SQL, joined by sep.
func times(n int, sep string, part func(i int) string) string {
	out := make([]string, n)
	for i := range out {
		out[i] = part(i)
	}
	return strings.Join(out, sep)
}

// long returns statements that take long to plan, each for another reason.
func long(n int) map[string]string {
	return map[string]string{
		"joins": "select count(*) from " + times(n, ", ", func(i int) string { return fmt.Sprintf("u u%d", i) }) +
			" where " + times(n-1, " and ", func(i int) string { return fmt.Sprintf("u%d.a = u%d.a", i, i+1) }),
		"outer joins": "select count(*) from u u0 " + times(n, " ", func(i int) string { return fmt.Sprintf("left join t u%d on u%d.a = u%d.a", i+1, i, i+1) }),
		"ors":         "select count(*) from u join t on " + times(10*n, " or ", func(i int) string { return fmt.Sprintf("u.a = %d and t.a = %d", i, i) }),
		"aggregates":  "select " + times(n, ", ", func(i int) string { return fmt.Sprintf("sum(a + %d)", i) }) + " from u group by cube (a, x, y)",
		"with": "with c0 as (select 1 x), " + times(n, ", ", func(i int) string { return fmt.Sprintf("c%d as (select x + 1 x from c%d)", i+1, i) }) +
			fmt.Sprintf(" select * from c%d", n),
		"subqueries": "select 1 from u where " + times(n, " and ", func(i int) string { return fmt.Sprintf("exists (select 1 from t where t.a = u.a and t.b = %d)", i) }),
		"unions":     times(n, " union all ", func(i int) string { return fmt.Sprintf("select %d + 1 from u", i) }),
		"values":     "values " + times(10*n, ", ", func(i int) string { return fmt.Sprintf("(%d, %d + 1)", i, i) }),
	}
}

// TestPoll: planning calls Poll throughout, and returns the error of Poll whichever call fails. So
// a statement can be cancelled while it is planned.
func TestPoll(t *testing.T) {
	w := plantest.Small(t)
	w.Nodes = 3
	over := pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request")
	for name, sql := range long(30) {
		t.Run(name, func(t *testing.T) {
			all := 0
			whole, err := w.Plan(sql, func() error { all++; return nil })
			if err != nil {
				t.Fatal(err)
			}
			if all < 200 {
				t.Errorf("%d looks", all)
			}
			for k := 1; k <= all; k += 1 + all/40 {
				looks := 0
				p, err := w.Plan(sql, func() error {
					if looks++; looks >= k {
						return over
					}
					return nil
				})
				if p != nil || err != error(over) || looks != k {
					t.Fatalf("told at look %d of %d: %v, %v, %d looks", k, all, p, err, looks)
				}
			}
			again, err := w.Plan(sql, nil)
			if err != nil {
				t.Fatal(err)
			}
			if a, b := stagesText(whole), stagesText(again); a != b {
				t.Errorf("the plan differs after the others\n%s\n%s", a, b)
			}
		})
	}
}

// TestPollOften: the number of calls grows with the statement.
func TestPollOften(t *testing.T) {
	w := plantest.Small(t)
	small, large := long(20), long(80)
	for name := range small {
		count := func(sql string) (n int) {
			if _, err := w.Plan(sql, func() error { n++; return nil }); err != nil {
				t.Fatal(err)
			}
			return n
		}
		if a, b := count(small[name]), count(large[name]); b < 2*a {
			t.Errorf("%s: %d looks where four times less had %d", name, b, a)
		}
	}
}
