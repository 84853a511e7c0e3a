package query

import (
	"strings"

	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/stage"
)

// Explain is how EXPLAIN shows a plan.
type Explain struct {
	Analyze, Verbose, NoCosts bool
	Format                    string // text, json, yaml, xml or dot
}

// Note keeps the plan that has just run for d, and what it did, for Show. Later plans of the same statement
// only check what was written.
func (r *Executor) Note(d *plan.DML) {
	if r.Analyze && r.main == nil {
		r.main = &stage.Part{Plan: r.staged, Writes: d, Actuals: r.Actuals()}
	}
}

// Show prints the plan that Note kept, or else the last one that was cut into stages. d is the statement if
// it writes.
func (r *Executor) Show(o Explain, d *plan.DML) string {
	shown := r.staged
	if r.main != nil {
		shown = r.main.Plan
	}
	if shown == nil {
		return ""
	}
	opts := stage.Options{Rows: props.RowsFunc(props.FromState(r.state), nil), Verbose: o.Verbose, NoCosts: o.NoCosts, Nodes: r.nodes, Writes: d, Parts: r.parts}
	switch {
	case o.Analyze && r.main != nil:
		opts.Actuals = r.main.Actuals
	case o.Analyze:
		opts.Actuals = r.Actuals()
	}
	switch o.Format {
	case "json":
		return opts.JSON(shown)
	case "yaml":
		return opts.YAML(shown)
	case "xml":
		return opts.XML(shown)
	case "dot":
		return opts.DOT(shown)
	}
	return strings.Join(opts.Text(shown), "\n") + "\n"
}
