package model

import (
	"strconv"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/query"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// model is a trained model that a statement uses.
type model struct {
	name  string // schema.name, and @version where the text has one
	ref   expr.ModelRef
	v     *catalog.ModelVersion
	fixed bool     // the text says which version
	part  int      // of a model of several targets the number of one, from 1; 0 for all
	by    []string // columns by whose values an evaluation is made
}

// parts returns the models of the single targets, nil if the model has one target.
func (m *model) parts() (out []*model) {
	if len(m.v.Target) < 2 {
		return nil
	}
	for i := range m.v.Target {
		one := *m
		one.v, one.part = m.v.Part(i), i+1
		out = append(out, &one)
	}
	return out
}

// classifiers returns the parts whose target is a class.
func (m *model) classifiers() (out []*model) {
	for _, p := range m.parts() {
		if classifies(p.v) {
			out = append(out, p)
		}
	}
	return out
}

// prediction returns the type of a Predict expression over the model, and the parts that it predicts.
func (m *model) prediction(mode expr.PredictMode) (t types.Type, parts []int) {
	of := m.parts()
	switch {
	case mode == expr.PredictBins: // of the features
		return predictType(m.v, mode, 0), nil
	case m.part > 0:
		return predictType(m.v, mode, 0), []int{m.part}
	case mode == expr.PredictProba && of != nil:
		of = m.classifiers()
	case of == nil, m.v.Outputs[0].Type.OID != types.RecordOID:
		return predictType(m.v, mode, 0), nil
	}
	rec := &types.Record{}
	for _, p := range of {
		parts = append(parts, p.part)
		rec.Fields = append(rec.Fields, types.Field{Name: p.v.Target[0], Type: predictType(p.v, mode, 0)})
	}
	return types.Type{OID: types.RecordOID, Mod: -1, Rec: rec}, parts
}

// resolveModel resolves a model's name, given as a string or as a bare word.
func resolveModel(sc *scope.Scope, n ast.Node, fun string) (*model, error) {
	b := sc.Binder
	var text string
	var rewrite func(names ...string) // the text, which is an identifier for each name or one string
	switch x := typing.Unparen(n).(type) {
	case *ast.A_Const:
		s, ok := x.Val.(*ast.String)
		if !ok {
			return nil, pgerr.New(pgerr.DatatypeMismatch, "the first argument of %s is the name of a model", fun).At(b.PosExpr(n))
		}
		text = s.SVal
		rewrite = func(names ...string) { s.SVal = strings.Join(names, ".") }
	case *ast.ColumnRef:
		names, rest := typing.SplitFields(x)
		if len(rest) > 0 {
			return nil, pgerr.New(pgerr.SyntaxError, "the first argument of %s is the name of a model", fun).At(b.PosExpr(n))
		}
		text = strings.Join(names, ".")
		rewrite = func(names ...string) {
			x.Fields = ast.NewNodeList()
			for _, name := range names {
				x.Fields.Append(ast.NewString(name))
			}
		}
	case *ast.TypeCast:
		return resolveModel(sc, x.Arg, fun)
	default:
		return nil, pgerr.Unsupported("the first argument of %s must be the name of a model, as a literal", fun).At(b.PosExpr(n))
	}
	if i := strings.LastIndexByte(text, '.'); i >= 0 {
		if err := b.MayLookIn(text[:i]); err != nil {
			return nil, err
		}
	}
	m, schema := findModel(b, text)
	suffix, version, number := "", "", 0
	if i := strings.LastIndexByte(text, '@'); m == nil && i > 0 && i+1 < len(text) {
		if m, schema = findModel(b, text[:i]); m != nil || isNumber(text[i+1:]) {
			suffix, version = text[i:], text[i+1:]
		}
	}
	if m == nil {
		return nil, pgerr.New(pgerr.UndefinedObject, "model \"%s\" does not exist", strings.TrimSuffix(text, suffix)).
			WithHint("SHOW MODELS lists the models there are.").At(b.PosExpr(n))
	}
	if number = m.Named(version); number == 0 && isNumber(version) {
		number, _ = strconv.Atoi(version)
	}
	if b.Named != nil {
		b.Named.Models[m.OID] = append(b.Named.Models[m.OID], func(now string) {
			if now = lex.QuoteName(now) + suffix; strings.Contains(text, ".") {
				rewrite(lex.QuoteName(schema), now)
			} else {
				rewrite(now)
			}
		})
	}
	b.Note(m.OID, m.Version, 'U', b.As, false)
	v, err := m.Want(number)
	switch {
	case suffix == "" || number > 0:
	case isNumber(version):
		err = m.NoVersion(0)
	default:
		err = m.NoAlias(version)
	}
	if err != nil {
		return nil, pgerr.From(err).At(b.PosExpr(n))
	}
	return &model{name: schema + "." + m.Name + suffix, v: v, fixed: suffix != "", ref: expr.ModelRef{OID: m.OID, Number: v.Number, SHA256: v.SHA256}}, nil
}

// isNumber reports whether what follows a model's name and @ is the number of a version, and no alias.
func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == "" && len(text) < 10
}

// findModel looks a model up by the search path. It tries the name as it is written, in lower case, and as
// SQL reads it, with quotes.
func findModel(b *scope.Binder, text string) (*catalog.Model, string) {
	find := func(schema, name string) (*catalog.Model, string) {
		for _, s := range b.Schemas(schema) {
			if m := b.Session.State.Model(s.OID, name); m != nil {
				return m, s.Name
			}
		}
		return nil, ""
	}
	for _, name := range []string{text, strings.ToLower(text)} {
		schema := ""
		if i := strings.LastIndexByte(name, '.'); i >= 0 {
			schema, name = strings.TrimPrefix(name[:i], catalog.DatabaseName+"."), name[i+1:]
		}
		if m, in := find(schema, name); m != nil {
			return m, in
		}
	}
	parts, err := catalog.SplitName(text)
	if err != nil {
		return nil, ""
	}
	schema, name, err := catalog.ObjectName(parts...)
	if err != nil {
		return nil, ""
	}
	return find(schema, name)
}

// View binds a relation that shows a model's contents, such as ml.weights: its arguments are the
// model's name and a version, by position or name. It returns the relation's name, the model's OID, the version's
// number, and that of a tree, if only one is asked for; and the columns of the groups' keys, if it has groups.
func View(sc *scope.Scope, name string, args []ast.Node) (string, []types.Datum, []plan.Column, error) {
	b := sc.Binder
	full := "ml." + name
	m, err := resolveModel(sc, args[0], full)
	if err == nil && name != "trials" {
		args, m, err = takeTrial(sc, m, args, full)
	}
	if err != nil {
		return "", nil, nil, err
	}
	if name == "forecast" {
		return forecast(sc, m, args)
	}
	v, part := m.v, int64(0)
	seen := map[string]bool{}
	for i, a := range args[1:] {
		par, val := "version", a
		if na, ok := a.(*ast.NamedArgExpr); ok {
			par, val = na.Name, na.Arg
		} else if i > 0 {
			par = ""
		}
		if seen[par] || par != "version" && (par != "original" || name != "weights") && (par != "tree" || name != "trees") {
			return "", nil, nil, pgerr.New(pgerr.UndefinedFunction, "%s takes the name of a model and, if not its default one, a version", full).
				WithHint("Write %s('model'), %s('model', 2) or %s('model@2').", full, full, full).At(b.SpotFunc(name).At())
		}
		seen[par] = true
		e, err := sc.Expr(val, scope.InFunctions)
		if err != nil {
			return "", nil, nil, err
		}
		d, _, err := query.ConstArg(b, e, full, val)
		if err != nil {
			return "", nil, nil, err
		}
		if par == "original" {
			original, ok := d.(bool)
			if !ok {
				return "", nil, nil, pgerr.New(pgerr.DatatypeMismatch, "the argument original of %s is true or false", full).At(b.PosExpr(val))
			}
			if original {
				name = "original_weights"
			}
			continue
		}
		number, ok := d.(int64)
		if !ok || number < 1 {
			return "", nil, nil, pgerr.New(pgerr.DatatypeMismatch, "the argument %s of %s is the number of one", par, full).At(b.PosExpr(val))
		}
		if par == "tree" {
			part = number
			continue
		}
		if m.fixed && int64(m.v.Number) != number {
			return "", nil, nil, pgerr.New(pgerr.InvalidParameterValue, "%s is asked for two versions", full).At(b.PosExpr(val))
		}
		if v, err = b.Session.State.ModelByOID(m.ref.OID).Want(int(number)); err != nil {
			return "", nil, nil, pgerr.From(err).At(b.PosExpr(val))
		}
	}
	out := []types.Datum{int64(m.ref.OID), int64(v.Number)}
	if part > 0 {
		out = append(out, part)
	}
	if v.Groups == nil {
		if name == "model_groups" {
			return "", nil, nil, pgerr.New(pgerr.WrongObjectType, "model \"%s\" has no groups: it is a single model", m.name).At(b.SpotFunc(name).At())
		}
		return name, out, nil, nil
	}
	if name == "trials" && v.Search != nil { // of all groups
		return name, out, nil, nil
	}
	return name, out, keyColumns(v.Groups), nil
}

// groupKeys returns the columns that say which group a row belongs to, nil for a single model.
func (m *model) groupKeys() []catalog.ModelGroupKey {
	if m.v.Groups == nil {
		return nil
	}
	return m.v.Groups.By
}

// inFront returns the columns in front for a SELECT list that reads them of alias, and the clause that groups by
// them; both are empty where there are none.
func (m *model) inFront(alias string) (list, by string) {
	for i, c := range m.front() {
		list += alias + "." + lex.QuoteIdent(c) + ", "
		if by += ", "; i == 0 {
			by = " GROUP BY "
		}
		by += strconv.Itoa(i + 1)
	}
	return list, by
}

// keyColumns returns the columns of groups' keys.
func keyColumns(g *catalog.ModelGroups) (out []plan.Column) {
	for _, k := range g.By {
		out = append(out, plan.Column{Name: k.Name, Type: k.Shown()})
	}
	return out
}

// keyNames lists the names of the groups' keys, quoted where they must be.
func (m *model) keyNames() string {
	var names []string
	for _, k := range m.groupKeys() {
		names = append(names, lex.QuoteName(k.Name))
	}
	return strings.Join(names, ", ")
}

// findField returns the field with this name; if no field matches exactly, it ignores case. n is the number
// of matching fields.
func findField(fields []scope.Column, name string) (at, n int) {
	at = -1
	for i, f := range fields {
		if f.Name == name {
			at, n = i, n+1
		}
	}
	if n == 0 {
		for i, f := range fields {
			if strings.EqualFold(f.Name, name) {
				at, n = i, n+1
			}
		}
	}
	return at, n
}
