package eval

import (
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// compiler turns expressions into nodes.
type compiler struct {
	env  *function.Env
	cols []plan.Column      // of the input
	ord  map[expr.ColID]int // their places; nil where there are few
	// Of several expressions: the calls seen, and the places of those that
	// occur more than once, by fingerprint.
	seen    map[string]bool
	shared  map[string]int
	members map[string]*members
	// again: the programs are for several statements; what keeps something of one is listed in resting.
	again   bool
	resting []resting
}

// fewColumns are searched linearly: a map pays only for more expressions than most statements have.
const fewColumns = 16

func newCompiler(in []plan.Column, env *function.Env) *compiler {
	c := &compiler{env: env, cols: in}
	if len(in) > fewColumns {
		c.ord = make(map[expr.ColID]int, len(in))
		for i := len(in) - 1; i >= 0; i-- { // of two columns with one ID the first is used
			c.ord[in[i].ID] = i
		}
	}
	return c
}

// place returns the ordinal of a column in the input.
func (c *compiler) place(id expr.ColID) (int, bool) {
	if c.ord != nil {
		i, ok := c.ord[id]
		return i, ok
	}
	for i := range c.cols {
		if c.cols[i].ID == id {
			return i, true
		}
	}
	return 0, false
}

func (c *compiler) compile(e expr.Expr) (node, error) {
	if shareable(e) && len(c.shared) > 0 {
		if key, ok := Fingerprint(e); ok {
			if i, ok := c.shared[key]; ok {
				of, err := c.plain(e)
				return &sharedNode{of: of, i: i}, err
			}
		}
	}
	return c.plain(e)
}

func (c *compiler) plain(e expr.Expr) (node, error) {
	switch e := e.(type) {
	case *expr.Col:
		i, ok := c.place(e.ID)
		if !ok {
			return nil, pgerr.Internal("column %s (%d) is not in the input", e.Name, e.ID)
		}
		return &colNode{ord: i, typ: e.Typ}, nil
	case *expr.Const:
		return newConst(e.Typ, e.Val)
	case *expr.Param:
		if e.N < 1 || e.N > len(c.env.Params) {
			return nil, pgerr.New(pgerr.UndefinedParameter, "there is no parameter $%d", e.N)
		}
		if c.again {
			return &paramNode{n: e.N, typ: e.Typ}, nil
		}
		return newConst(e.Typ, c.env.Params[e.N-1])
	case *expr.Call:
		if n, err := c.quotientCompare(e); n != nil || err != nil {
			return n, err
		}
		if n, err := c.roundedQuotient(e); n != nil || err != nil {
			return n, err
		}
		if n, err := c.wholeEpoch(e); n != nil || err != nil {
			return n, err
		}
		if n, err := c.secondsBetween(e); n != nil || err != nil {
			return n, err
		}
		from := inPlace(e.Fn.ID, e.Args)
		args, err := c.all(from)
		if err != nil {
			return nil, err
		}
		n, err := newCall(e.Fn, args, typesOf(from), e.Typ, c.env)
		alone, ok := n.(*callNode)
		if ok && len(c.members) > 0 {
			return c.member(e, alone), err
		}
		if ok && c.again {
			c.resting = append(c.resting, alone)
		}
		return n, err
	case *expr.Cast:
		return c.cast(e)
	case *expr.Case:
		return c.caseOf(e)
	case *expr.And:
		args, err := c.all(e.Args)
		if err != nil {
			return nil, err
		}
		return &logicNode{args: args, cheap: cheapAll(e.Args), stop: 0}, nil
	case *expr.Or:
		args, err := c.all(e.Args)
		if err != nil {
			return nil, err
		}
		return &logicNode{args: args, cheap: cheapAll(e.Args), stop: 1}, nil
	case *expr.Not:
		arg, err := c.compile(e.Arg)
		return &notNode{arg}, err
	case *expr.IsNull:
		arg, err := c.compile(e.Arg)
		return &nullTest{arg: arg, not: e.Not, typ: e.Arg.Type()}, err
	case *expr.BoolTest:
		arg, err := c.compile(e.Arg)
		return &truthNode{arg: arg, kind: e.Kind, not: e.Not}, err
	case *expr.Distinct:
		return c.distinct(e)
	case *expr.In:
		return c.in(e)
	case *expr.AnyAll:
		return c.anyAll(e)
	case *expr.Coalesce:
		return c.coalesce(e)
	case *expr.MinMax:
		args, err := c.all(e.Args)
		return &minMaxNode{args: args, greatest: e.Greatest, typ: e.Typ}, err
	case *expr.ArrayCtor:
		args, err := c.all(e.Elems)
		return &arrayNode{args: args, types: typesOf(e.Elems), typ: e.Typ}, err
	case *expr.RowCtor:
		args, err := c.all(e.Elems)
		return &rowNode{args: args, types: typesOf(e.Elems), typ: e.Typ}, err
	case *expr.Subscript:
		return c.subscript(e)
	case *expr.Field:
		arg, err := c.compile(e.Arg)
		return &fieldNode{arg: arg, index: e.Index, from: e.Arg.Type(), typ: e.Typ}, err
	case *expr.Predict:
		return c.predictions([]*expr.Predict{e})
	case *expr.Subquery:
		return nil, pgerr.Internal("a subquery reached execution")
	}
	return nil, pgerr.Internal("cannot compile %T", e)
}

func (c *compiler) all(es []expr.Expr) ([]node, error) {
	out := make([]node, len(es))
	for i, e := range es {
		n, err := c.compile(e)
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}

func typesOf(es []expr.Expr) []types.Type {
	out := make([]types.Type, len(es))
	for i, e := range es {
		out[i] = e.Type()
	}
	return out
}

func cheapAll(es []expr.Expr) []bool {
	out := make([]bool, len(es))
	for i, e := range es {
		out[i] = cheap(e)
	}
	return out
}

// cheap reports whether an expression may be computed for rows that do not need
// it: it cannot fail and takes less time than selecting the rows that do.
func cheap(e expr.Expr) bool {
	ok := true
	expr.Walk(e, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *expr.Col, *expr.Const, *expr.Param, *expr.IsNull, *expr.BoolTest, *expr.And, *expr.Or, *expr.Not:
		case *expr.Call:
			if x.Fn.CanFail || x.Fn.Vol != fn.Immutable || !cheapArgs(x) {
				ok = false
			}
		default:
			ok = false
		}
		return ok
	})
	return ok
}

// cheapArgs reports whether a comparison is of numbers or dates.
func cheapArgs(c *expr.Call) bool {
	if c.Typ.OID != types.BoolOID {
		return false
	}
	for _, a := range c.Args {
		switch a.Type().Form() {
		case vector.Bool, vector.I16, vector.I32, vector.I64, vector.U32, vector.F32, vector.F64:
		default:
			return false
		}
	}
	return true
}

// ---- leaves ----

type colNode struct {
	ord int
	typ types.Type
}

func (n *colNode) eval(fr *frame) (*vector.Vec, error) { return fr.column(n.ord, n.typ) }

type constNode struct {
	typ types.Type
	val types.Datum
	v   vector.Vec
}

func newConst(t types.Type, d types.Datum) (*constNode, error) {
	v, err := vector.NewConst(t, d, 1)
	if err != nil {
		return nil, err
	}
	return &constNode{typ: t, val: d, v: *v}, nil
}

func (n *constNode) eval(fr *frame) (*vector.Vec, error) {
	v := n.v
	v.N = fr.n
	return &v, nil
}

// paramNode is a parameter of the statement that runs.
type paramNode struct {
	n   int
	typ types.Type
}

func (n *paramNode) eval(fr *frame) (*vector.Vec, error) {
	return vector.NewConst(n.typ, fr.env.Params[n.n-1], fr.n)
}
