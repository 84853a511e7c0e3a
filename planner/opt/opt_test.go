package opt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/tributarydb/tributary/internal/plantest"
	"github.com/tributarydb/tributary/planner/opt"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestPlans runs testdata:
//
//	plan           prints the optimised plan of a query
//	rule=NAME      also prints the tree after the last change by this rule
//	nodes=N        plans for a cluster of N nodes
func TestPlans(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := plantest.Small(t)
		if strings.Contains(path, "tpch") {
			w = plantest.TPCH(t)
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "plan" {
				t.Fatalf("unknown command %s", d.Cmd)
			}
			var rule string
			w.Nodes = 1
			for _, a := range d.CmdArgs {
				switch a.Key {
				case "rule":
					rule = a.Vals[0]
				case "nodes":
					fmt.Sscan(a.Vals[0], &w.Nodes)
				}
			}
			if rule != "" {
				return after(w, d.Input, rule)
			}
			q, err := w.Optimize(t, d.Input)
			if err != nil {
				e := pgerr.From(err)
				return fmt.Sprintf("%s: %s\n", e.Code, e.Message)
			}
			return plan.FormatQuery(q)
		})
	})
}

// after returns the tree after the last change by a rule.
func after(w *plantest.World, sql, rule string) string {
	q, err := w.Bind(sql)
	if err != nil {
		return err.Error() + "\n"
	}
	out := "unchanged\n"
	env := w.Env()
	env.Trace = func(name string, n plan.Node) {
		if name == rule {
			out = plan.Format(n)
		}
	}
	if _, err := opt.Optimize(q, env); err != nil {
		return err.Error() + "\n"
	}
	return out
}
