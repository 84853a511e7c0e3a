package props

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// Column is the estimate of a column of some relation.
type Column struct {
	ndv      float64
	of       float64 // distinct values of the table's column, before conditions; 0 for not known
	min, max types.Datum
	null     float64
	typ      types.Type
	kept     *catalog.ColumnStatistics // of a scan while its conditions are looked at; may be nil
}

// Relation is the estimate of a relation. It keeps its own columns alone and asks the relations
// below for theirs: if each of n joins had a list of all columns, a chain of them would have n²/2.
type Relation struct {
	Rows  float64
	cols  map[expr.ColID]Column
	below []*Relation
	fewer func(ndv float64) float64 // what became of the distinct values of those below; nil for nothing
}

// above returns the estimate of rows with the columns of the relations below.
func above(rows float64, below ...*Relation) *Relation { return &Relation{Rows: rows, below: below} }

// plain returns the estimate of rows with columns of which nothing is known.
func plain(rows float64, cols []plan.Column) *Relation {
	r := above(rows)
	r.plain(cols)
	return r
}

// plain gives r columns of which nothing is known.
func (r *Relation) plain(cols []plan.Column) {
	for _, c := range cols {
		r.set(c.ID, Column{typ: c.Type})
	}
}

func (r *Relation) set(id expr.ColID, c Column) {
	if r.cols == nil {
		r.cols = map[expr.ColID]Column{}
	}
	r.cols[id] = c
}

// Col returns a column's estimate, the zero Column for one that r does not have.
func (r *Relation) Col(id expr.ColID) Column {
	c, _ := r.lookup(id)
	return c
}

// lookup finds a column, and remembers it.
func (r *Relation) lookup(id expr.ColID) (Column, bool) {
	if c, ok := r.cols[id]; ok {
		return c, true
	}
	for _, b := range r.below {
		c, ok := b.lookup(id)
		if !ok {
			continue
		}
		if r.fewer != nil {
			c.ndv = r.fewer(c.ndv)
		}
		r.set(id, c)
		return c, true
	}
	return Column{}, false
}

// adjust changes the distinct values of all columns.
func (r *Relation) adjust(f func(ndv float64) float64) {
	for id, c := range r.cols {
		c.ndv = f(c.ndv)
		r.cols[id] = c
	}
	if g := r.fewer; g != nil {
		r.fewer = func(ndv float64) float64 { return f(g(ndv)) }
	} else {
		r.fewer = f
	}
}
