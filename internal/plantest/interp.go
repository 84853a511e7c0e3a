package plantest

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Row is a row of values by column.
type Row map[expr.ColID]types.Datum

// Interp runs plans of any phase row by row, directly by the definition of each node:
// Apply runs its right side for each left row, a Subquery runs where it occurs.
type Interp struct {
	// Tables are rows in the order of the table's columns, by attnum from 1.
	Tables  map[types.OID][][]types.Datum
	Buffers map[int][]Row

	// For a node of a simulated cluster: its number, the number of nodes, and the rows
	// that stages sent to it.
	Node, Nodes int
	Received    map[plan.StageID][]Row
}

// Query runs a query with its buffers and returns its output as text, a line a row, in
// the order they came.
func (in *Interp) Query(q *plan.Query) ([]string, error) {
	if in.Buffers == nil {
		in.Buffers = map[int][]Row{}
	}
	for _, b := range q.Buffers {
		rows, err := in.Run(b.Root, nil)
		if err != nil {
			return nil, err
		}
		in.Fill(b.ID, rows, b.Cols)
	}
	rows, err := in.Run(q.Root, nil)
	if err != nil {
		return nil, err
	}
	return Lines(rows, q.Cols), nil
}

// Lines prints rows.
func Lines(rows []Row, cols []plan.Column) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		vals := make([]string, len(cols))
		for j, c := range cols {
			vals[j] = "NULL"
			if v := r[c.ID]; v != nil {
				vals[j] = types.TextOf(c.Type, v, nil)
			}
		}
		out[i] = strings.Join(vals, "|")
	}
	return out
}

// byPosition renames the columns of rows from from's to to's, by position.
func byPosition(rows []Row, from, to []plan.Column) []Row {
	out := make([]Row, len(rows))
	for i, r := range rows {
		out[i] = Row{}
		for j := range to {
			out[i][to[j].ID] = r[from[j].ID]
		}
	}
	return out
}

func merge(rows ...Row) Row {
	out := Row{}
	for _, r := range rows {
		for k, v := range r {
			out[k] = v
		}
	}
	return out
}

// Eval computes an expression over a row.
func (in *Interp) Eval(e expr.Expr, r Row) (types.Datum, error) {
	var fail error
	x := expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		if fail != nil {
			return x
		}
		switch x := x.(type) {
		case *expr.Col:
			v, ok := r[x.ID]
			if !ok {
				fail = fmt.Errorf("column %s#%d is not in the row", x.Name, x.ID)
			}
			return &expr.Const{Val: v, Typ: x.Typ}
		case *expr.Subquery:
			v, err := in.subquery(x, r)
			if err != nil {
				fail = err
			}
			return &expr.Const{Val: v, Typ: x.Typ}
		}
		return x
	})
	if fail != nil {
		return nil, fail
	}
	return eval.Constant(x, &function.Env{})
}

func (in *Interp) subquery(s *expr.Subquery, r Row) (types.Datum, error) {
	p := s.Plan.(plan.Node)
	rows, err := in.Run(p, r)
	if err != nil {
		return nil, err
	}
	switch s.Kind {
	case expr.SubExists:
		return (len(rows) > 0) != s.Not, nil
	case expr.SubScalar:
		if len(rows) > 1 {
			return nil, pgerr.New(pgerr.CardinalityViolation, "more than one row returned by a subquery used as an expression")
		}
		if len(rows) == 0 {
			return nil, nil
		}
		return rows[0][s.Cols[0]], nil
	case expr.SubArray:
		elem, _ := s.Typ.Elem()
		a := types.Array{Elem: elem}
		for _, x := range rows {
			a.Elems = append(a.Elems, x[s.Cols[0]])
		}
		return a, nil
	}
	schema := map[expr.ColID]plan.Column{}
	for _, c := range p.Schema() {
		schema[c.ID] = c
	}
	all := s.Kind == expr.SubAll
	var result types.Datum = all
	for _, x := range rows {
		var conds []expr.Expr
		for i, a := range s.Args {
			c := schema[s.Cols[i]]
			conds = append(conds, call(s.Cmp[i], s.Op, a, &expr.Const{Val: x[c.ID], Typ: c.Type}))
		}
		var cond expr.Expr = conds[0]
		if len(conds) > 1 {
			cond = &expr.And{Args: conds}
			if s.Op == "<>" {
				cond = &expr.Or{Args: conds}
			}
		}
		v, err := eval.Constant(cond, &function.Env{})
		if err != nil {
			return nil, err
		}
		switch {
		case v == nil && result == all:
			result = nil
		case v == !all:
			result = !all
		}
	}
	if b, ok := result.(bool); ok && s.Not {
		return !b, nil
	}
	return result, nil
}

// all reports whether all conditions are true for a row.
func (in *Interp) all(conds []expr.Expr, r Row) (bool, error) {
	v, err := in.and(conds, r)
	return v == true, err
}

// and is the three-valued AND.
func (in *Interp) and(conds []expr.Expr, r Row) (types.Datum, error) {
	var out types.Datum = true
	for _, c := range conds {
		v, err := in.Eval(c, r)
		if err != nil {
			return nil, err
		}
		if v == false {
			return false, nil
		}
		if v == nil {
			out = nil
		}
	}
	return out, nil
}

// Run returns the rows of n; outer are the columns of outer queries.
func (in *Interp) Run(n plan.Node, outer Row) ([]Row, error) {
	switch n := n.(type) {
	case *plan.Scan:
		var out []Row
		for i, t := range in.Tables[n.Table] {
			if in.Nodes > 1 && i%in.Nodes != in.Node {
				continue
			}
			r := Row{}
			for _, c := range n.Cols {
				r[c.ID] = t[c.Num-1]
			}
			out = append(out, r)
		}
		return in.filter(out, n.Filter, outer)
	case *plan.Values:
		var out []Row
		for _, row := range n.Rows {
			r := Row{}
			for i, e := range row {
				v, err := in.Eval(e, outer)
				if err != nil {
					return nil, err
				}
				r[n.Cols[i].ID] = v
			}
			out = append(out, r)
		}
		return out, nil
	case *plan.FuncScan:
		return in.Run(&plan.ProjectSet{Input: &plan.Values{Rows: [][]expr.Expr{{}}}, Calls: n.Calls, Ordinality: n.Ordinality}, outer)
	case *plan.Buffer:
		b, ok := in.Buffers[n.ID]
		if !ok {
			return nil, fmt.Errorf("buffer %d is not filled", n.ID)
		}
		out := make([]Row, len(b))
		for i, r := range b {
			out[i] = Row{}
			for j, c := range n.Cols {
				out[i][c.ID] = r[expr.ColID(-1-j)]
				if _, ok := r[expr.ColID(-1-j)]; !ok {
					return nil, fmt.Errorf("buffer %d has no column %d", n.ID, j)
				}
			}
		}
		return out, nil
	case *plan.Receive:
		rows := append([]Row(nil), in.Received[n.From]...)
		if len(n.Merge) > 0 {
			return in.sort(rows, n.Merge, outer)
		}
		return rows, nil
	case *plan.Apply:
		l, err := in.Run(n.L, outer)
		if err != nil {
			return nil, err
		}
		return in.join(&plan.Join{Kind: n.Kind, L: n.L, R: n.R, On: n.On, MarkCol: n.MarkCol}, l, func(lr Row) ([]Row, error) {
			return in.Run(n.R, merge(outer, lr))
		}, outer)
	case *plan.Join:
		l, err := in.Run(n.L, outer)
		if err != nil {
			return nil, err
		}
		r, err := in.Run(n.R, outer)
		if err != nil {
			return nil, err
		}
		return in.join(n, l, func(Row) ([]Row, error) { return r, nil }, outer)
	case *plan.SetOp:
		return in.setOp(n, outer)
	case *plan.RecursiveUnion:
		return in.recursive(n, outer)
	}
	kids := n.Children()
	if len(kids) != 1 {
		return nil, fmt.Errorf("interpreter: a %T", n)
	}
	rows, err := in.Run(kids[0], outer)
	if err != nil {
		return nil, err
	}
	return in.unary(n, rows, outer)
}

func (in *Interp) unary(n plan.Node, rows []Row, outer Row) ([]Row, error) {
	switch n := n.(type) {
	case *plan.Filter:
		return in.filter(rows, n.Conds, outer)
	case *plan.Project:
		out := make([]Row, len(rows))
		for i, r := range rows {
			out[i] = Row{}
			for _, it := range n.Items {
				v, err := in.Eval(it.Expr, merge(outer, r))
				if err != nil {
					return nil, err
				}
				out[i][it.Col.ID] = v
			}
		}
		return out, nil
	case *plan.ProjectSet:
		return in.projectSet(n, rows, outer)
	case *plan.Aggregate:
		return in.aggregate(n, rows, outer)
	case *plan.Window:
		return in.window(n, rows, outer)
	case *plan.Sort:
		out, err := in.sort(rows, n.Keys, outer)
		if err == nil && n.Limit >= 0 && int64(len(out)) > n.Limit {
			out = out[:n.Limit]
		}
		return out, err
	case *plan.Limit:
		return in.limit(n, rows, outer)
	case *plan.DistinctOn:
		if len(n.Order) > 0 {
			var err error
			if rows, err = in.sort(rows, n.Order, outer); err != nil {
				return nil, err
			}
		}
		seen := map[string]bool{}
		var out []Row
		for _, r := range rows {
			k, _, err := in.key(n.Keys, merge(outer, r))
			if err != nil {
				return nil, err
			}
			if !seen[k] {
				seen[k] = true
				out = append(out, r)
			}
		}
		return out, nil
	case *plan.Max1Row:
		if len(rows) > 1 {
			return nil, pgerr.New(pgerr.CardinalityViolation, "more than one row returned by a subquery used as an expression")
		}
		return rows, nil
	}
	return nil, fmt.Errorf("interpreter: a %T", n)
}

func (in *Interp) filter(rows []Row, conds []expr.Expr, outer Row) ([]Row, error) {
	if len(conds) == 0 {
		return rows, nil
	}
	var out []Row
	for _, r := range rows {
		ok, err := in.all(conds, merge(outer, r))
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, r)
		}
	}
	return out, nil
}

// key returns a string that is the same for equal values.
func (in *Interp) key(es []expr.Expr, r Row) (string, []types.Datum, error) {
	var b strings.Builder
	vals := make([]types.Datum, len(es))
	for i, e := range es {
		v, err := in.Eval(e, r)
		if err != nil {
			return "", nil, err
		}
		vals[i] = v
		b.WriteString(keyText(e.Type(), v))
		b.WriteByte(0)
	}
	return b.String(), vals, nil
}

// keyText returns a text that is the same for equal values of a type.
func keyText(t types.Type, v types.Datum) string {
	switch x := v.(type) {
	case nil:
		return "\x01"
	case number.Decimal:
		return x.TrimScale().String()
	}
	return types.TextOf(t, v, nil)
}

func (in *Interp) sort(rows []Row, keys []expr.Order, outer Row) ([]Row, error) {
	vals := make([][]types.Datum, len(rows))
	idx := make([]int, len(rows))
	for i, r := range rows {
		idx[i] = i
		for _, k := range keys {
			v, err := in.Eval(k.Expr, merge(outer, r))
			if err != nil {
				return nil, err
			}
			vals[i] = append(vals[i], v)
		}
	}
	sort.SliceStable(idx, func(a, b int) bool {
		return compareKeys(keys, vals[idx[a]], vals[idx[b]]) < 0
	})
	out := make([]Row, len(rows))
	for i, j := range idx {
		out[i] = rows[j]
	}
	return out, nil
}

func compareKeys(keys []expr.Order, a, b []types.Datum) int {
	for i, k := range keys {
		x, y := a[i], b[i]
		if x == nil || y == nil {
			if x == nil && y == nil {
				continue
			}
			if (x == nil) == k.NullsFirst {
				return -1
			}
			return 1
		}
		c := types.Compare(k.Expr.Type(), x, y)
		if k.Desc {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

func (in *Interp) limit(n *plan.Limit, rows []Row, outer Row) ([]Row, error) {
	num := func(e expr.Expr, none int64) (int64, error) {
		if e == nil {
			return none, nil
		}
		v, err := in.Eval(e, outer)
		if err != nil || v == nil {
			return none, err
		}
		return v.(int64), nil
	}
	off, err := num(n.Offset, 0)
	if err != nil {
		return nil, err
	}
	cnt, err := num(n.Count, 1<<40)
	if err != nil {
		return nil, err
	}
	off = min(off, int64(len(rows)))
	end := min(off+cnt, int64(len(rows)))
	if n.Ties && end > off {
		for end < int64(len(rows)) {
			_, a, err := in.key(orders(n.Keys), merge(outer, rows[end-1]))
			if err != nil {
				return nil, err
			}
			_, b, err := in.key(orders(n.Keys), merge(outer, rows[end]))
			if err != nil {
				return nil, err
			}
			if compareKeys(n.Keys, a, b) != 0 {
				break
			}
			end++
		}
	}
	return rows[off:end], nil
}

func orders(ks []expr.Order) []expr.Expr {
	out := make([]expr.Expr, len(ks))
	for i, k := range ks {
		out[i] = k.Expr
	}
	return out
}

// projectSet supports generate_series and unnest.
func (in *Interp) projectSet(n *plan.ProjectSet, rows []Row, outer Row) ([]Row, error) {
	var out []Row
	for _, r := range rows {
		var sets [][]types.Datum
		most := 0
		for _, c := range n.Calls {
			var vals []types.Datum
			args := make([]types.Datum, len(c.Args))
			for i, a := range c.Args {
				v, err := in.Eval(a, merge(outer, r))
				if err != nil {
					return nil, err
				}
				args[i] = v
			}
			switch c.Fn.Name {
			case "generate_series":
				a, ok := args[0].(int64)
				b, ok2 := args[1].(int64)
				for x := a; ok && ok2 && x <= b; x++ {
					vals = append(vals, x)
				}
			case "unnest":
				if a, ok := args[0].(types.Array); ok {
					vals = a.Elems
				}
			default:
				return nil, fmt.Errorf("interpreter: %s", c.Fn.Name)
			}
			sets = append(sets, vals)
			most = max(most, len(vals))
		}
		if most == 0 && n.Outer {
			most = 1
		}
		for i := range most {
			o := merge(r)
			for j, c := range n.Calls {
				o[c.Cols[0].ID] = nil
				if i < len(sets[j]) {
					o[c.Cols[0].ID] = sets[j][i]
				}
			}
			if n.Ordinality != 0 {
				o[n.Ordinality] = int64(i + 1)
			}
			out = append(out, o)
		}
	}
	return out, nil
}

func (in *Interp) setOp(n *plan.SetOp, outer Row) ([]Row, error) {
	keys := make([]expr.Expr, len(n.Cols))
	for i, c := range n.Cols {
		keys[i] = &expr.Col{ID: c.ID, Typ: c.Type}
	}
	var inputs [][]Row
	var counts []map[string]int
	for _, k := range n.Inputs {
		rows, err := in.Run(k, outer)
		if err != nil {
			return nil, err
		}
		rows = byPosition(rows, k.Schema(), n.Cols)
		m := map[string]int{}
		for _, r := range rows {
			s, _, err := in.key(keys, r)
			if err != nil {
				return nil, err
			}
			m[s]++
		}
		inputs, counts = append(inputs, rows), append(counts, m)
	}
	var out []Row
	seen := map[string]int{}
	emit := func(r Row, most func(k string) int) error {
		k, _, err := in.key(keys, r)
		if err == nil && seen[k] < most(k) {
			seen[k]++
			out = append(out, r)
		}
		return err
	}
	most := func(k string) int {
		c := counts[0][k]
		switch n.Kind {
		case plan.Union:
			c = 0
			for _, m := range counts {
				c += m[k]
			}
		case plan.Intersect:
			c = min(c, counts[1][k])
		case plan.Except:
			if n.All {
				c -= counts[1][k]
			} else if counts[1][k] > 0 {
				c = 0
			}
		}
		if !n.All {
			c = min(c, 1)
		}
		return c
	}
	for i, rows := range inputs {
		if i > 0 && n.Kind != plan.Union {
			break
		}
		for _, r := range rows {
			if err := emit(r, most); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func (in *Interp) recursive(n *plan.RecursiveUnion, outer Row) ([]Row, error) {
	keys := make([]expr.Expr, len(n.Cols))
	for i, c := range n.Cols {
		keys[i] = &expr.Col{ID: c.ID, Typ: c.Type}
	}
	var out []Row
	seen := map[string]bool{}
	add := func(rows []Row) ([]Row, error) {
		var fresh []Row
		for _, r := range rows {
			k, _, err := in.key(keys, r)
			if err != nil {
				return nil, err
			}
			if n.All || !seen[k] {
				seen[k] = true
				fresh = append(fresh, r)
			}
		}
		out = append(out, fresh...)
		return fresh, nil
	}
	rows, err := in.Run(n.Init, outer)
	if err != nil {
		return nil, err
	}
	work, err := add(byPosition(rows, n.Init.Schema(), n.Cols))
	for round := 0; err == nil && len(work) > 0; round++ {
		if round > 100 {
			return nil, fmt.Errorf("recursion does not end")
		}
		in.Fill(n.ID, work, n.Cols)
		if rows, err = in.Run(n.Step, outer); err != nil {
			return nil, err
		}
		work, err = add(byPosition(rows, n.Step.Schema(), n.Cols))
	}
	return out, err
}

// Fill puts rows in a buffer; there columns are counted by position.
func (in *Interp) Fill(id int, rows []Row, cols []plan.Column) {
	if in.Buffers == nil {
		in.Buffers = map[int][]Row{}
	}
	pos := make([]plan.Column, len(cols))
	for i := range pos {
		pos[i].ID = expr.ColID(-1 - i)
	}
	in.Buffers[id] = byPosition(rows, cols, pos)
}

// SortedCopy returns lines in order.
func SortedCopy(lines []string) []string {
	out := slices.Clone(lines)
	slices.Sort(out)
	return out
}
