package write

import (
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// uniqueKey is what a unique constraint or index compares: columns, or
// expressions over them, of the rows that a predicate keeps.
type uniqueKey struct {
	*catalog.Constraint
	rel   *catalog.Relation
	live  []catalog.Column
	names []string
	keys  []expr.Expr // over the live columns, numbered from 1 in order
	where expr.Expr   // nil: all rows
	// building says that the rows were there before the constraint.
	building bool
}

func (r *Executor) uniqueKey(rel *catalog.Relation, c *catalog.Constraint) (*uniqueKey, error) {
	k := &uniqueKey{Constraint: c, rel: rel, live: rel.Live()}
	column := func(num int16) {
		for i, l := range k.live {
			if l.Num == num {
				k.names = append(k.names, l.Name)
				k.keys = append(k.keys, &expr.Col{ID: expr.ColID(i + 1), Typ: l.Type, Name: l.Name})
			}
		}
	}
	if c.Kind != 'e' {
		for _, num := range c.Columns {
			column(num)
		}
		return k, nil
	}
	of := r.st.RelationByOID(c.Index)
	if of == nil || of.Index == nil {
		return nil, pgerr.Internal("unique index %q is gone", c.Name)
	}
	b := r.binding(r.x.Text)
	b.Dialect = parse.Postgres
	for i, num := range of.Index.Columns {
		if num != 0 {
			column(num)
			continue
		}
		e, _, err := bind.ScalarText(b, of.Index.Exprs[i], rel, bind.ForIndex)
		if err != nil {
			return nil, err
		}
		k.names, k.keys = append(k.names, of.Index.Exprs[i]), append(k.keys, e)
	}
	if of.Index.Where != "" {
		var err error
		if k.where, _, err = bind.ScalarText(b, of.Index.Where, rel, bind.ForPredicate); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// over returns an expression over the live columns with other columns in their
// place.
func (k *uniqueKey) over(e expr.Expr, id func(i int) expr.ColID) expr.Expr {
	return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		if c, ok := x.(*expr.Col); ok {
			return &expr.Col{ID: id(int(c.ID) - 1), Typ: c.Typ, Name: c.Name}
		}
		return x
	})
}

// idSpan is how many column ids the rows of a key take.
const idSpan = 4096

// rows returns a table's keys; those with a NULL only where NULLs are equal.
// Its columns have the ids from first on, those it reads others of the span. rowID, if it is given, is
// a column more, of the rows' addresses.
func (k *uniqueKey) rows(first expr.ColID, rowID ...plan.Column) (plan.Node, *plan.Scan, []plan.Column) {
	if k.Kind != 'e' {
		sc := keyScan(k.rel, k.Constraint, first)
		for _, c := range rowID {
			sc.RowID = c.ID
		}
		return sc, sc, sc.Cols
	}
	id := func(i int) expr.ColID { return first + 100 + expr.ColID(i) }
	sc := scanOf(k.rel, id, append(k.keys[:len(k.keys):len(k.keys)], k.where)...)
	if k.where != nil {
		sc.Filter = append(sc.Filter, k.over(k.where, id))
	}
	p := &plan.Project{Input: sc}
	var cols []plan.Column
	var some []expr.Expr
	for i, e := range k.keys {
		c := plan.Column{ID: first + expr.ColID(i), Name: k.names[i], Type: e.Type()}
		cols = append(cols, c)
		p.Items = append(p.Items, plan.Item{Col: c, Expr: k.over(e, id)})
		some = append(some, &expr.IsNull{Arg: colRef(c), Not: true})
	}
	for _, c := range rowID {
		sc.RowID = c.ID
		p.Items = append(p.Items, plan.Item{Col: c, Expr: colRef(c)})
	}
	if k.NullsNotDistinct {
		return p, sc, cols
	}
	return &plan.Filter{Input: p, Conds: some}, sc, cols
}

// ofRow returns the key's expressions over a row whose live columns have these
// ids; NULL for a row that the predicate leaves out.
func (k *uniqueKey) ofRow(ids []expr.ColID) []expr.Expr {
	id := func(i int) expr.ColID { return ids[i] }
	var out []expr.Expr
	for _, e := range k.keys {
		e = k.over(e, id)
		if k.where != nil {
			e = &expr.Case{Whens: []expr.When{{Cond: k.over(k.where, id), Then: e}}, Else: &expr.Const{Typ: e.Type()}, Typ: e.Type()}
		}
		out = append(out, e)
	}
	return out
}
