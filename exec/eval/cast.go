package eval

import (
	"github.com/tributarydb/tributary/exec/cast"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/expr"
)

// castNode is a cast.
type castNode struct {
	arg  node
	conv *cast.Conversion
}

func (c *compiler) cast(e *expr.Cast) (node, error) {
	from, to := e.Arg.Type(), e.Typ
	arg, err := c.compile(e.Arg)
	if err != nil {
		return nil, err
	}
	conv, err := cast.Between(from, to, e.Explicit)
	if err != nil {
		return nil, err
	}
	if conv == nil {
		return arg, nil
	}
	return &castNode{arg: arg, conv: cast.New(from, to, conv)}, nil
}

func (n *castNode) eval(fr *frame) (*vector.Vec, error) {
	v, err := n.arg.eval(fr)
	if err != nil {
		return nil, err
	}
	return n.conv.Apply(fr.ctx, fr.env, fr.a, v)
}
