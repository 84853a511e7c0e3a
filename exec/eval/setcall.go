package eval

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// setCall is what a set-returning function sees of one call, and what its rows
// are charged to.
type setCall struct {
	call plan.SetCall
	env  *Env
	m    *meter
	vals []*vec // the arguments for all input rows
	at   []types.Type
	rows int64 // charged for what is still to give of the current input row
}

// generator gives the rows of one call for one input row: it appends up to max
// of them to the builders and tells how many, 0 at the end.
type generator interface {
	next(ctx context.Context, max int, out []array.Builder) (int, error)
}

// setMaker starts a call for an input row. args are datums, nil for NULL; of a
// strict function none is. A nil generator gives no rows.
type setMaker func(c *setCall, args []types.Datum) (generator, error)

// empty is the generator of no rows.
type empty struct{}

func (empty) next(context.Context, int, []array.Builder) (int, error) { return 0, nil }

// holds charges n bytes for as long as the call gives rows of one input row.
func (c *setCall) holds(n int) {
	c.m.charge(int64(n))
	c.keep(int64(n))
}

// keep keeps n bytes that are charged for as long as holds does.
func (c *setCall) keep(n int64) {
	c.m.keep(n)
	c.rows += n
}

// scratch is a call to compute with now: its values are charged with the rows.
func (c *setCall) scratch() *call {
	return &call{ctx: c.m.ctx, env: c.env, a: &arena{m: c.m, once: true}}
}

// listMaker starts a call whose argument is read where it lies.
type listMaker func(c *setCall, row int) generator

// rowsOf is a generator of rows that are there: values of the only column, or
// Rows for several.
type rowsOf struct {
	t    []types.Type
	rows []types.Datum
}

func (g *rowsOf) next(_ context.Context, max int, out []array.Builder) (int, error) {
	n := min(max, len(g.rows))
	for _, d := range g.rows[:n] {
		if err := g.give(d, out); err != nil {
			return 0, err
		}
	}
	g.rows = g.rows[n:]
	return n, nil
}

// give appends one row.
func (g *rowsOf) give(d types.Datum, out []array.Builder) error {
	r, ok := d.(types.Row)
	if len(out) == 1 {
		if ok && g.t[0].OID != types.RecordOID && len(r) == 1 {
			d = r[0]
		}
		return types.AppendDatum(out[0], g.t[0], d)
	}
	for i, b := range out {
		var x types.Datum
		if ok && i < len(r) {
			x = r[i]
		}
		if err := types.AppendDatum(b, g.t[i], x); err != nil {
			return err
		}
	}
	return nil
}

// list makes a generator of rows that are there.
func (c *setCall) list(rows []types.Datum) generator {
	c.holds(3 * boxedBytes * len(rows))
	return &rowsOf{rows: rows, t: c.colTypes()}
}

func (c *setCall) colTypes() []types.Type {
	var out []types.Type
	for _, col := range c.call.Cols {
		out = append(out, col.Type)
	}
	return out
}

func recordOf(cols []plan.Column) *types.Record {
	r := &types.Record{}
	for _, c := range cols {
		r.Fields = append(r.Fields, types.Field{Name: c.Name, Type: c.Type})
	}
	return r
}

func texts(parts []string) []types.Datum {
	out := make([]types.Datum, len(parts))
	for i, p := range parts {
		out[i] = p
	}
	return out
}
