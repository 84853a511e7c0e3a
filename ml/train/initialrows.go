package train

import (
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// given encodes the rows of the relation that the plan names.
func (r *runner) given() (out []*block.Block, err error) {
	g := r.job.Plan.Given
	if g == nil || r.in.Resume != nil {
		return nil, nil
	}
	rows := 0
	for _, b := range r.in.Given {
		for i, c := range r.fitted.Cols {
			if missing(b, i) {
				return nil, pgerr.New(pgerr.NullValueNotAllowed, "column %q of relation %q contains NULL or NaN", c.Name, g.Relation).OnColumn(c.Name).At(g.Pos)
			}
		}
		rows += b.Rows()
		block, err := r.fitted.EncodeColumns(b.Cols, b.Rows())
		if err != nil {
			return nil, err
		}
		out = append(out, block)
	}
	switch {
	case rows == 0:
		return nil, pgerr.New(pgerr.InvalidParameterValue, "relation %q has no rows to begin with", g.Relation).At(g.Pos)
	case rows > g.Most:
		return nil, pgerr.New(pgerr.InvalidParameterValue, "relation %q has more than %d rows to begin with", g.Relation, g.Most).At(g.Pos)
	}
	return out, nil
}

// missing reports whether a column has a NULL or a NaN.
func missing(b *batch.Batch, col int) bool {
	switch a := b.Cols[col].(type) {
	case *array.Float64:
		for i := range b.Rows() {
			if v := a.Value(i); v != v {
				return true
			}
		}
	case *array.Float32:
		for i := range b.Rows() {
			if v := a.Value(i); v != v {
				return true
			}
		}
	}
	return b.Cols[col].NullN() > 0
}
