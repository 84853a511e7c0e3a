package write

import (
	"errors"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/build"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/planner"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// rowsInPlace computes the rows of a tree that reads few, by a walk instead of a task with its operators:
//
//	Values                of a few rows
//	Scan                  by a whole key: the row that the index names
//	Values ⟕ Scan         on the scan's key
//	Filter, Project       above them
//
// known is false where the tree has something else, or a row is not on this node: then its plan must run. Nothing has
// been written by then. few is the join, nil for none, and found is what it looked up.
func rowsInPlace(r *Executor, idle *planner.Idle, root plan.Node, few *planner.FewJoin) (b *batch.Batch, found *foundKeys, known bool, err error) {
	if r.Analyze || r.x.Caller.KeepOperators {
		return nil, nil, false, nil
	}
	w := &inPlace{Executor: r, few: few, idle: idle}
	err = op.Guard("rows in place", func() (err error) {
		b, known, err = w.rows(root)
		return err
	})
	var bad *store.CorruptError
	if errors.As(err, &bad) || b != nil && op.TooLong(err, 2) {
		return nil, nil, false, nil // the plan repairs the one, and computes row by row for the other
	}
	return b, w.found, known, err
}

type inPlace struct {
	*Executor
	few   *planner.FewJoin
	idle  *planner.Idle
	found *foundKeys
}

// rows computes the rows of a node: its columns are those of its schema.
func (r *inPlace) rows(n plan.Node) (b *batch.Batch, known bool, err error) {
	switch n := n.(type) {
	case *plan.Values:
		if len(n.Rows) > fewValues {
			return nil, false, nil
		}
		b, err = valuesAgain(r.Executor, r.idle, n)
		return b, err == nil, err
	case *plan.Scan:
		return r.scan(n)
	case *plan.Filter:
		if b, known, err = r.rows(n.Input); !known {
			return nil, false, err
		}
		b, err = r.filter(b, n, n.Conds, n.Input)
	case *plan.Project:
		if slices.ContainsFunc(n.Items, func(it plan.Item) bool { return expr.Volatile(it.Expr) }) {
			return nil, false, nil
		}
		if b, known, err = r.rows(n.Input); !known {
			return nil, false, err
		}
		b, err = r.project(b, n)
	case *plan.Join:
		return r.join(n)
	default:
		return nil, false, nil
	}
	return b, err == nil, err
}

// filter keeps the rows that meet the conditions of node n over the columns of another.
func (r *inPlace) filter(b *batch.Batch, n plan.Node, conds []expr.Expr, over plan.Node) (*batch.Batch, error) {
	if b.Rows() == 0 {
		return b, nil
	}
	f, ok := r.idle.Take(n).(*eval.Filter)
	if ok {
		f.Rebind(r.x.Env)
	} else {
		var err error
		if f, err = eval.CompileFilterAgain(conds, over.Schema(), r.x.Env); err != nil {
			return nil, err
		}
	}
	out, err := f.Select(r.x.Ctx, b)
	if err == nil && r.idle != nil && f.Rest() {
		r.idle.Put(n, f)
	}
	if err == nil && out.Rows() == 0 {
		out = &batch.Batch{Cols: b.Cols, N: b.N, Sel: []int32{}, Seq: -1}
	}
	return out, err
}

func (r *inPlace) project(b *batch.Batch, n *plan.Project) (*batch.Batch, error) {
	if b.Rows() == 0 {
		return nothing(n.Schema())
	}
	ps, err := compiledAgain(r.idle, n, r.x.Env, func() ([]expr.Expr, []plan.Column) {
		es := make([]expr.Expr, len(n.Items))
		for i, it := range n.Items {
			es[i] = it.Expr
		}
		return es, n.Input.Schema()
	})
	if err != nil {
		return nil, err
	}
	rows := b.Rows()
	cols, err := computed(r.x.Ctx, ps, b)
	if err != nil {
		return nil, err
	}
	restAgain(r.idle, n, ps)
	return batch.New(cols, rows), nil
}

// valuesAgain computes the rows of a VALUES.
func valuesAgain(r *Executor, idle *planner.Idle, v *plan.Values) (*batch.Batch, error) {
	if len(v.Rows) == 0 {
		return build.Values(r.x.Ctx, v, 0, 0, r.x.Env)
	}
	var ps []*eval.Program // of the values that are computed, column by column
	isComputed := func(e expr.Expr) bool {
		switch e.(type) {
		case *expr.Const, *expr.Param:
			return false
		}
		return true
	}
	computes := idle != nil && slices.ContainsFunc(v.Rows, func(row []expr.Expr) bool { return slices.ContainsFunc(row, isComputed) })
	name := &v.Rows[0] // which copies of the node share
	if computes {
		var err error
		if ps, err = compiledAgain(idle, name, r.x.Env, func() (es []expr.Expr, in []plan.Column) {
			for c := range v.Cols {
				for _, row := range v.Rows {
					if isComputed(row[c]) {
						es = append(es, row[c])
					}
				}
			}
			return es, nil
		}); err != nil {
			return nil, err
		}
	}
	one, next := batch.New(nil, 1), 0
	b, err := build.ValuesOf(v, 0, len(v.Rows), func(row, c int) (types.Datum, error) {
		e := v.Rows[row][c]
		if !computes || !isComputed(e) {
			return eval.ConstantContext(r.x.Ctx, e, r.x.Env)
		}
		p := ps[next]
		next++
		a, err := p.Eval(r.x.Ctx, one)
		if err != nil {
			return nil, err
		}
		return types.DatumAt(p.Type(), a, 0), nil
	})
	if err == nil && computes {
		restAgain(idle, name, ps)
	}
	return b, err
}

// mostKept is how many columns a statement has whose programs are kept.
const mostKept = 64

// restAgain leaves programs to the next run.
func restAgain(idle *planner.Idle, of any, ps []*eval.Program) {
	if idle != nil && len(ps) <= mostKept && eval.Rest(ps) {
		idle.Put(of, ps)
	}
}

// compiledAgain returns programs of expressions over columns that of is a name for, as an earlier run of the statement has
// left them, or compiled now.
func compiledAgain(idle *planner.Idle, of any, env *function.Env, made func() ([]expr.Expr, []plan.Column)) ([]*eval.Program, error) {
	if ps, ok := idle.Take(of).([]*eval.Program); ok {
		eval.Rebind(ps, env)
		return ps, nil
	}
	es, in := made()
	return eval.CompileColumnsAgain(es, in, env)
}

// scan reads the row of a scan by a whole key, if there is one.
func (r *inPlace) scan(n *plan.Scan) (*batch.Batch, bool, error) {
	k := store.KeyOf(n, r.st.RelationByOID(n.Table), r.x.Env)
	if k == nil {
		return nil, false, nil
	}
	b, known, err := r.Row(r.x.Ctx, r.st.Manifest(n.Table), n, k)
	if err != nil || !known {
		return nil, false, err
	}
	if b == nil {
		b, err = nothing(n.Schema())
	} else if !k.IsWhole() {
		b, err = r.filter(b, n, n.Filter, n)
	}
	return b, err == nil, err
}

// join joins given rows with those of a table that have their keys.
func (r *inPlace) join(j *plan.Join) (*batch.Batch, bool, error) {
	f := r.few
	if f == nil || len(f.Keys) != len(j.LKeys) || len(j.Residual) > 0 || len(f.Scan.Filter) > 0 {
		return nil, false, nil
	}
	key, at := joinedKey(r.st.RelationByOID(f.Scan.Table), f)
	if key == nil {
		return nil, false, nil
	}
	given, known, err := r.rows(f.Given)
	if !known {
		return nil, false, err
	}
	cols, m := f.Given.Schema(), r.st.Manifest(f.Scan.Table)
	there := make([]*batch.Batch, given.Rows())
	r.found = &foundKeys{of: key}
	rowid := slices.IndexFunc(f.Scan.Schema(), func(c plan.Column) bool { return c.ID == f.Scan.RowID })
	var sel []int32
	for i := range there {
		row := i
		if given.Sel != nil {
			row = int(given.Sel[i])
		}
		vals := make([]types.Datum, len(at))
		for c, at := range at {
			vals[c] = types.DatumAt(cols[at].Type, given.Cols[at], row)
		}
		if there[i], known, err = rowByKey(r.Executor, m, f.Scan, key, vals); !known {
			return nil, false, err
		}
		r.found.add(vals, there[i], rowid)
		if there[i] != nil || j.Kind != plan.Inner {
			sel = append(sel, int32(row))
		}
	}
	if j.Kind == plan.Inner {
		there = slices.DeleteFunc(there, func(b *batch.Batch) bool { return b == nil })
	}
	if len(sel) == 0 {
		b, err := nothing(j.Schema())
		return b, err == nil, err
	}
	left := given.Cols
	if len(sel) != given.N {
		left = nil
		for i, c := range cols {
			a, err := gathered(c.Type, len(sel), func(k int) types.Datum { return types.DatumAt(c.Type, given.Cols[i], int(sel[k])) })
			if err != nil {
				return nil, false, err
			}
			left = append(left, a)
		}
	}
	right, err := beside(there, f.Scan.Schema())
	if err != nil {
		return nil, false, err
	}
	if j.R != plan.Node(f.Scan) {
		left, right = right, left
	}
	return batch.New(slices.Concat(left, right), len(sel)), true, nil
}

// joinedKey finds the constraint whose columns are those of the join, and the given columns that these are equal to; nil for
// none.
func joinedKey(rel *catalog.Relation, f *planner.FewJoin) (key *catalog.Constraint, at []int) {
	if rel == nil {
		return nil, nil
	}
	for i := range rel.Constraints {
		c := &rel.Constraints[i]
		if c.Kind != 'p' && c.Kind != 'u' || len(c.Columns) != len(f.Keys) {
			continue
		}
		at = at[:0]
		for _, num := range c.Columns {
			if k := slices.IndexFunc(f.Keys, func(c plan.Column) bool { return c.Num == num }); k >= 0 {
				at = append(at, f.At[k])
			}
		}
		if len(at) == len(c.Columns) {
			return c, at
		}
	}
	return nil, nil
}

// rowByKey reads the row that has a key; nil, and known, if there is none.
func rowByKey(r *Executor, m *catalog.Manifest, s *plan.Scan, c *catalog.Constraint, key []types.Datum) (b *batch.Batch, known bool, err error) {
	if m == nil || slices.Contains(key, nil) { // it is equal to nothing
		return nil, true, nil
	}
	k := store.KeyFor(r.st.RelationByOID(s.Table), c, key)
	if k == nil {
		return nil, false, nil
	}
	return r.Row(r.x.Ctx, m, s, k)
}

// beside makes columns of rows that are one of a batch each, or NULL where that is nil.
func beside(rows []*batch.Batch, cols []plan.Column) ([]arrow.Array, error) {
	if len(rows) == 1 && rows[0] != nil {
		return rows[0].Cols, nil
	}
	out := make([]arrow.Array, len(cols))
	for i, c := range cols {
		if out[i] = besideIntegers(rows, i); out[i] != nil {
			continue
		}
		var err error
		if out[i], err = gathered(c.Type, len(rows), func(k int) types.Datum {
			if rows[k] == nil {
				return nil
			}
			return types.DatumAt(c.Type, rows[k].Cols[i], 0)
		}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// besideIntegers is beside for a column of plain integers of 8 bytes; nil for others.
func besideIntegers(rows []*batch.Batch, col int) arrow.Array {
	vals, valid := make([]int64, len(rows)), []byte(nil)
	some := false
	for k, row := range rows {
		there := row != nil
		if there {
			a, ok := row.Cols[col].(*array.Int64)
			if !ok {
				return nil
			}
			if some, there = true, a.IsValid(0); there {
				vals[k] = a.Value(0)
			}
		}
		if !there && valid == nil {
			valid = make([]byte, (len(rows)+7)/8)
			for before := range k {
				batch.SetBit(valid, before)
			}
		}
		if there && valid != nil {
			batch.SetBit(valid, k)
		}
	}
	if !some {
		return nil
	}
	return batch.FromSlice(arrow.PrimitiveTypes.Int64, vals, valid)
}

func gathered(t types.Type, n int, value func(i int) types.Datum) (arrow.Array, error) {
	b := array.NewBuilder(memory.DefaultAllocator, t.Arrow())
	for i := range n {
		if d := value(i); d == nil {
			b.AppendNull()
		} else if err := types.AppendDatum(b, t, d); err != nil {
			return nil, err
		}
	}
	return b.NewArray(), nil
}

// nothing is a batch without rows.
func nothing(cols []plan.Column) (*batch.Batch, error) {
	arrs, err := beside(nil, cols)
	return batch.New(arrs, 0), err
}
