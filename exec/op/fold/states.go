package fold

import (
	"context"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/batch"
)

// states gives the rows in encoded states (agg.Sortable.PartialState), behind the number of their group.
type states struct {
	agg    agg.Sortable
	read   func(context.Context) (group int, state []byte, err error)
	counts []int64 // rows of each group that were given
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
			return numbered(g, cols, n), nil
		}
	}
}
