package window

import (
	"bytes"
	"context"
	"slices"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
)

// ranked numbers the rows of a sort without partitions, each thread those of a range of its own:
//
//	thread 0   rows 0 … k      rank() = first peer's number + 1
//	thread 1   rows k … all    the same: how many rows come before the range is known
//
// A batch is returned as it comes, and no row waits for those after it. Where the sort did not divide its rows the window
// computes them as one partition.
type ranked struct {
	*window
	asked, apart bool
	at, all      int64  // the number of the next row, and how many there are
	peer         int64  // of the first peer of the row before
	last         []byte // the keys of that
}

// rankedRows is how many rows are worth ranges: fewer come in their order, which who reads them by hand expects.
const rankedRows = 1 << 16

// rangedSort is a sort whose threads give ranges, once there are rows.
type rangedSort interface {
	op.Divider
	Range() (before, all int64)
}

// countsOnly reports whether a window's values are those of row numbers, of peers before a row and of how many rows there are.
func countsOnly(n *plan.Window) bool {
	return len(n.PartitionBy) == 0 && len(n.OrderBy) > 0 && n.Top == 0 && !slices.ContainsFunc(n.Items, func(it plan.WindowItem) bool {
		if it.Call.Fn.Kind != fn.Window || it.Call.Filter != nil {
			return true
		}
		switch it.Call.Fn.Name {
		case "row_number", "rank", "percent_rank":
			return false
		case "ntile":
			return tilesOf(it.Call) < 1
		}
		return true
	})
}

// tilesOf returns ntile's argument where it is a constant; else 0.
func tilesOf(c expr.AggCall) int64 {
	if k, ok := c.Args[0].(*expr.Const); ok {
		n, _ := k.Val.(int64)
		return n
	}
	return 0
}

func newRanked(w *window) *ranked { return &ranked{window: w} }

func (o *ranked) Next(ctx context.Context) (*batch.Batch, error) {
	if o.asked && !o.apart {
		return o.window.Next(ctx)
	}
	b, err := o.in.Next(ctx)
	if !o.asked {
		o.asked = true
		if s, ok := o.in.(rangedSort); ok && s.Divided() {
			o.apart = true
			o.at, o.all = s.Range()
		} else {
			o.in = &asked{Operator: o.in, b: b, err: err}
			return o.window.Next(ctx)
		}
	}
	for err == nil && b.Rows() == 0 {
		b, err = o.in.Next(ctx)
	}
	if err != nil {
		return nil, err
	}
	return o.rank(ctx, kernel.Compact(b))
}

// asked is an operator that has been asked for its first batch.
type asked struct {
	op.Operator
	b   *batch.Batch
	err error
}

func (o *asked) Next(ctx context.Context) (*batch.Batch, error) {
	b, err := o.b, o.err
	if b == nil && err == nil {
		return o.Operator.Next(ctx)
	}
	o.b, o.err = nil, nil
	return b, err
}

// rank computes the calls for the next rows.
func (o *ranked) rank(ctx context.Context, b *batch.Batch) (*batch.Batch, error) {
	var peers []int64
	if o.peered {
		var err error
		if peers, err = o.peers(ctx, b); err != nil {
			return nil, err
		}
	}
	cols := slices.Clip(b.Cols)
	for _, f := range o.funcs {
		t := f.item.Call.Typ.Arrow()
		switch f.item.Call.Fn.Name {
		case "row_number":
			cols = append(cols, integers(b.N, func(i int) int64 { return o.at + int64(i) + 1 }))
		case "rank":
			cols = append(cols, integers(b.N, func(i int) int64 { return peers[i] + 1 }))
		case "percent_rank":
			cols = append(cols, floats(b.N, func(i int) float64 { return float64(peers[i]) / float64(max(o.all-1, 1)) }))
		default:
			out := make([]int32, b.N)
			putTiles(out, o.at, o.all, tilesOf(f.item.Call))
			cols = append(cols, batch.FromSlice(t, out, nil))
		}
	}
	o.at += int64(b.N)
	return batch.New(cols, b.N), nil
}

// peers returns the numbers of the rows' first peers.
func (o *ranked) peers(ctx context.Context, b *batch.Batch) ([]int64, error) {
	changes, err := o.changes(ctx, o.order, o.orderSpecs, b)
	if err != nil {
		return nil, err
	}
	first, err := o.keys(ctx, o.order, o.orderSpecs, b.Slice(0, 1))
	if err != nil {
		return nil, err
	}
	changes[0] = o.last == nil || !bytes.Equal(first.At(0), o.last)
	last, err := o.keys(ctx, o.order, o.orderSpecs, b.Slice(b.N-1, b.N))
	if err != nil {
		return nil, err
	}
	o.last = append(o.last[:0], last.At(0)...)
	out, peer := make([]int64, b.N), o.peer
	for i, differs := range changes {
		if differs {
			peer = o.at + int64(i)
		}
		out[i] = peer
	}
	o.peer = peer
	return out, nil
}

// putTiles writes the tiles of rows from at on, of all: so many, of which the first have a row more where it does not divide.
func putTiles(out []int32, at, all, tiles int64) {
	size, more := all/tiles, all%tiles
	for i := 0; i < len(out); {
		row := at + int64(i)
		tile := row / (size + 1)
		end := (tile + 1) * (size + 1)
		if tile >= more {
			tile = more + (row-more*(size+1))/max(size, 1)
			end = more*(size+1) + (tile-more+1)*max(size, 1)
		}
		for ; i < len(out) && at+int64(i) < end; i++ {
			out[i] = int32(tile + 1)
		}
	}
}
