package query

import (
	"strings"

	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/stage"
)

// Explain is how EXPLAIN shows a plan.
type Explain struct {
	Analyze, Verbose, NoCosts bool
	Format                    string // text, json or dot
}

// Show prints the plan staged last, under head.
func (r *Run) Show(o Explain, head string) string {
	if r.staged == nil {
		return ""
	}
	opts := stage.Options{Rows: props.RowsFunc(props.FromState(r.state)), Verbose: o.Verbose, NoCosts: o.NoCosts, Nodes: r.nodes, Head: head}
	if o.Analyze {
		opts.Actuals = r.Actuals()
	}
	switch o.Format {
	case "json":
		return opts.JSON(r.staged)
	case "dot":
		return opts.DOT(r.staged)
	}
	return strings.Join(opts.Text(r.staged), "\n") + "\n"
}
