package fold

import (
	"context"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/planner/expr"
)

// states gives the rows in encoded states (agg.Sortable.PartialState), behind the number of their group.
type states struct {
	agg    agg.Sortable
	call   expr.AggCall
	read   func(context.Context) (group int, state []byte, err error)
	counts []int64 // rows of each group that were given
	long   []int64 // bytes of each group's result, 0 where that is not known
}

func (s *states) Open(context.Context) error { return nil }
func (s *states) Close() error               { return nil }

func (s *states) Next(ctx context.Context) (*batch.Batch, error) {
	for {
		g, state, err := s.read(ctx)
		if err != nil {
			return nil, err
		}
		if len(state) == 0 {
			continue
		}
		cols, n, err := s.agg.Rows(state)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			s.counts[g] += int64(n)
			s.long[g] += length(s.call, cols)
			return numbered(g, cols, n), nil
		}
	}
}
