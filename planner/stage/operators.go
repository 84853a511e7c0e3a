package stage

import "github.com/tributarydb/tributary/planner/plan"

// Operator is a node of a staged plan as EXPLAIN shows it.
type Operator struct {
	Key
	Parent int // its place in the list, -1 for the root
	Kind   string
	Title  string
	Detail []string // "Filter: (a > 1)"
	Rows   float64  // estimated
	Sends  bool     // its rows go to another stage: the bytes are counted at the node 0 of its stage
}

// Operators lists the nodes of a plan, each after the one that reads it. rows estimates a node's rows.
func Operators(s *plan.Staged, rows func(plan.Node) float64) (out []Operator) {
	var walk func(e *entry, parent int)
	walk = func(e *entry, parent int) {
		o := Operator{Key: Key{e.stage, e.num}, Parent: parent, Kind: e.kind, Title: e.title, Rows: e.rows, Sends: parent >= 0 && out[parent].Stage != e.stage}
		for _, p := range e.props {
			o.Detail = append(o.Detail, p.name+": "+p.text)
		}
		at := len(out)
		out = append(out, o)
		for _, k := range e.kids {
			walk(k, at)
		}
	}
	walk(describe(s, &Options{Rows: rows}, nil), -1)
	return out
}
