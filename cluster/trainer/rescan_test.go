package trainer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// trainTwice trains on n rows in first; when they must be read a second time, they are those in
// second.
func (c *cluster) trainTwice(t *testing.T, j *train.Job, first, second []*batch.Batch, n int64, again bool) *train.Result {
	t.Helper()
	res, err := c.readTwice(t, j, first, second, n, again)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// readTwice is trainTwice, but returns an error.
func (c *cluster) readTwice(t *testing.T, j *train.Job, first, second []*batch.Batch, n int64, again bool) (*train.Result, error) {
	t.Helper()
	ctx := context.Background()
	g, err := c.nodes[0].tr.Open(ctx, "t", j, c.others(), true, 0)
	if err != nil {
		t.Fatal(err)
	}
	c.spread(t, g, first, 8)
	total, err := g.Distribute(ctx)
	if err != nil || total != n || g.Rescan() != again {
		t.Fatal(total, g.Rescan(), err)
	}
	in := train.Input{Job: j, Rows: total}
	if g.Rescan() {
		in.Rescan = func(ctx context.Context) error {
			c.spread(t, g, second, 10)
			return g.DistributeRescan(ctx)
		}
	}
	defer g.Close()
	return train.Run(ctx, in, g)
}

// TestDistributedRowsRescanned: when the rows of mini-batches do not fit in memory they are read a
// second time, encoded, and sent to the nodes that own their leaves, whichever nodes read them then.
// The model is the same as on one node with enough memory.
func TestDistributedRowsRescanned(t *testing.T) {
	const n = 250000
	var want []byte
	for nodes := 1; nodes <= 3; nodes += 2 {
		limit := int64(0)
		if nodes > 1 {
			limit = 6 << 20
		}
		c := start(t, nodes, limit)
		j, err := train.NewJob("linear_regression", []string{"y"}, []family.Arg{{Name: "optimizer", Value: "sgd"},
			{Name: "batch_size", Value: int64(8000)}, {Name: "max_iterations", Value: int64(3)}}, nil, job(t).Columns)
		if err != nil {
			t.Fatal(err)
		}
		res := c.trainTwice(t, j, rows(n, 7), rows(n, 9), n, nodes > 1)
		u := train.Total(res.Usage)
		if want == nil {
			want = res.Model.Encode()
		} else if !bytes.Equal(res.Model.Encode(), want) {
			t.Error("another model")
		} else if u.Before == 0 || u.Before > 2*u.Block || u.Written > 2*u.Block || u.Reads != 2 || u.Moved == 0 || u.Moved > u.Block {
			t.Errorf("%+v", u)
		}
	}
}

// series returns n rows of random numbers for windows. Row i belongs to partition id(i), and its
// order within it is i % length.
func series(n, length int, id func(i int) int64) (cols []record.Column, list []*batch.Batch) {
	cols = []record.Column{{Name: "id", Type: types.Int8}, {Name: "at", Type: types.Int8}}
	for i := range 6 {
		cols = append(cols, record.Column{Name: fmt.Sprint("x", i), Type: types.Float8})
	}
	r := rand.New(rand.NewPCG(5, 6))
	for from := 0; from < n; from += 1010 { // a partition may be divided between two batches
		k := min(1010, n-from)
		arrs := make([]arrow.Array, len(cols))
		ids, at := make([]int64, k), make([]int64, k)
		for i := range k {
			ids[i], at[i] = id(from+i), int64((from+i)%length)
		}
		arrs[0], arrs[1] = batch.FromSlice(arrow.PrimitiveTypes.Int64, ids, nil), batch.FromSlice(arrow.PrimitiveTypes.Int64, at, nil)
		for c := range 6 {
			x := make([]float64, k)
			for i := range x {
				x[i] = r.NormFloat64() * float64(c+1)
			}
			arrs[c+2] = batch.FromSlice(arrow.PrimitiveTypes.Float64, x, nil)
		}
		list = append(list, batch.New(arrs, k))
	}
	return cols, list
}

// windowsJob is a training on windows of five rows of series.
func windowsJob(t *testing.T, cols []record.Column, stride int64) *train.Job {
	t.Helper()
	j, err := train.NewJob("lstm_autoencoder", nil, []family.Arg{{Name: "units", Value: int64(2)}, {Name: "window", Value: int64(5)}, {Name: "stride", Value: stride},
		{Name: "order_by", Value: "at"}, {Name: "partition_by", Value: "id"}, {Name: "epochs", Value: int64(1)}, {Name: "batch_size", Value: int64(20000)}}, nil, cols)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestSeriesRescanned is TestDistributedRowsRescanned for windows over random numbers, whose
// partitions are read in chunks and on other nodes each time.
func TestSeriesRescanned(t *testing.T) {
	const n, length = 150000, 25
	cols, list := series(n, length, func(i int) int64 { return int64(i / length) })
	for _, stride := range []int64{1, 5} {
		var want []byte
		for nodes := 1; nodes <= 3; nodes += 2 {
			for _, limit := range []int64{0, 6 << 20 / int64(nodes) * 3 / 2} {
				c := start(t, nodes, limit)
				j := windowsJob(t, cols, stride)
				res := c.trainTwice(t, j, list, list, n, limit > 0)
				u := train.Total(res.Usage)
				if want == nil {
					want = res.Model.Encode()
				} else if !bytes.Equal(res.Model.Encode(), want) {
					t.Errorf("stride %d, %d nodes, %d bytes: another model", stride, nodes, limit)
				}
				if limit > 0 && (u.Before == 0 || u.Before > 2*u.Block || u.Written > 2*u.Block || u.Reads != 2) {
					t.Errorf("stride %d, %d nodes: %+v", stride, nodes, u)
				}
			}
		}
	}
}

// TestOtherRowsAnywhere: a partition that has fewer rows than a window when it is read a second time
// is detected by the node that owns it. Whether that is the driver or another node, the driver gets
// the error upon which it starts anew and spills the rows.
func TestOtherRowsAnywhere(t *testing.T) {
	const n, length = 150000, 25
	whole := func(i int) int64 { return int64(i / length) }
	cols, first := series(n, length, whole)
	for nodes := 1; nodes <= 3; nodes += 2 {
		far := false
		for _, part := range []int64{0, 3} { // of three nodes the driver owns the one partition, another node the other
			_, second := series(n, length, func(i int) int64 {
				if id := whole(i); id != part || i%length < 4 {
					return id
				}
				return part + 1
			})
			c := start(t, nodes, 6<<20/int64(nodes)*3/2)
			_, err := c.readTwice(t, windowsJob(t, cols, 1), first, second, n, true)
			if pgerr.CodeOf(err) != pgerr.RowsNotHeld {
				t.Errorf("%d nodes, partition %d: %v", nodes, part, err)
			}
			far = far || !errors.Is(err, train.ErrOtherRows) // the error came in a message from another node
		}
		if far != (nodes > 1) {
			t.Errorf("%d nodes: an error came in a message: %v", nodes, far)
		}
	}
}
