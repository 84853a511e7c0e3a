package write

import (
	"context"
	"io"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// loader completes the rows of a COPY: defaults for the columns that were not
// copied, then generated columns, in the order of the table's live columns.
type loader struct {
	dml  *plan.DML
	cols []plan.Column // the live columns; ids from 1, as bind.ScalarText numbers them
	from []int         // per live column: the copied column, or -1
	prog []*eval.Program
	gen  []bool
}

func (r *Executor) newLoader(rel *catalog.Relation, copied []catalog.Column) (*loader, error) {
	live := rel.Live()
	l := &loader{dml: &plan.DML{Kind: plan.InsertRows, Table: rel}, from: make([]int, len(live)), prog: make([]*eval.Program, len(live)), gen: make([]bool, len(live))}
	for i, c := range live {
		id := expr.ColID(i + 1)
		l.cols = append(l.cols, plan.Column{ID: id, Name: c.Name, Type: c.Type, Table: rel.OID, Num: c.Num})
		l.dml.Values = append(l.dml.Values, id)
	}
	use := plan.TableUse{OID: rel.OID, Version: rel.Version, Priv: 'a'}
	for _, c := range copied {
		use.Columns = append(use.Columns, c.Num)
	}
	l.dml.Tables = []plan.TableUse{use}
	r.x.host().Writes(rel)
	b := r.binding(r.x.Text)
	compile := func(text string, over *catalog.Relation, kind bind.ScalarKind, c catalog.Column) (*eval.Program, error) {
		e, in, err := bind.ScalarText(b, text, over, kind)
		if err != nil {
			return nil, err
		}
		if e, err = bind.AssignTo(b, e, c.Name, c.Type, nil); err != nil {
			return nil, err
		}
		return eval.Compile(e, in, r.x.Env)
	}
	for i, c := range live {
		l.from[i] = -1
		for k, cc := range copied {
			if cc.Num == c.Num {
				l.from[i] = k
			}
		}
		if l.from[i] >= 0 {
			continue
		}
		var err error
		switch {
		case c.Generated != "":
			l.gen[i] = true
			l.prog[i], err = compile(c.Generated, rel, bind.ForGenerated, c)
		case c.Identity != 0:
			seq := r.st.RelationByOID(c.Sequence)
			text := "nextval('" + lex.QuoteIdent(r.st.Schema(seq.Schema).Name) + "." + lex.QuoteIdent(seq.Name) + "'::regclass)"
			l.prog[i], err = compile(text, nil, bind.ForDefault, c)
		case c.Default != "":
			l.prog[i], err = compile(c.Default, nil, bind.ForDefault, c)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, k := range rel.Constraints {
		if k.Kind != 'c' {
			continue
		}
		e, _, err := bind.ScalarText(b, k.Check, rel, bind.ForCheck)
		if err != nil {
			return nil, err
		}
		l.dml.Checks = append(l.dml.Checks, plan.Check{Name: k.Name, Expr: e})
	}
	return l, nil
}

// batch completes a batch of copied columns, which has no selection.
func (l *loader) batch(ctx context.Context, b *batch.Batch) (*batch.Batch, error) {
	out := batch.New(make([]arrow.Array, len(l.cols)), b.N)
	for pass := 0; pass < 2; pass++ {
		for i, c := range l.cols {
			switch {
			case out.Cols[i] != nil:
			case l.from[i] >= 0:
				out.Cols[i] = b.Cols[l.from[i]]
			case l.prog[i] == nil || pass == 0 && l.gen[i]:
				if l.gen[i] {
					continue
				}
				out.Cols[i] = batch.Nulls(c.Type.Arrow(), b.N)
			case l.gen[i]:
				arr, err := l.prog[i].Eval(ctx, l.readable(out))
				if err != nil {
					return nil, err
				}
				out.Cols[i] = arr
			default:
				arr, err := l.prog[i].Eval(ctx, batch.New(nil, b.N))
				if err != nil {
					return nil, err
				}
				out.Cols[i] = arr
			}
		}
	}
	return out, nil
}

// readable returns the rows with NULLs for columns not computed yet: a generated
// column may not read another.
func (l *loader) readable(b *batch.Batch) *batch.Batch {
	cols := make([]arrow.Array, len(b.Cols))
	for i, c := range b.Cols {
		if c == nil {
			c = batch.Nulls(l.cols[i].Type.Arrow(), b.N)
		}
		cols[i] = c
	}
	return batch.New(cols, b.N)
}

// Rows are what Load writes.
type Rows interface {
	Next() (*batch.Batch, error) // io.EOF at the end
	// Context adds to an error of a row of the last batch where that is.
	Context(err error, row int) error
}

// Load writes rows of some of a table's columns into it: as INSERT would, with defaults for the other
// columns.
func (r *Executor) Load(rel *catalog.Relation, cols []catalog.Column, from Rows) (rows int64, err error) {
	ld, err := r.newLoader(rel, cols)
	if err != nil {
		return 0, err
	}
	w := r.modifying(ld.dml)
	defer w.Close()
	if err := w.prepare(ld.cols); err != nil {
		return 0, err
	}
	for {
		read, err := from.Next()
		if err == io.EOF {
			if err := w.flush(); err != nil {
				w.abort()
				return 0, err
			}
			return w.count, w.finish()
		}
		if err == nil {
			err = r.x.Ctx.Err()
		}
		if err == nil {
			if err = ld.write(r.x.Ctx, w, read); err != nil {
				err = ld.inContext(r.x.Ctx, w, read, err, from.Context)
			}
		}
		if err != nil {
			w.abort()
			return 0, err
		}
	}
}

func (l *loader) write(ctx context.Context, w *ModifyTable, b *batch.Batch) error {
	b, err := l.batch(ctx, b)
	if err != nil {
		return err
	}
	return w.rows.Rows(ctx, b)
}

// inContext adds to the error of a batch where the first of its rows is that has an error of that kind.
func (l *loader) inContext(ctx context.Context, w *ModifyTable, b *batch.Batch, err error, context func(error, int) error) error {
	for k := range b.Rows() {
		row, e := l.batch(ctx, b.Slice(k, k+1))
		if e == nil {
			_, e = w.rows.CheckRows(ctx, row)
		}
		if e != nil && pgerr.CodeOf(e) == pgerr.CodeOf(err) {
			return context(err, k)
		}
	}
	return err
}
