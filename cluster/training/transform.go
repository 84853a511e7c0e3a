package training

import (
	"fmt"
	"slices"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/impute"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// transformed is a TRANSFORM clause over the columns of its training query. The columns that it computes
// are trained on as if they were the query's. The model stores the expressions, and a prediction
// evaluates them over its own input.
type transformed struct {
	cols     []catalog.ModelFeature // the query's
	items    []transformItem
	encoders []feature.Transform
}

// transformItem is a column that is trained on.
type transformItem struct {
	name  string
	val   ast.Node
	text  string // of val
	reads []int  // the query's columns that val reads
	plain bool   // val is the column called name
	pos   int
	needs []operand
}

// operand is what a function of TRANSFORM that stands for an expression computes with.
type operand struct {
	fn   string
	of   ast.Node
	time bool // or else a number
}

// fits returns an error for an operand that is a column of another type: that of the expression would not speak of the function.
func (tr *transformed) fits(o operand) error {
	ref, ok := o.of.(*ast.ColumnRef)
	if !ok || len(ref.Fields.Items) != 1 {
		return nil
	}
	name := parse.ConstText(ref.Fields.Items[0])
	at := slices.IndexFunc(tr.cols, func(c catalog.ModelFeature) bool { return c.Name == name })
	if at < 0 {
		return nil
	}
	t, takes := tr.cols[at].Type, "numbers"
	if ok = t.IsNumber(); o.time {
		ok, takes = t.IsTime(), "times"
	}
	if ok {
		return nil
	}
	return pgerr.New(pgerr.DatatypeMismatch, "ml.%s takes %s, and column %q is of type %s", o.fn, takes, name, types.TypeName(t.OID)).OnColumn(name).
		WithHint("Cast it in the query, or encode it by another function.")
}

// transform analyses TRANSFORM; without one it takes all columns. besides reports which of the query's
// columns are needed in addition: the target, and those that options name.
func (st Statement) transform(s *bind.Session, q *plan.Query, besides func(name string) bool) (*transformed, error) {
	tr := &transformed{}
	for _, c := range q.Cols {
		if c.Type.OID == types.UnknownOID {
			c.Type = types.Text
		}
		c.Type.Mod = -1
		tr.cols = append(tr.cols, catalog.ModelFeature{Name: c.Name, Type: c.Type})
	}
	stars := 0
	var except []string
	list := st.Transform
	if list == nil {
		list = []*ast.ResTarget{ast.NewResTarget("", ast.NewColumnRef(ast.NewA_Star(0)))}
	}
	for _, target := range list {
		if names, ok := starOf(target.Val); ok {
			except = names
			tr.items = append(tr.items, transformItem{}) // replaced below, when all other items are known
			stars++
			continue
		}
		items, chain, err := st.transformItems(target)
		if err != nil {
			return nil, err
		}
		for _, it := range items {
			if err := tr.add(s, it, chain, besides); err != nil {
				return nil, err
			}
		}
	}
	if stars > 1 {
		return nil, pgerr.New(pgerr.SyntaxError, "TRANSFORM can have only one *").At(st.Text.FindFunc("transform"))
	}
	for _, name := range except {
		if !slices.ContainsFunc(tr.cols, func(c catalog.ModelFeature) bool { return c.Name == name }) {
			return nil, pgerr.New(pgerr.UndefinedColumn, "column %q does not exist in the training query", name).At(st.Text.FindIdent(name))
		}
	}
	if at := slices.IndexFunc(tr.items, func(it transformItem) bool { return it.val == nil }); at >= 0 {
		tr.items = slices.Replace(tr.items, at, at+1, tr.others(func(name string) bool { return !slices.Contains(except, name) })...)
	}
	tr.items = append(tr.items, tr.others(besides)...)
	return tr, nil
}

// add adds an item and its encoders.
func (tr *transformed) add(s *bind.Session, it transformItem, chain []feature.Transform, besides func(name string) bool) error {
	for _, o := range it.needs {
		if err := tr.fits(o); err != nil {
			return pgerr.From(err).At(it.pos)
		}
	}
	var err error
	if it.reads, err = bind.Derive(s, it.val, tr.cols); err != nil {
		return err
	}
	if it.text, err = bind.KeptText(s, it.val); err != nil {
		return err
	}
	if it.name == "" {
		it.name = tr.nameOf(it, chain)
	}
	switch {
	case tr.has(it.name):
		return pgerr.New(pgerr.DuplicateColumn, "column name %q occurs more than once in TRANSFORM", it.name).At(it.pos).
			WithHint("Give the columns different names with AS.")
	case it.name == "?column?":
		return pgerr.New(pgerr.SyntaxError, "an expression of TRANSFORM needs a name").At(it.pos).WithHint("Add AS and a name.")
	case besides(it.name) && (!it.plain || chain != nil):
		return pgerr.Unsupported("column %q cannot be computed by TRANSFORM: it is not a feature", it.name).At(it.pos).
			WithHint("Compute it in the query, or give the expression another name with AS.")
	}
	for _, e := range chain {
		e.Column = it.name
		tr.encoders = append(tr.encoders, e)
	}
	tr.items = append(tr.items, it)
	return nil
}

// hold replaces the column of a sequential split by a condition that is true for the rows held out for
// evaluation: those with the largest values of the column, and NULLs. Rows that are equal to the
// smallest of these values are held out too, so there may be more than the fraction.
func (tr *transformed) hold(by *train.Split, q *ast.SelectStmt) error {
	c := lex.QuoteIdent(by.Column)
	sel, err := queryOver(fmt.Sprintf("SELECT (%s >= (SELECT percentile_disc(%v::float8) WITHIN GROUP (ORDER BY %s DESC) FROM (SELECT 1) AS split_input)) IS NOT FALSE",
		c, by.Fraction, c), q)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(tr.items, func(it transformItem) bool { return it.name == by.Column })
	tr.items[at].val = sel.TargetList.Items[0].(*ast.ResTarget).Val
	return nil
}

// queryOver parses a query whose FROM has a subquery as placeholder, and replaces that by q.
func queryOver(text string, q *ast.SelectStmt) (*ast.SelectStmt, error) {
	list, err := parse.Parse(text, parse.Postgres)
	if err != nil {
		return nil, err
	}
	sel := list[0].Node.(*ast.SelectStmt)
	ast.Rewrite(sel, func(c *ast.Cursor) bool {
		if from, ok := c.Node().(*ast.RangeSubselect); ok {
			from.Subquery = q
			return false
		}
		return true
	}, nil)
	return sel, nil
}

// missingNaN returns q with NaN replaced by NULL in its features, which is how predictions treat NaN.
func missingNaN(q *ast.SelectStmt, bound *plan.Query, j *train.Job) (*ast.SelectStmt, error) {
	features := map[string]bool{}
	for _, f := range j.Features() {
		features[f.Name] = true
	}
	items := make([]string, len(bound.Cols))
	for i, c := range bound.Cols {
		items[i] = lex.QuoteIdent(c.Name)
		if c.Type.IsNumber() && !c.Type.IsInteger() && features[c.Name] {
			items[i] = fmt.Sprintf("NULLIF(%s, 'NaN') AS %s", items[i], items[i])
		}
	}
	return queryOver("SELECT "+strings.Join(items, ", ")+" FROM (SELECT 1) AS nan_input", q)
}

// starOf reports whether an item is *, and returns the columns of its EXCEPT.
func starOf(n ast.Node) (except []string, ok bool) {
	if c, isRef := n.(*ast.ColumnRef); isRef {
		_, except, ok = parse.Star(c.Fields.Items)
	}
	return except, ok
}

func (tr *transformed) has(name string) bool {
	return slices.ContainsFunc(tr.items, func(it transformItem) bool { return it.val != nil && it.name == name })
}

// others returns the wanted columns of the query whose names no item has.
func (tr *transformed) others(want func(string) bool) (out []transformItem) {
	for i, c := range tr.cols {
		if !tr.has(c.Name) && want(c.Name) {
			out = append(out, transformItem{name: c.Name, val: ast.NewColumnRef(ast.NewString(c.Name)), text: lex.QuoteName(c.Name), reads: []int{i}, plain: true})
		}
	}
	return out
}

// nameOf returns the name of an item without AS: that of its column, followed by its encoder's if
// another item has that name.
func (tr *transformed) nameOf(it transformItem, chain []feature.Transform) string {
	name := scope.OutputName(it.val)
	if len(chain) > 0 && tr.has(name) {
		name += "_" + chain[len(chain)-1].Func
	}
	return name
}

// transformItems splits an item into the expressions that it stands for, mostly one, and the encoders that
// are applied to each, the innermost first.
func (st Statement) transformItems(target *ast.ResTarget) (items []transformItem, chain []feature.Transform, err error) {
	val, name := target.Val, target.Name
	for {
		call, fn := encoderCall(val)
		if call == nil {
			items = []transformItem{{name: name, val: val}}
			break
		}
		pos := st.Text.FindFunc(fn)
		if call.Args == nil || len(call.Args.Items) == 0 {
			return nil, nil, pgerr.New(pgerr.UndefinedFunction, "ml.%s needs a column", fn).At(pos)
		}
		if w := call.Over; w != nil && (w.Name != "" || w.PartitionClause != nil || w.OrderClause != nil) {
			return nil, nil, pgerr.Unsupported("ml.%s encodes all rows of the training: its window must be OVER ()", fn).At(pos)
		}
		if feature.IsExpansion(fn) {
			if items, err = expand(fn, call.Args.Items, name); err != nil {
				return nil, nil, pgerr.From(err).At(pos)
			}
			break
		}
		e := feature.Transform{Func: fn, Pos: pos}
		if impute.Known(fn) {
			var it transformItem
			if it, err = jointly(&e, call.Args.Items); err != nil {
				return nil, nil, pgerr.From(err).At(pos)
			}
			if name != "" {
				it.name = name
			}
			items, chain = []transformItem{it}, append([]feature.Transform{e}, chain...)
			break
		}
		if len(chain) > 0 && fn != "imputer" {
			return nil, nil, pgerr.Unsupported("ml.%s cannot be encoded again: only ml.imputer can", fn).At(pos).
				WithHint("Give each encoder an item of its own.")
		}
		val = call.Args.Items[0]
		if fill := constantFill(fn, call.Args.Items[1:]); fill != nil {
			if name == "" {
				name = scope.OutputName(val)
			}
			if val, err = instead("coalesce($1, $2)", val, fill); err != nil {
				return nil, nil, err
			}
		} else if e.Args, e.Names, err = arguments(call.Args.Items[1:]); err != nil {
			return nil, nil, pgerr.From(err).At(pos)
		}
		chain = append([]feature.Transform{e}, chain...)
	}
	for i := range items {
		it := &items[i]
		if err := st.alone(it.val); err != nil {
			return nil, nil, err
		}
		if c, ok := it.val.(*ast.ColumnRef); ok && len(c.Fields.Items) == 1 {
			column := parse.ConstText(c.Fields.Items[0])
			it.plain, it.pos = it.name == "" || it.name == column, st.Text.FindIdent(column)
		}
		if target.Name != "" {
			it.pos = st.Text.FindIdent(target.Name)
		}
		if it.pos == 0 && len(it.needs) > 0 {
			it.pos = st.Text.FindFunc(it.needs[0].fn)
		}
	}
	return items, chain, nil
}

// arguments reads the constants after an encoder's column.
func arguments(list []ast.Node) (args []types.Datum, names []string, err error) {
	for _, a := range list {
		name := ""
		if n, ok := a.(*ast.NamedArgExpr); ok {
			a, name = n.Arg, n.Name
		}
		d, err := optionValue(a)
		if err != nil {
			return nil, nil, err
		}
		args, names = append(args, d), append(names, name)
	}
	return args, names, nil
}

// alone returns an error for an encoder within an expression.
func (st Statement) alone(val ast.Node) (err error) {
	ast.Rewrite(val, func(c *ast.Cursor) bool {
		if f, ok := c.Node().(*ast.FuncCall); ok && err == nil {
			if call, name := encoderCall(f); call != nil {
				err = pgerr.Unsupported("ml.%s cannot stand inside an expression", name).At(st.Text.FindFunc(name)).
					WithHint("An encoder is the whole of an item: ml.%s(expression) AS name.", name)
			}
		}
		return true
	}, nil)
	return err
}

// encoderCall returns the call and the function's name if n calls an encoder: any function of schema ml,
// or without a schema an encoder whose name no SQL function has.
func encoderCall(n ast.Node) (*ast.FuncCall, string) {
	for {
		p, ok := n.(*ast.ParenExpr)
		if !ok {
			break
		}
		n = p.Expr
	}
	call, ok := n.(*ast.FuncCall)
	if !ok {
		return nil, ""
	}
	names := call.Funcname.Items
	name := strings.ToLower(parse.ConstText(names[len(names)-1]))
	switch {
	case len(names) == 2 && strings.EqualFold(parse.ConstText(names[0]), "ml"):
	case len(names) == 1 && feature.IsTransform(name) && len(fn.Lookup(name)) == 0:
	default:
		return nil, ""
	}
	return call, name
}

// computed returns the query that computes the items over the training query q.
func (tr *transformed) computed(q *ast.SelectStmt) *ast.SelectStmt {
	sel := ast.NewSelectStmt()
	for _, it := range tr.items {
		sel.TargetList.Append(ast.NewResTarget(it.name, it.val))
	}
	sel.FromClause.Append(ast.NewRangeSubselect(false, q, ast.NewAlias("transform_input", nil)))
	return sel
}

// describe stores the expressions of the features in a version, and makes the columns that they read
// its features. If all features are plain columns, nothing changes.
func (tr *transformed) describe(v *catalog.ModelVersion) {
	reads := make([]bool, len(tr.cols))
	same := true
	var inputs []catalog.ModelInput
	for _, f := range v.Features {
		at := slices.IndexFunc(tr.items, func(it transformItem) bool { return it.name == f.Name })
		it := tr.items[at]
		for _, c := range it.reads {
			reads[c] = true
		}
		same = same && it.plain
		inputs = append(inputs, catalog.ModelInput{Name: f.Name, Type: f.Type, Expr: it.text})
	}
	if same {
		return
	}
	v.Inputs, v.Features = inputs, nil
	for i, c := range tr.cols {
		if reads[i] {
			v.Features = append(v.Features, c)
		}
	}
}
