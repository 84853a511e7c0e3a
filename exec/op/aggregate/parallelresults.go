package aggregate

import (
	"context"
	"slices"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
)

// together has all threads compute the results of the one group of an aggregation without keys,
// which one of them returns: aggregates that keep their rows take long.
//
//	the thread that returns: charges what they take, prepares
//	barrier
//	every thread: its share of a step ─▶ barrier ─▶ its share of the next …
//	the thread that returns: ends
func (o *aggThread) together(ctx context.Context) error {
	s := o.s
	if !s.joint {
		return nil
	}
	if o.out != nil {
		_, need := o.out.some(0, 1, false, op.BatchBytes)
		err := o.acct.Grow(need)
		switch {
		case err == nil:
			o.returned = need
			for _, a := range o.out.aggs {
				if t, ok := a.(agg.ParallelResult); ok {
					for step := range t.Begin(len(s.with)) {
						s.steps = append(s.steps, togetherStep{t, step})
					}
				}
			}
		case !o.acct.Refused(err) || !sortable(o.out.aggs):
			return err
		} // else the rows are sorted, as those of a group that is given are where there is no room (giveSorted)
	}
	if err := s.barrier.Wait(ctx, nil); err != nil {
		return err
	}
	me := 0
	for s.with[me] != o {
		me++
	}
	for _, x := range s.steps {
		x.of.Step(x.step, me)
		if err := s.barrier.Wait(ctx, nil); err != nil {
			return err
		}
	}
	if o.out != nil {
		for _, a := range o.out.aggs {
			if t, ok := a.(agg.ParallelResult); ok {
				t.End()
			}
		}
	}
	return nil
}

// joins reports whether the threads compute any results together.
func (s *aggShared) joins() bool {
	if len(s.keyTypes) > 0 || s.n.Phase == plan.AggPartial || len(s.with) == 0 {
		return false
	}
	return slices.ContainsFunc(s.with[0].t.aggs, func(a agg.Agg) bool {
		_, ok := a.(agg.ParallelResult)
		return ok
	})
}

// togetherStep is a step of an aggregate whose results the threads compute together.
type togetherStep struct {
	of   agg.ParallelResult
	step int
}
