package trainer_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/cluster/trainer"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// categories is large enough that a parameter for each does not fit in one message of a stream.
const categories = 40000

// longJob is a training with one weight for each category.
func longJob(t *testing.T, iterations int, more ...family.Arg) *train.Job {
	t.Helper()
	cols := []record.Column{{Name: "c", Type: types.Int4}, {Name: "y", Type: types.Int4}}
	one := []feature.Transform{{Func: "one_hot_encoder", Column: "c", Args: []types.Datum{"none", int64(1000000)}}}
	j, err := train.NewJob("logistic_regression", []string{"y"}, append(more, family.Arg{Name: "max_iterations", Value: int64(iterations)}), one, cols)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// longRows has one row of each category.
func longRows() (out []*batch.Batch) {
	const at = 5000
	for from := 0; from < categories; from += at {
		c, y := array.NewInt32Builder(memory.DefaultAllocator), array.NewInt32Builder(memory.DefaultAllocator)
		for i := from; i < from+at; i++ {
			c.Append(int32(i))
			y.Append(int32(i * 7919 % 13 & 1))
		}
		out = append(out, batch.New([]arrow.Array{c.NewArray(), y.NewArray()}, at))
	}
	return out
}

// trainLong trains on n nodes.
func trainLong(ctx context.Context, t *testing.T, n, slice, iterations int, wrap func(c *cluster, g *trainer.Group) train.Reducer, more ...family.Arg) (*train.Result, error) {
	t.Helper()
	c := start(t, n, 0)
	j := longJob(t, iterations, more...)
	g, err := c.nodes[0].tr.Open(ctx, "long", j, c.others(), true, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	c.spread(t, g, longRows(), uint64(n))
	total, err := g.Distribute(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var red train.Reducer = g
	if wrap != nil {
		red = wrap(c, g)
	}
	return train.Run(ctx, train.Input{Job: j, Rows: total, SliceElements: slice}, red)
}

// TestLongVectors: with parameters sent in several chunks, and partials in slices of any length, the
// model is the same as on one node.
func TestLongVectors(t *testing.T) {
	want, err := trainLong(context.Background(), t, 1, 0, 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(want.Model.Encode()) < 8*categories {
		t.Fatalf("a model of %d bytes", len(want.Model.Encode()))
	}
	gather := family.Arg{Name: "reduction", Value: "gather"}
	for _, c := range []struct {
		nodes, slice int
		more         []family.Arg
	}{{2, 1000, nil}, {3, 0, nil}, {6, 4099, nil}, {4, 0, []family.Arg{gather}}} {
		got, err := trainLong(context.Background(), t, c.nodes, c.slice, 3, nil, c.more...)
		if err != nil {
			t.Fatal(err)
		}
		if sha256.Sum256(got.Model.Encode()) != sha256.Sum256(want.Model.Encode()) {
			t.Errorf("%d nodes, slices of %d: another model", c.nodes, c.slice)
		}
	}
}

// TestLostInTheTree: when a member dies whose partials go through another member of the reduction
// tree, the group ends, whichever member notices it first.
func TestLostInTheTree(t *testing.T) {
	for lost := 1; lost < 6; lost += 2 {
		_, err := trainLong(context.Background(), t, 6, 0, 3, func(c *cluster, g *trainer.Group) train.Reducer {
			return &failing{g, 6, func() {
				c.nodes[lost].kill()
				c.declareDead(uint64(lost + 1))
			}}
		})
		if pgerr.CodeOf(err) != pgerr.ConnectionFailure {
			t.Errorf("member %d was lost: %v", lost, err)
		}
	}
}

// TestCancelLong: a training that is cancelled while slices are in transit ends.
func TestCancelLong(t *testing.T) {
	why := errors.New("enough")
	for _, after := range []time.Duration{0, time.Millisecond, 10 * time.Millisecond} {
		ctx, cancel := context.WithCancelCause(context.Background())
		_, err := trainLong(ctx, t, 3, 100, 1000, func(_ *cluster, g *trainer.Group) train.Reducer {
			return &failing{g, 6, func() { time.AfterFunc(after, func() { cancel(why) }) }}
		}, family.Arg{Name: "tolerance", Value: 0.0})
		if !errors.Is(err, why) {
			t.Errorf("%v", err)
		}
	}
}
