package fold

import (
	"context"
	"io"

	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
)

// resorted is an operator that reads rows in order, each with the number of its group first, and
// returns the rows that an aggregate (agg.Resortable) makes of them, which are sorted a second time:
//
//	rows ─▶ order.NewSort ─▶ resorted ─▶ order.NewSort ─▶ results
type resorted struct {
	in     op.Operator
	acct   *mem.Account
	begin  func(g int) *agg.Sorted
	groups []*agg.Sorted
	b      *batch.Batch
	at     int
	cur    *agg.Sorted // the state of the last row's group, which may have more rows
	number int         // of that group
	held   int64       // bytes charged for cur
}

func (o *resorted) Open(ctx context.Context) error { return o.in.Open(ctx) }
func (o *resorted) Close() error                   { return o.in.Close() }

// again begins the second pass over group g, whose rows were sorted a second time.
func (o *resorted) again(g int) *agg.Sorted {
	if o.groups[g] == nil {
		o.groups[g] = o.begin(g)
	}
	return o.groups[g].Resorted()
}

func (o *resorted) Next(ctx context.Context) (*batch.Batch, error) {
	for {
		if o.b == nil || o.at == o.b.N {
			b, err := o.in.Next(ctx)
			switch {
			case err == io.EOF:
				if out := o.ready(true); out != nil {
					return out, nil // the end of the input is read a second time
				}
				return nil, err
			case err != nil:
				return nil, err
			}
			o.b, o.at = kernel.Compact(b), 0
			continue
		}
		if g := int(o.b.Cols[0].(*array.Int32).Value(o.at)); o.cur == nil || g != o.number {
			if out := o.ready(true); out != nil {
				return out, nil
			}
			o.cur, o.number = o.begin(g), g
			o.groups[g] = o.cur
			o.held = o.cur.Held() // a small amount
			o.acct.Take(o.held)
		}
		err := o.cur.Add(o.b.Cols[1:], o.at)
		if o.at++; err != nil {
			return nil, err
		}
		if out := o.ready(false); out != nil {
			return out, nil
		}
	}
}

// ready returns rows of the group that are complete, nil if there are none. With end set they are the
// group's last.
func (o *resorted) ready(end bool) *batch.Batch {
	if o.cur == nil {
		return nil
	}
	cols, n := o.cur.Ready(end)
	if end {
		o.cur = nil
		o.acct.Shrink(o.held)
		o.held = 0
	}
	if n == 0 {
		return nil
	}
	return numbered(o.number, cols, n)
}
