package fold

import (
	"context"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/planner/expr"
)

// states is an operator that returns the rows in encoded partial states (agg.Sortable.PartialState),
// with the number of their group as the first column.
type states struct {
	agg    agg.Sortable
	call   expr.AggCall
	read   func(context.Context) (group int, state []byte, err error)
	counts []int64 // rows returned so far, by group
	long   []int64 // bytes of each group's result so far, 0 where they are not known (length)
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
