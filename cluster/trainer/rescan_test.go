package trainer_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/train"
)

// TestDistributedRowsRescanned: rows of mini-batches that no node can hold are read
// again, and go encoded to the nodes that own their leaves, wherever they come the
// second time: the model is that of one node with ample memory.
func TestDistributedRowsRescanned(t *testing.T) {
	const n = 250000
	var want []byte
	for nodes := 1; nodes <= 3; nodes += 2 {
		limit := int64(0)
		if nodes > 1 {
			limit = 6 << 20
		}
		c := start(t, nodes, limit)
		ctx := context.Background()
		j, err := train.NewJob("linear_regression", []string{"y"}, []family.Arg{{Name: "optimizer", Value: "sgd"},
			{Name: "batch_size", Value: int64(8000)}, {Name: "max_iterations", Value: int64(3)}}, nil, job(t).Columns)
		if err != nil {
			t.Fatal(err)
		}
		g, err := c.nodes[0].tr.Open(ctx, "t", j, c.others(), true)
		if err != nil {
			t.Fatal(err)
		}
		c.spread(t, g, rows(n, 7), 8)
		total, err := g.Distribute(ctx)
		if err != nil || total != n || g.Rescan() != (nodes > 1) {
			t.Fatal(total, g.Rescan(), err)
		}
		in := train.Input{Job: j, Rows: total}
		if g.Rescan() {
			in.Rescan = func(ctx context.Context) error {
				c.spread(t, g, rows(n, 9), 10)
				return g.DistributeRescan(ctx)
			}
		}
		res, err := train.Run(ctx, in, g)
		if err != nil {
			t.Fatal(err)
		}
		g.Close()
		u := train.Total(res.Usage)
		if want == nil {
			want = res.Model.Encode()
		} else if !bytes.Equal(res.Model.Encode(), want) {
			t.Error("another model")
		} else if u.Before == 0 || u.Before > u.Block || u.Written > u.Block || u.Reads != 2 || u.Moved == 0 || u.Moved > u.Block {
			t.Errorf("%+v", u)
		}
	}
}
