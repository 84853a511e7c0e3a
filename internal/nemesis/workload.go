package nemesis

import (
	"context"
	"fmt"
)

// workload is something clients do all the time, and what they know of it.
type workload interface {
	name() string
	// setup makes the tables; it is called on a healthy cluster.
	setup(ctx context.Context, s *session) error
	// clients are run side by side until ctx ends; operations have sessions and
	// deadlines of their own and are not cut short by ctx.
	clients() []func(ctx context.Context, s *session)
	// check compares what a gateway answers with what clients were told. It is
	// called for every node in turn while nothing else runs; first says that
	// what was unknown is now what this node answers.
	check(ctx context.Context, s *session, first bool) error
	// endRound is called when every node has been checked.
	endRound()
}

// turner is a workload that is told of each round.
type turner interface{ turn() }

// workloads of a new cluster.
func workloads(o Options) []workload {
	out := []workload{&inserts{}, &bulk{timeouts: o.has("cancel")}, &bank{}, &registers{}, &tables{}, &trainings{}}
	if o.has("spill") {
		out = append(out, &spills{})
	}
	return out
}

// setupAll runs statements that must succeed.
func setupAll(ctx context.Context, s *session, statements ...string) error {
	for _, sql := range statements {
		if _, o := s.exec(ctx, sql); o != acked {
			return fmt.Errorf("setup: %s failed", sql)
		}
	}
	return nil
}
