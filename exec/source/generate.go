package source

import (
	"context"
	"io"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// block is the number of rows in a unit of a generator. The same seed yields other rows with another
// size.
const block = 8192

// blocksPerPart makes a split of some hundred thousand rows.
const blocksPerPart = 16

// maxRows bounds n_samples and the like.
const maxRows = 1 << 40

// maxColumns is PostgreSQL's limit.
const maxColumns = 1600

// maxFileColumns is how many columns a query may read of a file, which a table may not all have
// (maxColumns), but a model's features may: as many as the protocol can describe.
const maxFileColumns = 32767

// generator is a table whose rows are made a block at a time.
type generator struct {
	cols []plan.Column
	n    int64
	unit int64 // rows of a unit where they are fewer than a block
	// make returns rows [from, from+n) of the wanted columns, block being their number; what it
	// returns for columns not wanted is ignored.
	make func(block, from int64, n int, want []bool) []arrow.Array
}

func (g *generator) columns() []plan.Column { return g.cols }
func (g *generator) from() []file           { return nil }
func (g *generator) rows() float64          { return float64(g.n) }
func (g *generator) units() int64           { return (g.n + g.size() - 1) / g.size() }
func (g *generator) perPart() int64         { return blocksPerPart * block / g.size() }

// size returns the rows of a unit.
func (g *generator) size() int64 {
	if g.unit > 0 {
		return g.unit
	}
	return block
}

func (g *generator) read(_ context.Context, from, to int64, cols []int, _ []plan.Column) (op.BatchReader, error) {
	want := make([]bool, len(g.cols))
	for _, c := range cols {
		want[c] = true
	}
	return &blocks{g: g, next: from, end: to, cols: cols, want: want}, nil
}

type blocks struct {
	g         *generator
	next, end int64
	cols      []int
	want      []bool
}

func (r *blocks) Next(ctx context.Context) (*batch.Batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.next >= r.end {
		return nil, io.EOF
	}
	from := r.next * r.g.size()
	n := int(min(r.g.size(), r.g.n-from))
	all := r.g.make(r.next, from, n, r.want)
	r.next++
	out := make([]arrow.Array, len(r.cols))
	for i, c := range r.cols {
		out[i] = all[c]
	}
	b := batch.New(out, n)
	b.Seq = from
	return b, nil
}

func (r *blocks) Close() error {
	r.next = r.end
	return nil
}

// floats makes a column of float8 or float4; it takes vals over.
func floats(t types.Type, vals []float64) arrow.Array {
	if t.OID != types.Float4OID {
		return batch.FromSlice(arrow.PrimitiveTypes.Float64, vals, nil)
	}
	narrow := make([]float32, len(vals))
	for i, v := range vals {
		narrow[i] = float32(v)
	}
	return batch.FromSlice(arrow.PrimitiveTypes.Float32, narrow, nil)
}

func ints(vals []int64) arrow.Array { return batch.FromSlice(arrow.PrimitiveTypes.Int64, vals, nil) }

// featureColumns are x0 … xN-1.
func featureColumns(n int, t types.Type) []plan.Column {
	cols := make([]plan.Column, n, n+1)
	for i := range cols {
		cols[i] = plan.Column{Name: "x" + itoa(int64(i)), Type: t}
	}
	return cols
}

// normals fills n normal numbers for a column of a block.
func normals(seed, column uint64, b int64, n int) []float64 {
	s := newStream(seed, column, uint64(b))
	out := make([]float64, n)
	for i := range out {
		out[i] = s.normal()
	}
	return out
}

// shuffled returns a permutation of n columns.
func shuffled(n int, s *stream) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	for i := n - 1; i > 0; i-- {
		j := s.below(int64(i + 1))
		p[i], p[j] = p[j], p[i]
	}
	return p
}
