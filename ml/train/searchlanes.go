package train

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/ml/search"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// lane trains trials, one after the other. There is one, or some side by side, of which one goroutine at a time works
// with the searcher: it gives its turn to others while it waits for a task, and while its driver computes.
//
//	lane 1   trial 1 ▓▓▓░░▓░▓ trial 4 …
//	lane 2   trial 2 ░░▓░▓▓ trial 3 …      ▓ workers, ░ the driver
//
// What is known of a trial depends on nothing that other lanes do.
type lane struct {
	number int // 0: the workers themselves, for one that is alone
	first  int // where its copy of the rows begins among the workers
	chain  chain
	long   *runner // a training whose prefixes are trials, as far as it is; nil for none
	longOf string
}

// inTurn is a lane's reducer.
type inTurn struct {
	Reducer
	turn *sync.Mutex // held but for Reduce
}

// Reduce implements Reducer.
func (r *inTurn) Reduce(ctx context.Context, t Task) (family.Message, error) {
	r.turn.Unlock()
	defer r.turn.Lock()
	return r.Reducer.Reduce(ctx, t)
}

// aside gives the turn to other lanes while f runs.
func (s *searcher) aside(f func() error) error {
	s.turn.Unlock()
	defer s.turn.Lock()
	return f()
}

// reducer returns that of a lane of a group.
func (s *searcher) reducer(l *lane, g *group) Reducer {
	if l.number == 0 {
		return g.Reducer
	}
	return &inTurn{g.Reducer.(Laned).Lane(l.number), &s.turn}
}

// sideBySide returns how many trials may run at a time.
func (s *searcher) sideBySide() int {
	if l, ok := s.red.(Laned); ok && l.Lane(1) != nil {
		return s.spec.config.Parallel
	}
	return 1
}

// copyOf returns where the copy of the rows of a lane begins among the workers: rows that few workers have are read
// once more for others, so that all have trials.
func (s *searcher) copyOf(lane int) int {
	leaves := record.Leaves(s.in.Rows)
	if s.job.InPlace() || s.job.windows != nil || s.in.Workers <= leaves {
		return 0
	}
	return lane % min(s.in.Workers/leaves, mostGroups) * leaves
}

// unitsOf divides steps into those that one lane makes one after the other: those of a path.
func unitsOf(list []step) (out [][]step) {
	for i, b := range list {
		if i > 0 && b.path != "" && list[i-1].path == b.path {
			out[len(out)-1] = append(out[len(out)-1], b)
		} else {
			out = append(out, []step{b})
		}
	}
	return out
}

// each calls f with all steps, in as many lanes as there may be. Where those have not enough memory for the trials
// they go on one by one.
func (s *searcher) each(ctx context.Context, units [][]step, f func(ctx context.Context, l *lane, b step) error) error {
	if n := min(s.sideBySide(), len(units)); n > 1 {
		var left [][]step
		short := false
		g, ctx := errgroup.WithContext(ctx)
		for i := range n {
			s.lanes = append(s.lanes, &lane{number: i + 1, first: s.copyOf(i)})
		}
		for _, l := range s.lanes[1:] {
			g.Go(func() error {
				return op.Guard("search", func() error {
					s.turn.Lock()
					defer s.turn.Unlock()
					for len(units) > 0 && !short {
						u := units[0]
						units = units[1:]
						for k, b := range u {
							err := f(ctx, l, b)
							if pgerr.Is(err, pgerr.OutOfMemory) {
								short, left = true, append(left, u[k:])
								break
							}
							if err != nil {
								return err
							}
						}
					}
					return nil
				})
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		units = append(left, units...)
		s.endLanes()
	}
	for _, u := range units {
		for _, b := range u {
			if err := f(ctx, s.lanes[0], b); err != nil {
				return err
			}
		}
	}
	return nil
}

// endLanes ends all lanes but the first. Trials that are left may go on from their chains.
func (s *searcher) endLanes() {
	for _, l := range s.lanes[1:] {
		if l.chain.of != "" {
			s.chains = append(s.chains, l.chain)
		}
	}
	s.lanes = s.lanes[:1]
}

// onPath gives a lane the chain of a path that another one has begun, perhaps before a checkpoint.
func (s *searcher) onPath(l *lane, path string) error {
	if path == "" || l.chain.of == path {
		return nil
	}
	next := chain{}
	if first := s.lanes[0]; first.chain.of == path {
		next, first.chain = first.chain, chain{}
	}
	if at := slices.IndexFunc(s.chains, func(c chain) bool { return c.of == path }); at >= 0 {
		next = s.chains[at]
		s.chains = slices.Delete(s.chains, at, at+1)
	}
	if next.of == "" {
		return nil
	}
	err := s.hold(-int64(len(l.chain.state)))
	l.chain = next
	return err
}

// laneSave saves checkpoints of trials in a lane: the state of the one is that of a trial that waits for another rung.
type laneSave struct {
	s   *searcher
	r   *runner
	run *trialRun
	one bool // no other trial goes on where this one ends
}

// Save implements Checkpointer.
func (c *laneSave) Save(ctx context.Context, iteration int, _ func(io.Writer) error) error {
	return c.s.in.Save.Save(ctx, iteration, func(w io.Writer) error {
		if c.one {
			var e canon.E
			if err := c.r.encodeState(&e); err != nil {
				return err
			}
			if err := c.s.hold(int64(len(e.B) - len(c.run.paused))); err != nil {
				return err
			}
			c.run.paused = e.B
		}
		e := canon.To(w)
		c.s.head(0, 0)(e)
		return e.Flush()
	})
}

// trialIn trains a trial of a batch in a lane, without a fold, unless it is known already.
func (s *searcher) trialIn(ctx context.Context, l *lane, key string, fold int, b step, batch []search.Trial) error {
	s.cancel()
	t := s.trials[b.Number-1]
	if t.err != nil || t.runs[fold].rungs > b.Rung {
		return nil
	}
	if r := &t.runs[fold]; r.done { // it came to its end in an earlier rung
		r.rungs = b.Rung + 1
		return nil
	}
	g, err := s.encoded(ctx, t.job, key, fold, l.first)
	if err == nil {
		err = s.train(ctx, l, g, t, fold, b, pathOf(b, batch, fold))
	}
	var read readError
	switch {
	case errors.As(err, &read):
		return err
	case err == nil:
		t.settle(b.Rung, b.Share)
		s.report(t)
	case ofTrial(err):
		t.fail(err)
		s.over(t)
	default:
		return err
	}
	return s.saveHead(ctx, b.Number, s.head(0, 0))
}
