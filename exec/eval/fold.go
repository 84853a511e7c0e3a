package eval

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/vector"
)

// foldRows is after how many rows Fold frees its memory, foldHolds after how many bytes: each row leaves a value behind.
const (
	foldRows  = 1024
	foldHolds = 4 << 20
)

// Fold computes the expression for one row of cols after the other. Its first column is the value for the row before,
// at first state, a column of one row; the last value is returned.
func (p *Program) Fold(ctx context.Context, state arrow.Array, cols []arrow.Array, rows []int32) (out arrow.Array, err error) {
	defer p.mem.m.Catch(1, &err)
	b := batch.New(append([]arrow.Array{state}, cols...), 1)
	loaded := make([]*vector.Vec, len(b.Cols))
	for len(rows) > 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p.mem.b = nil
		p.mem.begin(ctx, p, b)
		a := &p.mem.a
		v := vector.FromArrow(a, state)
		done := 0
		for done < min(len(rows), foldRows) && (done == 0 || p.mem.m.Holds() < foldHolds) {
			clear(loaded)
			loaded[0] = v
			p.fr = frame{ctx: ctx, env: p.env, a: a, b: b, sel: rows[done : done+1], n: 1, cols: loaded}
			if v, err = p.root.eval(&p.fr); err != nil {
				return nil, err
			}
			done++
		}
		rows = rows[done:]
		if state, err = a.Detach(v.Spread(a)).ToArrow(p.typ); err != nil {
			return nil, err
		}
	}
	p.fr = frame{}
	return state, nil
}
