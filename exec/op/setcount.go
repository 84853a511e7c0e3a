package op

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/planner/plan"
)

// NewSetCount ends INTERSECT and EXCEPT: its input has each distinct row with,
// as its last two columns (int8), how often it was on the left and on the
// right. It returns the rows as often as the operation says, without the counts.
//
//	            distinct         ALL
//	INTERSECT   l > 0 and r > 0  min(l, r)
//	EXCEPT      l > 0 and r = 0  l - r, at least 0
func NewSetCount(rt *Runtime, in []Operator, kind plan.SetOpKind, all bool) []Operator {
	return Instances(rt, func(i int) *setCount { return &setCount{in: in[i], kind: kind, all: all, max: rt.Rows()} })
}

type setCount struct {
	in   Operator
	kind plan.SetOpKind
	all  bool
	max  int
	// the batch that is being repeated
	b    *batch.Batch
	rows []int32
	left []int64 // times still to return
}

func (o *setCount) Open(ctx context.Context) error { return o.in.Open(ctx) }

func (o *setCount) Next(ctx context.Context) (*batch.Batch, error) {
	for {
		if len(o.rows) > 0 {
			return o.repeat(), nil
		}
		b, err := o.in.Next(ctx)
		if err != nil {
			return nil, err
		}
		n := len(b.Cols) - 2
		l, r := b.Cols[n].(*array.Int64), b.Cols[n+1].(*array.Int64)
		sel := []int32{}
		o.left = o.left[:0]
		for i := 0; i < b.Rows(); i++ {
			at := i
			if b.Sel != nil {
				at = int(b.Sel[i])
			}
			if c := o.times(l.Value(at), r.Value(at)); c > 0 {
				sel = append(sel, int32(at))
				o.left = append(o.left, c)
			}
		}
		if len(sel) == 0 {
			continue
		}
		out := b.With(b.Cols[:n:n])
		out.Sel = sel
		if !o.all {
			return out, nil
		}
		o.b, o.rows = out, sel
	}
}

func (o *setCount) times(l, r int64) int64 {
	if o.kind == plan.Intersect {
		if !o.all {
			return min(l, r, 1)
		}
		return min(l, r)
	}
	if !o.all {
		if r > 0 {
			return 0
		}
		return min(l, 1)
	}
	return l - r
}

// repeat returns every row that has times left once: copies of a row are batches
// that share its columns.
func (o *setCount) repeat() *batch.Batch {
	out := o.b.With(o.b.Cols)
	out.Sel = append([]int32(nil), o.rows...)
	n := 0
	for i, r := range o.rows {
		if o.left[i]--; o.left[i] > 0 {
			o.rows[n], o.left[n] = r, o.left[i]
			n++
		}
	}
	o.rows, o.left = o.rows[:n], o.left[:n]
	return out
}

func (o *setCount) Close() error { return o.in.Close() }
