package eval

import (
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/types"
)

// epochNode is to_timestamp of whole seconds, as bins of time are made of: of seconds near enough to 1970 floats are exact,
// and the time is a multiple.
type epochNode struct{ seconds node }

// wholeEpoch is the node of to_timestamp of integers and of fixed numerics without a fraction; nil where e is another call.
func (c *compiler) wholeEpoch(e *expr.Call) (node, error) {
	if e.Fn == nil || e.Fn.ID != "to_timestamp(float8)" {
		return nil, nil
	}
	cast, ok := e.Args[0].(*expr.Cast)
	if !ok {
		return nil, nil
	}
	if t := cast.Arg.Type(); !t.IsInteger() && !(t.OID == types.NumericOID && t.IsFixed() && t.Scale == 0) {
		return nil, nil
	}
	arg, err := c.compile(cast.Arg)
	return &epochNode{arg}, err
}

func (n *epochNode) eval(fr *frame) (*vector.Vec, error) {
	v, err := n.seconds.eval(fr)
	if err != nil || v.AllNull() {
		return vector.NewNull(fr.n), err
	}
	v = v.Spread(fr.a)
	out := vector.Alloc[int64](fr.a, fr.n)
	if v.Kind == vector.I64 {
		copy(out, vector.Values[int64](v))
	} else {
		for i, read := 0, vector.IntReader(v); i < len(out); i++ {
			out[i] = read(i)
		}
	}
	const near = 1 << 37 // seconds, four thousand years
	for i, s := range out {
		if out[i] = s * 1e6; uint64(s)+near < 2*near || v.Null(i) {
			continue
		}
		if out[i], err = datetime.TimestamptzFromUnix(float64(s)); err != nil {
			return nil, err
		}
	}
	return vector.NewFixed(vector.I64, out, v.Valid), nil
}
