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

// betweenNode is extract(epoch FROM a - b) of timestamps, as fixed numeric or as float8: the microseconds between them,
// without an interval a row.
type betweenNode struct {
	twoOperands
	float bool
	plain node // of all rows where one is infinite, or so far from 1970 that the microseconds may be too many
}

// secondsBetween is the node of such a call, be it extract or date_part; nil where e is another.
func (c *compiler) secondsBetween(e *expr.Call) (node, error) {
	if e.Fn == nil || e.Fn.ID != "extract(text,interval)" && e.Fn.ID != "date_part(text,interval)" {
		return nil, nil
	}
	float := e.Typ.OID == types.Float8OID
	field, known := e.Args[0].(*expr.Const)
	diff, ok := e.Args[1].(*expr.Call)
	if !known || !ok || diff.Fn == nil || diff.Fn.ID != "timestamp_mi(timestamp,timestamp)" && diff.Fn.ID != "timestamptz_mi(timestamptz,timestamptz)" ||
		!float && !(e.Typ.IsFixed() && e.Typ.Scale == 6) {
		return nil, nil
	}
	if name, ok := field.Val.(string); !ok || !datetime.IsEpoch(name) {
		return nil, nil
	}
	args, err := c.all(e.Args)
	if err != nil {
		return nil, err
	}
	plain, err := newCall(e.Fn, args, typesOf(e.Args), e.Typ, c.env)
	if err != nil {
		return nil, err
	}
	if alone, ok := plain.(*callNode); ok && c.again {
		c.resting = append(c.resting, alone)
	}
	sides, err := c.all(diff.Args)
	if err != nil {
		return nil, err
	}
	return &betweenNode{twoOperands{a: sides[0], b: sides[1]}, float, plain}, nil
}

func (n *betweenNode) eval(fr *frame) (*vector.Vec, error) {
	a, b, valid, err := n.operands(fr)
	if err != nil || a == nil {
		return vector.NewNull(fr.n), err
	}
	if a.Kind != vector.I64 || b.Kind != vector.I64 || a.One && b.One {
		return n.plain.eval(fr)
	}
	x, y := vector.Values[int64](a.Spread(fr.a)), vector.Values[int64](b.Spread(fr.a))
	const half = int64(1) << 61
	out, odd := vector.Alloc[int64](fr.a, fr.n), uint64(0)
	for i := range out {
		odd |= uint64(x[i]+half)>>62 | uint64(y[i]+half)>>62
		out[i] = x[i] - y[i]
	}
	if odd != 0 { // perhaps of a row that is NULL
		return n.plain.eval(fr)
	}
	if !n.float {
		return vector.NewFixed(vector.I64, out, valid), nil
	}
	seconds := vector.Alloc[float64](fr.a, fr.n)
	for i, v := range out {
		seconds[i] = float64(v) / 1e6
	}
	return vector.NewFixed(vector.F64, seconds, valid), nil
}
