package stage_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/tributarydb/tributary/internal/plantest"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/stage"
)

// TestStage runs testdata: SQL to stages and to EXPLAIN's forms.
//
//	stage [nodes=N] [threads=N]     the stages
//	explain [nodes=N] [analyze] [verbose] [json] [dot]
func TestStage(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if !strings.HasSuffix(path, ".txt") {
			return
		}
		w := plantest.Small(t)
		if strings.Contains(path, "tpch") {
			w = plantest.TPCH(t)
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			o := stage.Options{Rows: props.RowsFunc(w, nil)}
			format := "text"
			w.Nodes = 1
			analyze, threads := false, 0
			for _, a := range d.CmdArgs {
				switch a.Key {
				case "nodes":
					fmt.Sscan(a.Vals[0], &w.Nodes)
				case "threads":
					fmt.Sscan(a.Vals[0], &threads)
				case "analyze":
					analyze = true
				case "verbose":
					o.Verbose = true
				case "json", "dot":
					format = a.Key
				}
			}
			o.Nodes = w.Nodes
			q, err := w.Optimize(t, d.Input)
			if err != nil {
				return err.Error() + "\n"
			}
			s, err := stage.Stage(q.Root, q.Cols, &stage.Env{Nodes: w.Nodes, Threads: threads, Stats: w})
			if err != nil {
				return err.Error() + "\n"
			}
			for _, b := range q.Buffers {
				p, err := stage.Stage(b.Root, b.Cols, &stage.Env{Nodes: w.Nodes, Stats: w})
				if err != nil {
					return err.Error() + "\n"
				}
				o.Parts = append(o.Parts, stage.Part{Name: b.Name, Plan: p})
			}
			if d.Cmd == "stage" {
				return stagesText(s)
			}
			if analyze {
				o.Actuals = stage.Actuals{}
				for _, st := range s.Stages {
					n := 0
					walk(st.Root, func(plan.Node) {
						o.Actuals[stage.Key{Stage: st.ID, Node: n}] = stage.NodeStats{Rows: int64(100 - n), Batches: 1, Threads: 1 + n%2, Time: time.Duration(n+1) * time.Millisecond,
							Memory: int64(n) << 14, Spilled: int64(n%2) << 20, Tasks: 1}
						n++
					})
				}
				o.Planning, o.Execution = time.Millisecond, 5*time.Millisecond
			}
			switch format {
			case "json":
				out := o.JSON(s)
				var v any
				if err := json.Unmarshal([]byte(out), &v); err != nil {
					t.Errorf("not JSON: %v\n%s", err, out)
				}
				return out + "\n"
			case "dot":
				return o.DOT(s)
			}
			return strings.Join(o.Text(s), "\n") + "\n"
		})
	})
}

func walk(n plan.Node, f func(plan.Node)) {
	f(n)
	for _, k := range n.Children() {
		walk(k, f)
	}
}

func stagesText(s *plan.Staged) string {
	var b strings.Builder
	for _, st := range s.Stages {
		fmt.Fprintf(&b, "stage %d", st.ID)
		if st.Where == plan.OnAll {
			b.WriteString(" on all")
		}
		if st.Single {
			b.WriteString(" single")
		}
		if st.Out != nil {
			fmt.Fprintf(&b, " -> %d %s", st.Out.To, [...]string{"gather", "hash", "broadcast", "spread"}[st.Out.Kind])
			for _, k := range st.Out.Keys {
				b.WriteString(" " + plan.ExprString(k, true))
			}
		}
		if st.RuntimeFilter != nil {
			fmt.Fprintf(&b, ", runtime filter -> %d", st.RuntimeFilter.To)
			for _, k := range st.RuntimeFilter.Keys {
				b.WriteString(" " + plan.ExprString(k, true))
			}
		}
		b.WriteString("\n")
		for _, l := range strings.Split(strings.TrimSpace(plan.Format(st.Root)), "\n") {
			b.WriteString("  " + l + "\n")
		}
	}
	return b.String()
}
