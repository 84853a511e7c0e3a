package worker_test

import (
	"context"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/cluster/worker"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
)

// TestStatementsOfOneID: an execution's statements have its id, and so have those of the functions that
// its threads call: their plans run on the same nodes at the same time.
func TestStatementsOfOneID(t *testing.T) {
	g := newGate(3)
	c := gated(t, g, 3)
	ctx := context.Background()
	p := sumPlan()
	pool := c.nodes[0].pool.Child("same", 0)
	gateway := c.nodes[0].worker.Gateway(c.members)
	var statements []*worker.Statement
	var readers []op.BatchReader
	for range 3 {
		s := gateway.Statement("same", catalog.New(), pool, envOf(), worker.Options{})
		statements = append(statements, s)
		r, err := s.Execute(ctx, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		readers = append(readers, r)
	}
	g.open(1, 2, 3)
	for _, r := range readers {
		if got, err := rowsOf(ctx, r, p.Stages[0].Root.Schema()); err != nil || len(got) != 1 || got[0] != "719400" {
			t.Errorf("%v, %v", got, err)
		}
	}
	for i, r := range readers {
		r.Close()
		statements[i].Close()
	}
	if leaked := pool.Close(); leaked != 0 {
		t.Errorf("%d bytes are left", leaked)
	}
}

// TestBufferAgain: a buffer that is filled a second time under its id gives the new rows, and the memory
// of the old ones is released with the statement's.
func TestBufferAgain(t *testing.T) {
	c := newCluster(t, 1, 1<<30, nil, nil)
	s, end := c.statement(t, "twice", worker.Options{})
	defer end()
	ctx := context.Background()
	for _, n := range []int{5000, 3} {
		rows := optest.Cut(n, func(from, n int) []arrow.Array {
			return []arrow.Array{optest.Int8s(n, func(i int) int64 { return int64(from + i) })}
		})
		if err := s.Fill(ctx, 7, []plan.Column{gateCol}, &optest.Reader{Batches: rows}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := s.Execute(ctx, &plan.Staged{Stages: []plan.Stage{{Root: &plan.Buffer{ID: 7, Cols: []plan.Column{gateCol}}}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := rowsOf(ctx, r, []plan.Column{gateCol}); err != nil || len(got) != 3 {
		t.Errorf("%v, %v", got, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
