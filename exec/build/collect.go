package build

import (
	"context"

	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
)

func (b *builder) collect(ctx context.Context, n *plan.Collect) (rel, error) {
	if b.Collects == nil {
		return rel{}, pgerr.Internal("the task cannot collect rows")
	}
	to, err := b.Collects.Collector(n.Name)
	if err != nil {
		return rel{}, err
	}
	in, err := b.exactly(ctx, n.Input, n.Input.Schema())
	if err != nil {
		return rel{}, err
	}
	return rel{op.NewCollect(in, to), n.Schema()}, nil
}
