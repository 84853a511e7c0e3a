package function

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// SetCall is one call of a set-returning function, to which its rows are charged.
type SetCall struct {
	Call  plan.SetCall
	Env   *Env
	Meter *vector.Meter
	Args  []*vector.Vec // the arguments for all input rows
	Types []types.Type
	Memo  any   // kept from one input row to the next: of Scratch's calls, or of the function itself
	Rows  int64 // charged for the rows of the current input row that are not returned yet
}

// Generator produces the rows of one call for one input row: it appends up to max of them to the
// builders and returns how many, 0 at the end.
type Generator interface {
	Next(ctx context.Context, max int, out []array.Builder) (int, error)
}

// SetMaker starts a call for an input row. args are datums, nil for NULL; of a strict function none
// is. A nil generator produces no rows.
type SetMaker func(c *SetCall, args []types.Datum) (Generator, error)

// Empty is the generator of no rows.
type Empty struct{}

func (Empty) Next(context.Context, int, []array.Builder) (int, error) { return 0, nil }

// Holds charges n bytes for as long as the call produces rows of one input row.
func (c *SetCall) Holds(n int) {
	c.Meter.Charge(int64(n))
	c.Keep(int64(n))
}

// Keep keeps n bytes that are charged already for as long as the call produces rows of one input
// row.
func (c *SetCall) Keep(n int64) {
	c.Meter.Keep(n)
	c.Rows += n
}

// Scratch returns a call to compute with now: its values are charged with the rows.
func (c *SetCall) Scratch() *Call {
	return &Call{Ctx: c.Meter.Ctx, Env: c.Env, Arena: vector.Once(c.Meter), Memo: &c.Memo}
}

// ListMaker starts a call whose argument is read in place.
type ListMaker func(c *SetCall, row int) (Generator, error)

// RowsOf is a generator of existing rows: values of the only column, or Rows for several.
type RowsOf struct {
	T    []types.Type
	rows []types.Datum
}

func (g *RowsOf) Next(_ context.Context, max int, out []array.Builder) (int, error) {
	n := min(max, len(g.rows))
	for _, d := range g.rows[:n] {
		if err := g.Give(d, out); err != nil {
			return 0, err
		}
	}
	g.rows = g.rows[n:]
	return n, nil
}

// Give appends one row.
func (g *RowsOf) Give(d types.Datum, out []array.Builder) error {
	r, ok := d.(types.Row)
	if len(out) == 1 {
		if ok && g.T[0].OID != types.RecordOID && len(r) == 1 {
			d = r[0]
		}
		return types.AppendDatum(out[0], g.T[0], d)
	}
	for i, b := range out {
		var x types.Datum
		if ok && i < len(r) {
			x = r[i]
		}
		if err := types.AppendDatum(b, g.T[i], x); err != nil {
			return err
		}
	}
	return nil
}

// List makes a generator of existing rows.
func (c *SetCall) List(rows []types.Datum) Generator {
	c.Holds(3 * BoxedBytes * len(rows))
	return &RowsOf{rows: rows, T: c.ColTypes()}
}

// ColTypes returns the types of the call's columns.
func (c *SetCall) ColTypes() []types.Type {
	var out []types.Type
	for _, col := range c.Call.Cols {
		out = append(out, col.Type)
	}
	return out
}

// RecordOf returns the row type of columns.
func RecordOf(cols []plan.Column) *types.Record {
	r := &types.Record{}
	for _, c := range cols {
		r.Fields = append(r.Fields, types.Field{Name: c.Name, Type: c.Type})
	}
	return r
}

// Texts makes datums of strings.
func Texts(parts []string) []types.Datum {
	out := make([]types.Datum, len(parts))
	for i, p := range parts {
		out[i] = p
	}
	return out
}
