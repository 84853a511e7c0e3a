package bind

import (
	"strconv"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// model is a trained model that a statement uses.
type model struct {
	name   string // schema.name, and @version where the text gives one
	quoted string // the same as SQL writes it
	ref    expr.ModelRef
	v      *catalog.ModelVersion
	fixed  bool // the text says which version
}

// model resolves a model's name, given as a string or as a bare word.
func (sc *scope) model(n ast.Node, fun string) (*model, error) {
	b := sc.b
	var text string
	switch x := unparen(n).(type) {
	case *ast.A_Const:
		s, ok := x.Val.(*ast.String)
		if !ok {
			return nil, pgerr.New(pgerr.DatatypeMismatch, "the first argument of %s is the name of a model", fun).At(b.posExpr(n))
		}
		text = s.SVal
	case *ast.ColumnRef:
		names, rest := splitFields(x)
		if len(rest) > 0 {
			return nil, pgerr.New(pgerr.SyntaxError, "the first argument of %s is the name of a model", fun).At(b.posExpr(n))
		}
		text = strings.Join(names, ".")
	case *ast.TypeCast:
		return sc.model(x.Arg, fun)
	default:
		return nil, pgerr.Unsupported("the first argument of %s must be the name of a model, as a literal", fun).At(b.posExpr(n))
	}
	if i := strings.LastIndexByte(text, '.'); i >= 0 {
		if err := b.mayLookIn(text[:i]); err != nil {
			return nil, err
		}
	}
	m, schema := b.findModel(text)
	suffix, number := "", 0
	if m == nil {
		if name, digits, ok := cutVersion(text); ok {
			suffix = "@" + digits
			if m, schema = b.findModel(name); m != nil {
				number, _ = strconv.Atoi(digits)
			}
		}
	}
	if m == nil {
		return nil, pgerr.New(pgerr.UndefinedObject, "model \"%s\" does not exist", strings.TrimSuffix(text, suffix)).
			WithHint("SHOW MODELS lists the models there are.").At(b.posExpr(n))
	}
	b.note(m.OID, m.Version, 'U', b.as, false)
	v, err := m.Want(number)
	if suffix != "" && number == 0 {
		err = m.NoVersion(0)
	}
	if err != nil {
		return nil, pgerr.From(err).At(b.posExpr(n))
	}
	return &model{name: schema + "." + m.Name + suffix, quoted: parse.QuoteName(schema) + "." + parse.QuoteName(m.Name), v: v, fixed: suffix != "", ref: expr.ModelRef{OID: m.OID, Number: v.Number, SHA256: v.SHA256}}, nil
}

// cutVersion takes name@3 apart.
func cutVersion(text string) (name, digits string, ok bool) {
	i := strings.LastIndexByte(text, '@')
	if i <= 0 || i+1 == len(text) || strings.Trim(text[i+1:], "0123456789") != "" || len(text)-i > 10 {
		return "", "", false
	}
	return text[:i], text[i+1:], true
}

// findModel looks a model up by the search path: the name as it is written, in
// small letters, and as SQL reads it, with its quotes.
func (b *binder) findModel(text string) (*catalog.Model, string) {
	find := func(schema, name string) (*catalog.Model, string) {
		for _, s := range b.schemas(schema) {
			if m := b.s.State.Model(s.OID, name); m != nil {
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

// lookArgs binds the arguments of a relation that looks into a model, such as
// ml.weights: the model's name and a version. It gives the name as it is found
// anywhere, and the version's number.
func (sc *scope) lookArgs(name string, args []ast.Node) ([]types.Datum, error) {
	b := sc.b
	if len(args) == 0 || len(args) > 2 {
		return nil, pgerr.New(pgerr.UndefinedFunction, "%s takes the name of a model and, if not its default one, a version", name).
			WithHint("Write %s('model') or %s('model', 2).", name, name).At(b.spotFunc(strings.TrimPrefix(name, "ml.")).at())
	}
	m, err := sc.model(args[0], name)
	if err != nil || len(args) == 1 {
		return m.look(), err
	}
	e, err := sc.expr(args[1], place{name: "functions in FROM"})
	if err != nil {
		return nil, err
	}
	d, _, err := b.constArg(e, name, args[1])
	if err != nil {
		return nil, err
	}
	number, ok := d.(int64)
	if !ok || number < 1 {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "the second argument of %s is the number of a version", name).At(b.posExpr(args[1]))
	}
	if m.fixed && int64(m.v.Number) != number {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "%s is asked for two versions", name).At(b.posExpr(args[1]))
	}
	v, err := b.s.State.ModelByOID(m.ref.OID).Want(int(number))
	if err != nil {
		return nil, pgerr.From(err).At(b.posExpr(args[1]))
	}
	m.v = v
	return m.look(), nil
}

func (m *model) look() []types.Datum {
	if m == nil {
		return nil
	}
	return []types.Datum{m.quoted, int64(m.v.Number)}
}
