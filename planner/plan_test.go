package planner_test

import (
	"testing"

	"github.com/tributarydb/tributary/internal/plantest"
	"github.com/tributarydb/tributary/planner"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// env is a planning environment with one parameter. local says whether all rows that a plan reads
// are on this node.
func env(w *plantest.World, param int64, local bool) *planner.Env {
	e := w.Planning()
	e.Params = []types.Datum{param}
	e.WithoutParams = func(func()) rule.Folder { return plantest.Folder{} }
	e.Local = func(plan.Node) bool { return local }
	return e
}

// TestGenericPlan: a look-up by key has a generic plan, used by every execution for which the rows
// are on this node; other queries are planned for each execution (a custom plan).
func TestGenericPlan(t *testing.T) {
	w := plantest.Small(t)
	for sql, generic := range map[string]bool{
		"select c from t where a = $1": true,
		"select c from t where a > $1": false,
		"with x as materialized (select c, b from t where a = $1) select * from x, x y": false,
	} {
		q, err := w.Bind(sql)
		if err != nil {
			t.Fatal(sql, err)
		}
		b := &planner.Bound{Query: q}
		planOf := func(b *planner.Bound, param int64, local bool) *planner.Planned {
			p, err := planner.Plan(b, env(w, param, local))
			if err != nil {
				t.Fatal(sql, err)
			}
			if p.Staged == nil {
				t.Fatal(sql, "has no stages")
			}
			return p
		}
		if one, two := planOf(b, 1, true), planOf(b, 2, true); (one == two) != generic {
			t.Errorf("%s: plans are shared: %v", sql, one == two)
		}
		if away := planOf(b, 1, false); away == planOf(b, 1, true) {
			t.Errorf("%s: a plan for this node serves where rows are elsewhere", sql)
		}
		once := planner.Once(q)
		if planOf(once, 1, true) == planOf(once, 2, true) {
			t.Errorf("%s: what is run once has a generic plan", sql)
		}
	}
}

// TestPrivilegesOfPlans: a role without the privilege to read a table gets no plan, not even one
// that is cached.
func TestPrivilegesOfPlans(t *testing.T) {
	w := plantest.Small(t)
	q, err := w.Bind("select c from t where a = $1")
	if err != nil {
		t.Fatal(err)
	}
	b := &planner.Bound{Query: q}
	if _, err := planner.Plan(b, env(w, 1, true)); err != nil {
		t.Fatal(err)
	}
	for _, local := range []bool{true, false} {
		stranger := env(w, 1, local)
		stranger.Role = types.FirstUserOID + 1000
		if _, err := planner.Plan(b, stranger); !pgerr.Is(err, pgerr.InsufficientPrivilege) {
			t.Errorf("local %v: %v", local, err)
		}
		if _, err := planner.Optimize(b, stranger); !pgerr.Is(err, pgerr.InsufficientPrivilege) {
			t.Errorf("local %v: %v", local, err)
		}
	}
}
