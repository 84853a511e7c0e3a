package function

import (
	"slices"
	"strconv"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// CreateAggregate plans CREATE AGGREGATE.
func (p *Planner) CreateAggregate(n *ast.DefineStmt) error {
	p.Tag("CREATE AGGREGATE")
	f, err := p.newFunction(n.DefNames)
	if err != nil {
		return err
	}
	f.Volatility, f.Cost, f.Language, f.Body, f.Aggregate = 'i', 1, "internal", "aggregate_dummy", &catalog.Aggregate{FinalModify: 'r'}
	opts, err := p.aggregateOptions(f, n.Definition)
	if err != nil {
		return err
	}
	args, err := aggregateArgs(n, opts)
	if err != nil {
		return err
	}
	if err := p.parameters(f, args); err != nil {
		return err
	}
	for _, a := range f.Args {
		switch {
		case a.Mode != 'i' && a.Mode != 'v':
			return invalidFunction("aggregates cannot have output arguments")
		case a.Default != "":
			return invalidFunction("aggregates cannot have default argument values")
		}
	}
	if err := p.aggregateParts(f, opts); err != nil {
		return err
	}
	return p.putFunction(f, n.Replace)
}

// aggregateArgs are the parameters: those in parentheses, or the BASETYPE of the older form.
func aggregateArgs(n *ast.DefineStmt, opts map[string]ast.Node) (*ast.NodeList, error) {
	base, old := opts["basetype"]
	if n.OldStyle {
		switch t, isType := base.(*ast.TypeName); {
		case !old:
			return nil, invalidFunction("aggregate input type must be specified")
		case isType && !strings.EqualFold(parse.ConstText(t.Names), "any"):
			return ast.NewNodeList(ast.NewFunctionParameter("", t, ast.FUNC_PARAM_DEFAULT, nil)), nil
		}
		return nil, nil
	}
	if old {
		return nil, invalidFunction("basetype is redundant with aggregate input type specification")
	}
	l := typing.Items(n.Args)
	if len(l) == 2 {
		if at, ok := l[1].(*ast.Integer); ok && at.IVal >= 0 {
			return nil, pgerr.Unsupported("ordered-set aggregates of users are not supported")
		}
	}
	if len(l) == 0 {
		return nil, nil
	}
	args, _ := l[0].(*ast.NodeList)
	return args, nil
}

// aggregateOptions reads the options that are no functions and types, and returns the others by their names.
func (p *Planner) aggregateOptions(f *catalog.Function, list *ast.NodeList) (map[string]ast.Node, error) {
	opts := map[string]ast.Node{}
	for _, x := range typing.Items(list) {
		d, ok := x.(*ast.DefElem)
		if !ok {
			continue
		}
		name := strings.ToLower(d.Defname)
		switch name {
		case "sfunc1":
			name = "sfunc"
		case "stype1":
			name = "stype"
		case "initcond1":
			name = "initcond"
		}
		if _, twice := opts[name]; twice {
			return nil, pgerr.New(pgerr.SyntaxError, "conflicting or redundant options")
		}
		word := ""
		if t, ok := d.Arg.(*ast.TypeName); ok {
			word = strings.ToLower(parse.ConstText(t.Names))
		} else {
			word = strings.ToLower(parse.ConstText(d.Arg))
		}
		opts[name] = d.Arg
		switch name {
		case "sfunc", "stype", "finalfunc", "combinefunc", "basetype":
		case "initcond":
			text := parse.ConstText(d.Arg)
			if t, ok := d.Arg.(*ast.TypeName); ok {
				text = parse.ConstText(t.Names)
			}
			f.Aggregate.Init = &text
		case "sspace":
			v, err := strconv.ParseInt(parse.ConstText(d.Arg), 10, 32)
			if err != nil {
				return nil, pgerr.New(pgerr.SyntaxError, "sspace requires an integer value")
			}
			f.Aggregate.Space = int32(v)
		case "finalfunc_extra":
			if d.Arg != nil && word != "true" && word != "on" && word != "1" && word != "false" && word != "off" && word != "0" {
				return nil, pgerr.New(pgerr.SyntaxError, "%s requires a Boolean value", name)
			}
			f.Aggregate.FinalExtra = d.Arg == nil || word == "true" || word == "on" || word == "1"
		case "finalfunc_modify":
			at := slices.Index([]string{"read_only", "shareable", "read_write"}, word)
			if at < 0 {
				return nil, pgerr.New(pgerr.SyntaxError, "parameter %q must be READ_ONLY, SHAREABLE, or READ_WRITE", name)
			}
			f.Aggregate.FinalModify = "rsw"[at]
		case "parallel":
			if word != "safe" && word != "restricted" && word != "unsafe" {
				return nil, pgerr.New(pgerr.SyntaxError, "parameter \"parallel\" must be SAFE, RESTRICTED, or UNSAFE")
			}
			f.Parallel = word[0]
		case "msfunc", "minvfunc", "mstype", "msspace", "mfinalfunc", "mfinalfunc_extra", "mfinalfunc_modify", "minitcond":
			return nil, pgerr.Unsupported("moving aggregates (%s) are not supported", strings.ToUpper(name)).
				WithHint("Without them a frame that does not only grow is computed from all its rows.")
		case "serialfunc", "deserialfunc", "sortop", "hypothetical":
			return nil, pgerr.Unsupported("%s of an aggregate is not supported", strings.ToUpper(name))
		default:
			p.Warning(pgerr.SyntaxError, "aggregate attribute %q not recognized", d.Defname)
		}
	}
	return opts, nil
}

// aggregateParts finds the functions and types of an aggregate.
func (p *Planner) aggregateParts(f *catalog.Function, opts map[string]ast.Node) error {
	a := f.Aggregate
	stype, _ := opts["stype"].(*ast.TypeName)
	switch {
	case stype == nil:
		return invalidFunction("aggregate stype must be specified")
	case opts["sfunc"] == nil:
		return invalidFunction("aggregate sfunc must be specified")
	}
	var err error
	if a.State, err = p.functionType(stype); err != nil {
		return err
	}
	var in []types.Type
	poly := false
	for _, x := range f.Inputs() {
		in, poly = append(in, x.Type), poly || x.Type.OID.IsPolymorphic()
	}
	switch {
	case a.State.OID.IsPolymorphic() && !poly:
		return invalidFunction("cannot determine transition data type").
			WithDetail("A result of type %s requires at least one input of type anyelement, anyarray, anynonarray, anyenum, anyrange, or anymultirange.", p.State().TypeName(a.State))
	case a.State.OID == types.VoidOID || a.State.OID == types.AnyOID || a.State.OID == types.CstringOID || a.State.OID == types.RecordOID:
		return invalidFunction("aggregate transition data type cannot be %s", p.State().TypeName(a.State))
	case a.Init != nil && !a.State.OID.IsPolymorphic():
		if _, err := types.ParseText(typing.PlainNumeric(a.State), *a.Init, p.Bind().Env); err != nil && p.State().EnumByOID(a.State.OID) == nil {
			return err
		}
	}
	next, ret, err := p.aggregatePart(f, opts["sfunc"], slices.Concat([]types.Type{a.State}, in))
	if err != nil {
		return err
	}
	if ret.OID != a.State.OID {
		return pgerr.New(pgerr.DatatypeMismatch, "return type of transition function %s is not %s", partName(opts["sfunc"]), p.State().TypeName(a.State))
	}
	if a.Next = next.OID; next.Strict && a.Init == nil && (len(in) == 0 || !(poly && in[0].OID == a.State.OID) && !bind.SameBinary(in[0], a.State)) {
		return invalidFunction("must not omit initial value when transition function is strict and transition type is not compatible with input type")
	}
	if opts["combinefunc"] != nil {
		g, ret, err := p.aggregatePart(f, opts["combinefunc"], []types.Type{a.State, a.State})
		if err != nil {
			return err
		}
		if ret.OID != a.State.OID {
			return pgerr.New(pgerr.DatatypeMismatch, "return type of combine function %s is not %s", partName(opts["combinefunc"]), p.State().TypeName(a.State))
		}
		a.Combine = g.OID
	}
	f.Ret = a.State
	if opts["finalfunc"] == nil {
		a.FinalExtra = false
	} else {
		from := []types.Type{a.State}
		if a.FinalExtra {
			from = append(from, in...)
		}
		g, ret, err := p.aggregatePart(f, opts["finalfunc"], from)
		if err != nil {
			return err
		}
		if a.FinalExtra && g.Strict {
			return invalidFunction("final function with extra arguments must not be declared STRICT")
		}
		a.Final, f.Ret = g.OID, types.Type{OID: ret.OID, Mod: -1}
	}
	if f.Ret.OID.IsPolymorphic() && !poly {
		return pgerr.New(pgerr.DatatypeMismatch, "cannot determine result data type").
			WithDetail("A result of type %s requires at least one input of type anyelement, anyarray, anynonarray, anyenum, anyrange, or anymultirange.", p.State().TypeName(f.Ret))
	}
	return nil
}

// aggregatePart finds the function that an option names, which takes these types, and makes the aggregate depend on it.
func (p *Planner) aggregatePart(f *catalog.Function, n ast.Node, in []types.Type) (*fn.Func, types.Type, error) {
	schema, name, err := catalog.ObjectName(partNames(n)...)
	if err != nil {
		return nil, types.Type{}, err
	}
	g, ret, err := bind.Part(p.Bind(), schema, name, in)
	if err != nil {
		return nil, ret, err
	}
	if u := g.User; u != nil {
		if !p.May(u.Object(), 'X') {
			return nil, ret, pgerr.New(pgerr.InsufficientPrivilege, "permission denied for function %s", u.Name)
		}
		f.DependsOn = append(f.DependsOn, catalog.Dep{OID: u.OID})
	}
	return g, ret, nil
}

func partName(n ast.Node) string { return strings.Join(partNames(n), ".") }

func partNames(n ast.Node) []string {
	if t, ok := n.(*ast.TypeName); ok {
		return typing.Texts(t.Names)
	}
	return []string{parse.ConstText(n)}
}
