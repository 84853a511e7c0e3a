package main

import (
	"context"
	"fmt"
)

// workload is a load by clients, and the outcomes that they know.
type workload interface {
	name() string
	// setup makes the tables; it is called on a healthy cluster.
	setup(ctx context.Context, s *session) error
	// clients are run side by side until ctx ends; operations have sessions and
	// deadlines of their own and are not cut short by ctx.
	clients() []func(ctx context.Context, s *session)
	// check compares a gateway's answers with the clients' outcomes. It is called for
	// every node in turn while nothing else runs; first says that this node's answers
	// decide the unknown outcomes.
	check(ctx context.Context, s *session, first bool) error
	// endRound is called when every node has been checked.
	endRound()
}

// turner is a workload that is notified of each round.
type turner interface{ turn() }

// workloads returns the workloads of a new cluster.
func workloads(c *cluster) []workload {
	o := c.o
	out := []workload{&inserts{}, &bulk{timeouts: o.has("cancel")}, &bank{}, &registers{}, &tables{}, &trainings{}}
	if o.has("spill") {
		out = append(out, &spills{})
	}
	if c.backups != nil { // the last: the archive begins with all tables
		c.schemas = &schemas{}
		out = append(out, c.schemas)
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
