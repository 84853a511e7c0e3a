package unnest

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Subqueries turns each subquery in an expression into an Apply below the
// node that has the expression:
//
//	σ EXISTS (S)         L ⋉ S                 σ NOT EXISTS (S)    L ▷ S
//	σ x IN (S)           L ⋉ S on x = s        σ x NOT IN (S)      L ▷ S by NOT IN's rule
//	σ x op ALL (S)       L ▷ S on (x op s) is not true
//	in any other place   EXISTS, IN, ANY, ALL: a column that says whether (mark)
//	                     (S) as a value: a column of a single join
//	                     ARRAY (S): the same over array_agg
//
// Only a top-level conjunct of a Filter may become a semi-join: in
// a = 1 OR EXISTS (S) a row may pass without a match, so there it is a mark.
func Subqueries(r *rule.Run, n plan.Node, _ plan.ColSet) (plan.Node, error) {
	u := &unnester{r: r}
	out := u.tree(n)
	return out, u.r.Err
}

type unnester struct{ r *rule.Run }

func (u *unnester) tree(n plan.Node) plan.Node {
	n = u.r.MapChildren(n, u.tree)
	if !nodeHasSubquery(n) {
		return n
	}
	switch n := n.(type) {
	case *plan.Filter:
		return u.filter(n)
	case *plan.Join:
		return u.join(n)
	case *plan.Apply:
		// On is a condition over both sides: a filter of the right one.
		c := *n
		c.On = nil
		if n.Kind == plan.Inner {
			return u.filter(&plan.Filter{Input: &c, Conds: n.On})
		}
		c.R = u.filter(&plan.Filter{Input: n.R, Conds: n.On})
		return &c
	case *plan.Values:
		return u.values(n)
	case *plan.FuncScan:
		ps := &plan.ProjectSet{Input: unit(), Calls: n.Calls, Ordinality: n.Ordinality}
		return u.overInput(ps)
	case *plan.Limit:
		return u.limit(n)
	case *plan.Aggregate:
		return u.overInput(n)
	}
	if n.Traits().Rows.Derived() {
		return u.overInput(n)
	}
	u.r.Fail(pgerr.Unsupported("subquery in this place is not supported"))
	return n
}

func nodeHasSubquery(n plan.Node) bool {
	for _, e := range plan.Exprs(n) {
		if rewrite.HasSubquery(e) {
			return true
		}
	}
	return false
}

// unit returns one row without columns.
func unit() plan.Node { return &plan.Values{Rows: [][]expr.Expr{{}}} }

func isUnit(n plan.Node) bool {
	v, ok := n.(*plan.Values)
	return ok && len(v.Cols) == 0 && len(v.Rows) == 1
}

// overInput computes the subqueries of n's expressions over its input. Nodes
// that emit their input's columns get a Project on top that drops the new ones.
func (u *unnester) overInput(n plan.Node) plan.Node {
	before := n.Schema()
	input := n.Children()[0]
	m := plan.MapExprs(n, func(e expr.Expr) expr.Expr {
		var out expr.Expr
		input, out = u.scalar(input, e)
		return out
	})
	m = m.WithChildren([]plan.Node{input})
	return keepSchema(m, before)
}

// keepSchema drops what n emits beyond cols.
func keepSchema(n plan.Node, cols []plan.Column) plan.Node {
	if len(n.Schema()) == len(cols) {
		return n
	}
	return &plan.Project{Input: n, Items: rewrite.PassItems(cols)}
}

func (u *unnester) filter(n *plan.Filter) plan.Node {
	before := n.Schema()
	input := n.Input
	var plain, late []expr.Expr
	var semis []*expr.Subquery
	for _, c := range rewrite.SplitAll(n.Conds) {
		s, ok := c.(*expr.Subquery)
		switch {
		case !rewrite.HasSubquery(c):
			plain = append(plain, c)
		case ok && s.Kind != expr.SubScalar && s.Kind != expr.SubArray:
			semis = append(semis, s)
		default:
			late = append(late, c)
		}
	}
	input = rewrite.Filter(input, plain)
	for _, s := range semis {
		input = u.semi(input, s)
	}
	for i, c := range late {
		input, late[i] = u.scalar(input, c)
	}
	return keepSchema(rewrite.Filter(input, late), before)
}

// semi filters input by a subquery that is a whole condition.
func (u *unnester) semi(input plan.Node, s *expr.Subquery) plan.Node {
	sub := u.plan(s)
	args := make([]expr.Expr, len(s.Args))
	for i, a := range s.Args {
		input, args[i] = u.scalar(input, a)
	}
	on := u.comparisons(s, args)
	switch s.Kind {
	case expr.SubExists:
		kind := plan.Semi
		if s.Not {
			kind = plan.Anti
		}
		return &plan.Apply{Kind: kind, L: input, R: sub}
	case expr.SubAny:
		if !s.Not {
			return &plan.Apply{Kind: plan.Semi, L: input, R: sub, On: on}
		}
		if len(on) == 1 && s.Op == "=" {
			return &plan.Apply{Kind: plan.AntiNull, L: input, R: sub, On: on}
		}
		// NOT (x op ANY S): no row for which x op s is true or unknown.
		return &plan.Apply{Kind: plan.Anti, L: input, R: sub,
			On: []expr.Expr{&expr.BoolTest{Arg: rewrite.AndOf(on), Kind: expr.IsFalse, Not: true}}}
	case expr.SubAll:
		if s.Not {
			// NOT (x op ALL S): some row for which x op s is false.
			return &plan.Apply{Kind: plan.Semi, L: input, R: sub,
				On: []expr.Expr{&expr.BoolTest{Arg: rewrite.AndOf(on), Kind: expr.IsFalse}}}
		}
		if len(on) == 1 && s.Op == "<>" {
			if eq := u.equalityOf(on[0]); eq != nil {
				return &plan.Apply{Kind: plan.AntiNull, L: input, R: sub, On: []expr.Expr{eq}}
			}
		}
		return &plan.Apply{Kind: plan.Anti, L: input, R: sub,
			On: []expr.Expr{&expr.BoolTest{Arg: rewrite.AndOf(on), Kind: expr.IsTrue, Not: true}}}
	}
	u.r.Fail(rule.Internal("subquery of kind %d as a condition", s.Kind))
	return input
}

// equalityOf turns x <> y into x = y.
func (u *unnester) equalityOf(e expr.Expr) expr.Expr {
	if c, ok := e.(*expr.Call); ok {
		if n, ok := rewrite.Negate(c).(*expr.Call); ok && n.Op == "=" {
			return n
		}
	}
	return nil
}

// comparisons compares args with the subquery's columns.
func (u *unnester) comparisons(s *expr.Subquery, args []expr.Expr) []expr.Expr {
	if s.Kind != expr.SubAny && s.Kind != expr.SubAll {
		return nil
	}
	by := map[expr.ColID]plan.Column{}
	for _, c := range s.Plan.(plan.Node).Schema() {
		by[c.ID] = c
	}
	on := make([]expr.Expr, len(args))
	for i, a := range args {
		col := rewrite.ColOf(by[s.Cols[i]])
		on[i] = rewrite.CallOf(s.Cmp[i], s.Op, a, col)
		if c, ok := on[i].(*expr.Call); ok {
			c.Pos = s.Pos
		}
	}
	if s.Op == "<>" && len(on) > 1 {
		// Rows differ where some column does.
		return []expr.Expr{&expr.Or{Args: on}}
	}
	return on
}

// plan returns the subquery's plan with its own subqueries already converted.
func (u *unnester) plan(s *expr.Subquery) plan.Node {
	return u.tree(s.Plan.(plan.Node))
}

// scalar replaces the subqueries in e by columns of Applies over input.
func (u *unnester) scalar(input plan.Node, e expr.Expr) (plan.Node, expr.Expr) {
	return u.within(input, e, nil)
}

// within is scalar for an expression that is evaluated only where all of reached are true.
func (u *unnester) within(input plan.Node, e expr.Expr, reached []expr.Expr) (plan.Node, expr.Expr) {
	if e == nil || !rewrite.HasSubquery(e) {
		return input, e
	}
	s, ok := e.(*expr.Subquery)
	if !ok {
		return u.branches(input, e, reached)
	}
	sub := u.plan(s)
	args := make([]expr.Expr, len(s.Args))
	for i, a := range s.Args {
		input, args[i] = u.within(input, a, reached)
	}
	if len(reached) > 0 {
		input, s, sub, args = u.shield(input, s, sub, args, reached)
	}
	switch s.Kind {
	case expr.SubScalar:
		var col plan.Column
		for _, c := range sub.Schema() {
			if len(s.Cols) > 0 && c.ID == s.Cols[0] {
				col = c
			}
		}
		// A subquery may return a column of the outer query, and two copies of an expression may need the
		// same one.
		if taken := plan.Emits(input); taken[col.ID] {
			var ids map[expr.ColID]expr.ColID
			sub, ids = u.r.Disambiguate(sub, taken)
			if id, ok := ids[col.ID]; ok {
				col.ID = id
			} else {
				sub, ids = u.r.Rename(sub)
				col.ID = ids[col.ID]
			}
		}
		return &plan.Apply{Kind: plan.Single, L: input, R: sub}, rewrite.ColOf(col)
	case expr.SubArray:
		agg, col, empty := u.arrayOf(s, sub)
		if agg == nil {
			return input, e
		}
		return &plan.Apply{Kind: plan.Single, L: input, R: agg},
			&expr.Coalesce{Args: []expr.Expr{rewrite.ColOf(col), empty}, Typ: s.Typ}
	}
	mark := u.r.NewCol("mark", types.Bool)
	on := u.comparisons(s, args)
	var result expr.Expr = rewrite.ColOf(mark)
	switch s.Kind {
	case expr.SubExists:
		result = &expr.BoolTest{Arg: result, Kind: expr.IsTrue, Not: s.Not}
	case expr.SubAny:
		if s.Not {
			result = &expr.Not{Arg: result}
		}
	case expr.SubAll:
		// x op ALL S is NOT (NOT (x op s) for ANY s).
		on = []expr.Expr{rule.FoldNot(&expr.Not{Arg: rewrite.AndOf(on)})}
		if !s.Not {
			result = &expr.Not{Arg: result}
		}
	}
	return &plan.Apply{Kind: plan.Mark, L: input, R: sub, On: on, MarkCol: mark.ID}, result
}

// arrayOf aggregates a subquery's column to an array, in the subquery's order.
func (u *unnester) arrayOf(s *expr.Subquery, sub plan.Node) (plan.Node, plan.Column, expr.Expr) {
	var arg plan.Column
	for _, c := range sub.Schema() {
		if c.ID == s.Cols[0] {
			arg = c
		}
	}
	f := rewrite.Function("array_agg", arg.Type.OID)
	if arg.Type.IsArray() || f == nil {
		u.r.Fail(pgerr.Unsupported("ARRAY of a subquery that returns %s is not supported", types.TypeName(arg.Type.OID)))
		return nil, plan.Column{}, nil
	}
	col := u.r.NewCol("array", s.Typ)
	call := expr.AggCall{Fn: f, Args: []expr.Expr{rewrite.ColOf(arg)}, Typ: s.Typ}
	inner, keys := orderOf(sub)
	if keys != nil {
		call.OrderBy = keys
		sub = inner
	}
	agg := &plan.Aggregate{Input: sub, Aggs: []plan.AggItem{{Col: col, Call: call}}}
	elem, _ := s.Typ.Elem()
	return agg, col, &expr.Const{Val: types.Array{Elem: elem}, Typ: s.Typ}
}

// orderOf finds the order in which n emits its rows, as keys over the columns of the node it
// returns; nil for none. A Project that hides the keys is widened.
func orderOf(n plan.Node) (plan.Node, []expr.Order) {
	switch n := n.(type) {
	case *plan.Sort:
		if n.Limit < 0 {
			return n.Input, n.Keys
		}
		return n, n.Keys
	case *plan.Limit:
		in, keys := orderOf(n.Input)
		if in == n.Input || keys == nil {
			return n, keys
		}
		return n, keys
	case *plan.Project:
		in, keys := orderOf(n.Input)
		if keys == nil {
			return n, nil
		}
		have := map[expr.ColID]bool{}
		for _, it := range n.Items {
			have[it.Col.ID] = true
		}
		items := n.Items[:len(n.Items):len(n.Items)]
		by := map[expr.ColID]plan.Column{}
		for _, c := range in.Schema() {
			by[c.ID] = c
		}
		for _, k := range keys {
			for _, c := range rewrite.SortedIDs(rewrite.ColumnsOf(k.Expr)) {
				if col, ok := by[c]; ok && !have[c] {
					have[c] = true
					items = append(items, rewrite.PassThrough(col))
				}
			}
		}
		return &plan.Project{Input: in, Items: items}, keys
	}
	return n, nil
}

// join removes subqueries from a join's condition.
func (u *unnester) join(n *plan.Join) plan.Node {
	var plain, subs []expr.Expr
	for _, c := range rewrite.SplitAll(n.On) {
		if rewrite.HasSubquery(c) {
			subs = append(subs, c)
		} else {
			plain = append(plain, c)
		}
	}
	c := *n
	c.On = plain
	switch n.Kind {
	case plan.Inner:
		return u.filter(&plan.Filter{Input: &c, Conds: subs})
	case plan.Left:
		l := plan.Emits(n.L)
		var pairs []expr.Expr
		for _, e := range subs {
			if rewrite.Intersects(rewrite.ColumnsOf(e), l) {
				pairs = append(pairs, e)
				continue
			}
			c.R = u.filter(&plan.Filter{Input: c.R, Conds: []expr.Expr{e}})
		}
		if len(pairs) == 0 {
			return &c
		}
		// The condition reads both sides: let the right one read the left.
		return &plan.Apply{Kind: plan.Left, L: c.L, R: u.filter(&plan.Filter{Input: c.R, Conds: pairs}), On: plain}
	case plan.Right:
		before := n.Schema()
		m := &plan.Join{Kind: plan.Left, L: n.R, R: n.L, On: n.On}
		return &plan.Project{Input: u.join(m), Items: rewrite.PassItems(before)}
	}
	u.r.Fail(pgerr.Unsupported("subquery in the condition of a FULL JOIN is not supported"))
	return n
}

// values turns rows with subqueries into a union of projections.
func (u *unnester) values(n *plan.Values) plan.Node {
	arms := make([]plan.Node, len(n.Rows))
	for i, row := range n.Rows {
		input := unit()
		items := make([]plan.Item, len(row))
		for j, e := range row {
			col := n.Cols[j]
			if len(n.Rows) > 1 {
				col = u.r.NewCol(col.Name, col.Type)
			}
			input, e = u.scalar(input, e)
			items[j] = plan.Item{Col: col, Expr: e}
		}
		arms[i] = &plan.Project{Input: input, Items: items}
	}
	if len(arms) == 1 {
		return arms[0]
	}
	return &plan.SetOp{Kind: plan.Union, All: true, Inputs: arms, Cols: n.Cols}
}

// limit handles LIMIT (SELECT …): the rows are numbered, and compared with the
// number that a single join brings.
func (u *unnester) limit(n *plan.Limit) plan.Node {
	before := n.Schema()
	input, keys := n.Input, n.Keys
	if len(keys) == 0 {
		_, keys = orderOf(n.Input)
	}
	numbered, num := rowNumber(u.r, input, nil, keys, n.Ties)
	if numbered == nil {
		return n
	}
	input = numbered
	count, offset := n.Count, n.Offset
	input, count = u.scalar(input, count)
	input, offset = u.scalar(input, offset)
	conds := betweenRows(u.r, num, count, offset)
	var out plan.Node = rewrite.Filter(input, conds)
	if len(keys) > 0 {
		out = &plan.Sort{Input: out, Keys: keys, Limit: -1}
	}
	return keepSchema(out, before)
}

// rowNumber adds a column that numbers rows from 1 within a partition; with
// ties, peers share the first one's number.
func rowNumber(r *rule.Run, n plan.Node, by []expr.Expr, order []expr.Order, ties bool) (plan.Node, plan.Column) {
	name := "row_number"
	if ties {
		name = "rank"
	}
	f := rewrite.Function(name)
	if f == nil {
		r.Fail(rule.Internal("function %s() is not known", name))
		return nil, plan.Column{}
	}
	col := r.NewCol(name, types.Int8)
	w := &plan.Window{Input: n, PartitionBy: by, OrderBy: order, Items: []plan.WindowItem{{
		Col:  col,
		Call: expr.AggCall{Fn: f, Typ: types.Int8},
		Frame: plan.Frame{Mode: 'v', Start: plan.FrameBound{Kind: plan.UnboundedPreceding},
			End: plan.FrameBound{Kind: plan.CurrentRow}},
	}}}
	return w, col
}

// checkedCount wraps a count in a function that refuses a negative one; constants are checked where
// they are used.
func checkedCount(r *rule.Run, name string, count expr.Expr) expr.Expr {
	if count == nil || rewrite.IsConstant(count) {
		return count
	}
	f := rewrite.Function(name, types.Int8OID)
	if f == nil {
		r.Fail(rule.Internal("function %s(bigint) is not known", name))
		return count
	}
	return rewrite.CallOf(f, "", count)
}

// betweenRows returns the conditions that LIMIT and OFFSET put on a row's number. A NULL count or
// offset imposes none.
func betweenRows(r *rule.Run, num plan.Column, count, offset expr.Expr) []expr.Expr {
	var conds []expr.Expr
	n := rewrite.ColOf(num)
	count, offset = checkedCount(r, "limit_count", count), checkedCount(r, "offset_count", offset)
	orNull := func(e, cond expr.Expr) expr.Expr {
		if c, ok := e.(*expr.Const); ok && c.Val != nil {
			return cond
		}
		return &expr.Or{Args: []expr.Expr{&expr.IsNull{Arg: e}, cond}}
	}
	if offset != nil && !rewrite.IsNull(offset) {
		conds = append(conds, orNull(offset, rewrite.Compare(">", n, offset)))
	}
	if count == nil || rewrite.IsNull(count) {
		return conds
	}
	last := count
	if offset != nil && !rewrite.IsNull(offset) {
		plus := rewrite.Operator("+", types.Int8, types.Int8)
		if plus == nil {
			r.Fail(rule.Internal("operator bigint + bigint is not known"))
			return nil
		}
		off := offset
		if !rewrite.IsConstant(off) {
			off = &expr.Coalesce{Args: []expr.Expr{offset, rewrite.IntConst(0)}, Typ: types.Int8}
		}
		last = rewrite.CallOf(plus.Func, "+", count, off)
		if c, ok := count.(*expr.Const); ok {
			if o, ok := off.(*expr.Const); ok {
				last = rewrite.IntConst(c.Val.(int64) + o.Val.(int64))
			}
		}
	}
	return append(conds, orNull(count, rewrite.Compare("<=", n, last)))
}
