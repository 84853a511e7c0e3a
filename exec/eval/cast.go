package eval

import "github.com/tributarydb/tributary/planner/expr"

// castNode is a cast.
type castNode struct {
	arg  node
	conv *conversion
}

func (c *compiler) cast(e *expr.Cast) (node, error) {
	from, to := e.Arg.Type(), e.Typ
	arg, err := c.compile(e.Arg)
	if err != nil {
		return nil, err
	}
	conv, err := castOf(from, to, e.Explicit)
	if err != nil {
		return nil, err
	}
	if conv == nil {
		return arg, nil
	}
	return &castNode{arg: arg, conv: newConversion(from, to, conv)}, nil
}

func (n *castNode) eval(fr *frame) (*vec, error) {
	v, err := n.arg.eval(fr)
	if err != nil {
		return nil, err
	}
	return n.conv.apply(fr.ctx, fr.env, fr.a, v)
}
