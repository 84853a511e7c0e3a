package aggregate

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// results are an aggregate's results that are computed already, one group after the other
// (mergeSorted). They may be as large as the rows that did not fit in memory, such as those of
// string_agg: beyond a small size they are written to a temporary file, from which emit reads those of
// a few groups at a time.
type results struct {
	rt    *op.Runtime
	st    *op.Stats
	typ   types.Type
	mem   []arrow.Array // columns of one row each; nil once there is a file
	held  int64         // bytes of mem
	file  *spill.Writer // one batch a group
	sizes []int64       // bytes of each batch in the file

	last     arrow.Array // the column that was read last, if another call needs the same
	from, to int
}

// heldResults is how many bytes of results are kept in memory.
const heldResults = 256 << 10

// add takes the result of the next group, and returns how many bytes of it stay in memory.
func (r *results) add(ctx context.Context, col arrow.Array) (int64, error) {
	size := batch.ArrayBytes(col)
	if r.file == nil {
		if r.held+size <= heldResults {
			r.mem, r.held = append(r.mem, col), r.held+size
			return size, nil
		}
		var err error
		if r.file, err = r.rt.Spill.Create([]arrow.DataType{r.typ.Arrow()}); err != nil {
			return 0, err
		}
		for _, c := range r.mem {
			if err := r.write(ctx, c); err != nil {
				return 0, err
			}
		}
		size, r.mem, r.held = -r.held, nil, 0
		return size, r.write(ctx, col)
	}
	return 0, r.write(ctx, col)
}

func (r *results) write(ctx context.Context, col arrow.Array) error {
	before := r.file.Bytes()
	if err := r.file.AppendWhole(ctx, batch.New([]arrow.Array{col}, 1)); err != nil {
		return err
	}
	r.st.AddSpilled(r.file.Bytes() - before)
	r.sizes = append(r.sizes, batch.ArrayBytes(col))
	return nil
}

// rows returns the results of groups [from, to).
func (r *results) rows(ctx context.Context, from, to int) (arrow.Array, error) {
	if r.last != nil && r.from == from && r.to == to {
		return r.last, nil
	}
	r.last = nil
	cols := make([]arrow.Array, to-from)
	for i := range cols {
		if r.file == nil {
			cols[i] = r.mem[from+i]
			continue
		}
		b, err := r.file.At(ctx, from+i)
		if err != nil {
			return nil, err
		}
		cols[i] = b.Cols[0]
	}
	out := cols[0]
	if len(cols) > 1 {
		var err error
		if out, err = array.Concatenate(cols, memory.DefaultAllocator); err != nil {
			return nil, pgerr.Internal("results: %v", err)
		}
	}
	r.last, r.from, r.to = out, from, to
	return out, nil
}

// Takes and Need implement agg.Holistic: several results are copied into one column.
func (r *results) Takes([]arrow.Array, int) int64 { return 0 }
func (r *results) Need(from, to int, _ bool) (need int64) {
	if r.file == nil {
		return 0
	}
	for _, n := range r.sizes[from:to] {
		need += n
	}
	if to-from > 1 {
		need *= 2
	}
	return need
}

func (r *results) close() {
	if r.file != nil {
		r.file.Abort()
	}
	r.file, r.mem, r.last = nil, nil, nil
}

func (r *results) Resize(int) {}
func (r *results) Update([]uint32, []arrow.Array) error {
	return pgerr.Internal("rows for results that are found")
}
func (r *results) MergeStates([]uint32, *array.Binary) error {
	return pgerr.Internal("states for results that are found")
}
func (r *results) States(int, int) (arrow.Array, error) {
	return nil, pgerr.Internal("states of results that are found")
}
func (r *results) Results(int, int) (arrow.Array, error) {
	return nil, pgerr.Internal("results that are found are read by rows")
}
func (r *results) Bytes() int64 { return r.held }

// dropFound releases the results of mergeSorted, after all their rows were returned.
func (o *aggThread) dropFound() {
	for _, r := range o.found {
		r.close()
	}
	o.found = nil
}
