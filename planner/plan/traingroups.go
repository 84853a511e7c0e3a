package plan

import "github.com/tributarydb/tributary/planner/expr"

// TrainGroups trains a model on the rows of each group, and emits a row a group: its keys, and what became of it
// in Out (bytea). NULL is a key as others are. The rows that a group is trained on are the columns of Input that
// no key is. Job is the encoding of the training (ml/train): it is all that a node needs, so that nothing is opened
// there beforehand. Groups whose keys are in Done (groups.Keys) are left out, and of one with more than Long rows, if
// that is not 0, comes only that it has them.
type TrainGroups struct {
	relation
	Input Node
	Keys  []Item // columns of Input, the last ones
	Job   []byte
	Out   Column
	Done  []byte
	Long  int64
}

// By returns the expressions of the keys.
func (n *TrainGroups) By() []expr.Expr {
	out := make([]expr.Expr, len(n.Keys))
	for i, k := range n.Keys {
		out[i] = k.Expr
	}
	return out
}

func (n *TrainGroups) Children() []Node { return []Node{n.Input} }

func (n *TrainGroups) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}

// Schema of trained groups: the keys, and the result.
func (n *TrainGroups) Schema() []Column {
	out := make([]Column, 0, len(n.Keys)+1)
	for _, k := range n.Keys {
		out = append(out, k.Col)
	}
	return append(out, n.Out)
}

func (*TrainGroups) Traits() Traits { return Traits{Holds: true} }

func (n *TrainGroups) mapExprs(m *mapper) Node {
	c := *n
	c.Keys = m.items(n.Keys)
	return &c
}

func (n *TrainGroups) format(p *printer) string {
	return "TrainGroups by " + p.items(n.Keys)
}
