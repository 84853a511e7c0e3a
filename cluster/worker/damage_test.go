package worker_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tributarydb/tributary/cluster/worker"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// rotten is a gate with a fault: on node bad, the rows of the first part are in a mapped segment,
// whose file is truncated before they are used.
type rotten struct {
	*gate
	t        *testing.T
	c        *cluster
	bad      uint64
	replicas bool

	mu   sync.Mutex
	pins []*store.Pin
	seg  *catalog.Segment
}

type rottenOf struct {
	*rotten
	node uint64
}

func (r rottenOf) Open(ctx context.Context, s *plan.Source, part, of int, pool *mem.Pool) (op.BatchReader, error) {
	in, err := gateOf{r.gate, r.node}.Open(ctx, s, part, of, pool)
	if err != nil || r.node != r.bad {
		return in, err
	}
	return &rottenReader{in, r.rotten}, nil
}

type rottenReader struct {
	op.BatchReader
	r *rotten
}

func (rr *rottenReader) Next(ctx context.Context) (*batch.Batch, error) {
	b, err := rr.BatchReader.Next(ctx)
	if err != nil {
		return nil, err
	}
	r := rr.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seg != nil {
		return b, nil
	}
	return r.mapped(ctx, b)
}

// mapped returns the same rows from a segment that is then truncated.
func (r *rotten) mapped(ctx context.Context, b *batch.Batch) (*batch.Batch, error) {
	n := r.c.nodes[r.bad-1]
	w := n.store.NewWriter(store.WriterOptions{Columns: []store.WriterColumn{{Num: 1, Type: types.Int8}}, InlineBytes: -1})
	if err := w.Write(ctx, b); err != nil {
		return nil, err
	}
	segs, err := w.Finish(ctx)
	if err != nil {
		return nil, err
	}
	r.seg = segs[0]
	if r.replicas {
		other := r.c.nodes[r.bad%uint64(len(r.c.nodes))]
		if err := n.copyTo(other, r.seg); err != nil {
			return nil, err
		}
		r.seg.Nodes = append(r.seg.Nodes, other.id)
	}
	pin := n.store.Pin(0)
	r.pins = append(r.pins, pin)
	rd, err := pin.Open(ctx, &plan.Scan{Cols: []plan.Column{{ID: 1, Num: 1, Type: types.Int8}}}, &op.Split{Segment: r.seg, To: r.seg.Rows}, &function.Env{}, nil)
	if err != nil {
		return nil, err
	}
	if b, err = rd.Next(ctx); err != nil {
		return nil, err
	}
	return b, os.Truncate(filepath.Join(n.dir, "segments", r.seg.ID.String()+".seg"), 0)
}

func newRotten(t *testing.T, nodes int, bad uint64, replicas bool) *rotten {
	r := &rotten{gate: newGate(nodes), t: t, bad: bad, replicas: replicas}
	r.c = newCluster(t, nodes, 1<<30, func(n uint64) op.Sources { return rottenOf{r, n} }, func(*plan.Source) int { return partsOf })
	t.Cleanup(func() {
		for _, p := range r.pins {
			_ = p.Close()
		}
	})
	return r
}

// soloPlan is sumPlan in one stage.
func soloPlan() *plan.Staged {
	p := sumPlan()
	agg := p.Stages[1].Root.(*plan.Aggregate)
	return &plan.Staged{Stages: []plan.Stage{{ID: 0, Root: &plan.Aggregate{Input: gateSource(), Aggs: agg.Aggs, Phase: plan.AggSingle}}}}
}

// TestFaultBeforeRows truncates a file that operators read by a mapping: the node fetches an intact
// copy and the statement is run a second time, without an error.
func TestFaultBeforeRows(t *testing.T) {
	for name, c := range map[string]struct {
		bad  uint64
		plan func() *plan.Staged
	}{"gateway": {1, sumPlan}, "other node": {2, sumPlan}, "alone": {1, soloPlan}} {
		t.Run(name, func(t *testing.T) {
			r := newRotten(t, 3, c.bad, true)
			r.open(1, 2, 3)
			s, end := r.c.statement(t, name, worker.Options{})
			defer end()
			p := c.plan()
			rows, err := s.Execute(context.Background(), p, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			if got, err := rowsOf(context.Background(), rows, p.Stages[0].Root.Schema()); err != nil || len(got) != 1 || got[0] != "719400" {
				t.Error(got, err)
			}
			if d := r.c.nodes[c.bad-1].store.Damage(); r.seg == nil || d.Found != 1 || d.Repaired != 1 {
				t.Errorf("%+v", d)
			}
		})
	}
}

// TestFaultAfterRows: when rows were already sent, the statement fails with the reason, and the next
// one reads the intact copy. Where no replica is intact the next one fails too.
func TestFaultAfterRows(t *testing.T) {
	for _, replicas := range []bool{true, false} {
		r := newRotten(t, 2, 2, replicas)
		s, end := r.c.statement(t, "left", worker.Options{})
		p := gatherPlan()
		r.open(1)
		rows, err := s.Execute(context.Background(), p, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rows.Next(context.Background()); err != nil {
			t.Fatal(err)
		}
		r.open(2)
		_, err = rowsOf(context.Background(), rows, p.Stages[0].Root.Schema())
		if !pgerr.Is(err, pgerr.DataCorrupted) || !strings.Contains(err.Error(), r.seg.ID.String()) {
			t.Error(err)
		}
		var repaired *store.RepairedError
		if errors.As(err, &repaired) != replicas {
			t.Error(err)
		}
		rows.Close()
		end()
	}
}
