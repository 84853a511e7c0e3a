package eval

import (
	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/cast"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// predictNode applies a model to its features. It keeps the other predictions of the same scoring
// for the sameScores nodes that return them.
type predictNode struct {
	asked  []*expr.Predict
	each   []*expr.Predict // the predictions by column: a record has one of each part
	from   []int           // by asked, the first of its columns in each
	args   []node
	scorer function.Scorer
	got    []arrow.Array // of each
}

func (c *compiler) predictions(asked []*expr.Predict) (*predictNode, error) {
	args, err := c.all(asked[0].Args)
	n := &predictNode{asked: asked, args: args}
	for _, e := range asked {
		n.from = append(n.from, len(n.each))
		n.each = append(n.each, columnsAsked(e)...)
	}
	return n, err
}

// columnsAsked are the predictions of the columns that e is made of.
func columnsAsked(e *expr.Predict) []*expr.Predict {
	if e.Typ.OID != types.RecordOID {
		return []*expr.Predict{e}
	}
	out := make([]*expr.Predict, len(e.Parts))
	for i := range e.Parts {
		p := *e
		p.Parts, p.Typ = e.Parts[i:i+1], e.Typ.Rec.Fields[i].Type
		out[i] = &p
	}
	return out
}

// answer returns the column of prediction asked[i].
func (n *predictNode) answer(fr *frame, i int) (*vector.Vec, error) {
	e, at := n.asked[i], n.from[i]
	if e.Typ.OID != types.RecordOID {
		return vector.FromArrow(fr.a, n.got[at]), nil
	}
	fields := make([]*vector.Vec, len(e.Parts))
	for k := range fields {
		fields[k] = vector.FromArrow(fr.a, n.got[at+k])
	}
	return cast.NewStruct(fr.a, e.Typ, fields, nil, fr.n)
}

func (n *predictNode) eval(fr *frame) (*vector.Vec, error) {
	e := n.asked[0]
	if n.scorer == nil {
		if fr.env.Host == nil {
			return nil, pgerr.Unsupported("model %q cannot be used here", e.Model)
		}
		s, err := fr.env.Host.Scorer(fr.ctx, e.Ref, fr.env.Pool)
		if err != nil {
			return nil, err
		}
		n.scorer = s
	}
	cols := make([]arrow.Array, len(n.args))
	for i, arg := range n.args {
		v, err := arg.eval(fr)
		if err != nil {
			return nil, err
		}
		if cols[i], err = fr.a.Detach(v.Spread(fr.a)).ToArrow(e.Args[i].Type()); err != nil {
			return nil, err
		}
	}
	var err error
	if n.got, err = n.scorer.Score(fr.ctx, n.each, cols, fr.n, fr.scratch); err != nil {
		return nil, err
	}
	return n.answer(fr, 0)
}

// sameScores returns what a predictNode has computed for the rows.
type sameScores struct {
	of *predictNode
	i  int
}

func (n *sameScores) eval(fr *frame) (*vector.Vec, error) {
	return n.of.answer(fr, n.i)
}

// SameScores reports whether two predictions can share one scoring of the model:
// they are of one model for the same features.
func SameScores(a, b *expr.Predict) bool {
	if a.Ref != b.Ref || len(a.Args) != len(b.Args) {
		return false
	}
	for i, x := range a.Args {
		name, ok := Fingerprint(x)
		if other, _ := Fingerprint(b.Args[i]); !ok || name != other {
			return false
		}
	}
	return true
}

// CompileScores makes the programs of predictions that share one scoring (SameScores). For
// each batch they must be run in this order, all of them.
func CompileScores(es []*expr.Predict, in []plan.Column, env *function.Env) ([]*Program, error) {
	if env == nil {
		env = &function.Env{}
	}
	var all *predictNode
	out := make([]*Program, len(es))
	for i, e := range es {
		p, err := compileRoot(e.Typ, newCompiler(in, env), newScratch(env), func(c *compiler) (node, error) {
			if i > 0 {
				return &sameScores{all, i}, nil
			}
			var err error
			all, err = c.predictions(es)
			return all, err
		})
		if err != nil {
			return nil, err
		}
		out[i] = p
	}
	return out, nil
}
