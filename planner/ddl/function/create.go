package function

import (
	"slices"
	"strconv"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func invalidFunction(format string, args ...any) *pgerr.Error {
	return pgerr.New(pgerr.InvalidFunctionDefinition, format, args...)
}

// Create plans CREATE FUNCTION.
func (p *Planner) Create(n *ast.CreateFunctionStmt) error {
	p.Tag("CREATE FUNCTION")
	if n.IsProcedure {
		return pgerr.Unsupported("procedures are not supported").WithHint("Use CREATE FUNCTION … LANGUAGE sql or starlark.")
	}
	f, err := p.newFunction(n.FuncName)
	if err != nil {
		return err
	}
	f.Volatility, f.Cost = 'v', 100
	as, err := p.functionOptions(f, n.Options, true)
	if err != nil {
		return err
	}
	if err := p.parameters(f, n.Parameters); err != nil {
		return err
	}
	if err := p.result(f, n.ReturnType); err != nil {
		return err
	}
	if f.Set && f.Rows == 0 {
		f.Rows = 1000
	} else if !f.Set && f.Rows != 0 {
		return pgerr.New(pgerr.InvalidParameterValue, "ROWS is not applicable when function does not return a set")
	}
	if err := p.functionBody(f, as, n.SQLBody); err != nil {
		return err
	}
	return p.putFunction(f, n.Replace)
}

// newFunction begins a function, or an aggregate, of a name, which is its creator's.
func (p *Planner) newFunction(names *ast.NodeList) (*catalog.Function, error) {
	schema, name, err := catalog.ObjectName(typing.Texts(names)...)
	if err != nil {
		return nil, err
	}
	sc, err := p.SchemaFor(ast.NewRangeVar(name, schema, ""))
	if err != nil {
		return nil, err
	}
	return &catalog.Function{Schema: sc.OID, Name: name, Owner: p.Bind().Role, ACL: p.State().NewACL(catalog.ClassFunction, p.Bind().Role, sc.OID), Parallel: 'u'}, nil
}

// putFunction puts a new function, or replaces the one with the same parameters.
func (p *Planner) putFunction(f *catalog.Function, replace bool) (err error) {
	i := slices.IndexFunc(p.State().FunctionsNamed(f.Schema, f.Name), func(o *catalog.Function) bool { return slices.Equal(o.InputTypes(), f.InputTypes()) })
	if i >= 0 {
		old := p.State().FunctionsNamed(f.Schema, f.Name)[i]
		if !replace {
			return pgerr.New(pgerr.DuplicateFunction, "function %q already exists with same argument types", f.Name)
		}
		if err := p.ownFunction(old); err != nil {
			return err
		}
		if err := p.replaceable(old, f); err != nil {
			return err
		}
		f.OID, f.Owner, f.ACL = old.OID, old.Owner, old.ACL
	} else if f.OID, err = p.NewOID(); err != nil {
		return err
	}
	f.DependsOn = append(f.DependsOn, p.typeDeps(f)...)
	if err := p.checkBody(f); err != nil {
		return err
	}
	return p.Add(&catalog.PutFunction{Function: f})
}

// checkBody binds the body of a function for its errors, and finds what a body with fixed names depends on.
func (p *Planner) checkBody(f *catalog.Function) error {
	if f.Aggregate != nil {
		return nil
	}
	err, check := p.Check(f)
	if err != nil || f.Language != catalog.LanguageSQL || !check && !f.Parsed {
		return err
	}
	// Its own name means what it will.
	st, err := p.State().Apply([]catalog.Change{&catalog.PutFunction{Function: f}})
	if err != nil {
		return err
	}
	b := *p.Bind()
	b.State, b.Text = st, nil
	uses, err := bind.Body(&b, f)
	if err != nil {
		return err
	}
	if f.Parsed {
		f.DependsOn = append(f.DependsOn, dependencies(uses)...)
	}
	return nil
}

// typeDeps are the user's types that a function's parameters and result are of.
func (p *Planner) typeDeps(f *catalog.Function) (out []catalog.Dep) {
	add := func(t types.OID) {
		oid := t
		if rel, _, ok := types.RowTypeOf(t); ok && p.State().RelationByOID(rel) != nil {
			oid = rel
		} else if e := p.State().EnumByOID(t); e != nil {
			oid = e.OID
		}
		if d := (catalog.Dep{OID: oid}); oid >= types.FirstUserOID && !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	for _, a := range f.Args {
		add(a.Type.OID)
	}
	add(f.Ret.OID)
	if f.Aggregate != nil {
		add(f.Aggregate.State.OID)
	}
	return out
}

// functionType resolves the type of a parameter or result, without its modifier.
func (p *Planner) functionType(n *ast.TypeName) (types.Type, error) {
	one := *n
	one.Setof = false
	t, err := p.UsableType(&one)
	if err != nil {
		return t, err
	}
	t = types.Type{OID: t.OID, Mod: -1, Rec: t.Rec}
	if t.Rec != nil && t.Rec.Rel != 0 {
		t = types.Type{OID: types.RowType(t.Rec.Rel), Mod: -1}
	}
	return t, nil
}

// parameters reads the list of parameters.
func (p *Planner) parameters(f *catalog.Function, list *ast.NodeList) error {
	modes := map[ast.FunctionParameterMode]byte{ast.FUNC_PARAM_IN: 'i', ast.FUNC_PARAM_DEFAULT: 'i', ast.FUNC_PARAM_OUT: 'o',
		ast.FUNC_PARAM_INOUT: 'b', ast.FUNC_PARAM_VARIADIC: 'v', ast.FUNC_PARAM_TABLE: 't'}
	defaults, variadic := false, false
	for _, x := range typing.Items(list) {
		fp, ok := x.(*ast.FunctionParameter)
		if !ok || fp.ArgType == nil {
			return pgerr.Unsupported("this parameter is not supported")
		}
		a := catalog.FunctionArg{Name: fp.Name, Mode: modes[fp.Mode]}
		if fp.ArgType.Setof {
			return invalidFunction("functions cannot accept set arguments")
		}
		var err error
		if a.Type, err = p.functionType(fp.ArgType); err != nil {
			return err
		}
		in := a.Mode == 'i' || a.Mode == 'b' || a.Mode == 'v'
		if _, _, row := types.RowTypeOf(a.Type.OID); in && (row && p.State().EnumByOID(a.Type.OID) == nil || a.Type.OID == types.RecordOID) {
			return pgerr.Unsupported("parameters of composite types are not supported")
		}
		switch a.Type.OID {
		case types.AnyOID, types.CstringOID, types.VoidOID:
			return invalidFunction("SQL functions cannot have arguments of type %s", p.State().TypeName(a.Type))
		}
		if variadic && in {
			return invalidFunction("VARIADIC parameter must be the last input parameter")
		}
		if a.Mode == 'v' {
			variadic = true
			if !a.Type.IsArray() && p.arrayless(a.Type.OID) {
				return invalidFunction("VARIADIC parameter must be an array")
			}
		}
		for _, o := range f.Args {
			oIn, oOut := o.Mode != 'o' && o.Mode != 't', o.Mode != 'i' && o.Mode != 'v'
			out := a.Mode != 'i' && a.Mode != 'v'
			if a.Name != "" && o.Name == a.Name && (in && oIn || out && oOut) {
				return invalidFunction("parameter name %q used more than once", a.Name)
			}
		}
		switch {
		case fp.DefExpr != nil && !in:
			return invalidFunction("only input parameters can have default values")
		case fp.DefExpr != nil:
			if a.Default, err = p.parameterDefault(fp.DefExpr, a.Type); err != nil {
				return err
			}
			defaults = true
		case in && defaults:
			return invalidFunction("input parameters after one with a default value must also have default values")
		}
		f.Args = append(f.Args, a)
	}
	if len(f.Inputs()) > 100 {
		return pgerr.New(pgerr.TooManyArguments, "functions cannot have more than 100 arguments")
	}
	return nil
}

func (p *Planner) arrayless(o types.OID) bool {
	e := p.State().EnumByOID(o)
	return o != types.AnyArrayOID && o != types.AnyCompatibleArrayOID && !(e != nil && e.ArrayOID == o)
}

// parameterDefault checks and keeps the default of a parameter.
func (p *Planner) parameterDefault(n ast.Node, t types.Type) (string, error) {
	e, _, err := bind.Scalar(p.Bind(), n, nil, bind.ForDefault)
	if err != nil {
		column := false
		ast.Rewrite(n, func(c *ast.Cursor) bool {
			_, ref := c.Node().(*ast.ColumnRef)
			column = column || ref
			return true
		}, nil)
		if column {
			return "", pgerr.New(pgerr.InvalidColumnReference, "cannot use table references in parameter default value")
		}
		return "", err
	}
	if !t.OID.IsPolymorphic() {
		if err := bind.Convertible(p.Bind(), e, bind.ItsDefault, "", t); err != nil {
			return "", pgerr.New(pgerr.DatatypeMismatch, "argument of DEFAULT must be type %s, not type %s", p.State().TypeName(t), p.State().TypeName(e.Type()))
		}
	}
	kept, err := bind.KeptText(p.Bind(), n)
	if c, ok := e.(*expr.Const); ok && err == nil && c.Typ.OID == types.UnknownOID {
		// As PostgreSQL prints it: a literal with its type.
		name := types.TypeName(t.OID)
		if x := p.State().EnumByOID(t.OID); x != nil {
			name = lex.QuoteName(p.State().Schema(x.Schema).Name) + "." + lex.QuoteName(x.Name)
			if x.ArrayOID == t.OID {
				name += "[]"
			}
		}
		if !t.OID.IsPolymorphic() {
			kept += "::" + name
		}
	}
	return kept, err
}

// result reads RETURNS and what the parameters say of the result.
func (p *Planner) result(f *catalog.Function, n *ast.TypeName) error {
	out := f.Outputs()
	table := len(out) > 0 && out[len(out)-1].Mode == 't'
	poly := slices.ContainsFunc(f.Inputs(), func(a catalog.FunctionArg) bool { return a.Type.OID.IsPolymorphic() })
	if table {
		f.Set = true
		for _, a := range f.Args {
			if a.Mode == 'o' || a.Mode == 'b' {
				return invalidFunction("OUT and INOUT arguments aren't allowed in TABLE functions")
			}
		}
	}
	want := types.RecordT
	if len(out) == 1 {
		want = out[0].Type
	}
	want = types.Type{OID: want.OID, Mod: -1}
	switch {
	case n == nil && len(out) == 0:
		return invalidFunction("function result type must be specified")
	case n == nil || table:
		f.Ret = want
	default:
		if last, _ := lastName(n); last == "trigger" || last == "event_trigger" {
			return pgerr.Unsupported("triggers are not supported")
		}
		t, err := p.functionType(n)
		if err != nil {
			return err
		}
		if len(out) > 0 && t.OID != want.OID {
			return invalidFunction("function result type must be %s because of OUT parameters", p.State().TypeName(want))
		}
		f.Ret, f.Set = t, n.Setof
	}
	if f.Ret.OID.IsPolymorphic() && !poly {
		return invalidFunction("cannot determine result data type").
			WithDetail("A result of type %s requires at least one input of type anyelement, anyarray, anynonarray, anyenum, anyrange, or anymultirange.", p.State().TypeName(f.Ret))
	}
	switch f.Ret.OID {
	case types.AnyOID, types.CstringOID:
		return invalidFunction("SQL functions cannot return type %s", p.State().TypeName(f.Ret))
	}
	return nil
}

func lastName(n *ast.TypeName) (string, bool) {
	l := typing.Texts(n.Names)
	if len(l) == 0 {
		return "", false
	}
	return l[len(l)-1], true
}

// functionOptions reads the options of CREATE FUNCTION or the actions of ALTER FUNCTION into f, and returns the
// text after AS.
func (p *Planner) functionOptions(f *catalog.Function, list *ast.NodeList, create bool) (as *ast.DefElem, err error) {
	seen := map[string]bool{}
	for _, x := range typing.Items(list) {
		d, ok := x.(*ast.DefElem)
		if !ok {
			continue
		}
		if seen[d.Defname] && d.Defname != "set" {
			return nil, pgerr.New(pgerr.SyntaxError, "conflicting or redundant options")
		}
		seen[d.Defname] = true
		switch d.Defname {
		case "as":
			as = d
		case "language":
			f.Language = strings.ToLower(parse.ConstText(d.Arg))
		case "volatility":
			f.Volatility = parse.ConstText(d.Arg)[0]
		case "strict":
			f.Strict = parse.ConstText(d.Arg) == "true"
		case "security":
			f.Definer = parse.ConstText(d.Arg) == "true"
		case "leakproof":
			f.Leakproof = parse.ConstText(d.Arg) == "true"
			if f.Leakproof && !p.Super() {
				return nil, pgerr.New(pgerr.InsufficientPrivilege, "only superuser can define a leakproof function")
			}
		case "parallel":
			word := strings.ToLower(parse.ConstText(d.Arg))
			if word != "safe" && word != "restricted" && word != "unsafe" {
				return nil, pgerr.New(pgerr.SyntaxError, "parameter \"parallel\" must be SAFE, RESTRICTED, or UNSAFE")
			}
			f.Parallel = word[0]
		case "cost", "rows":
			v, err := strconv.ParseFloat(parse.ConstText(d.Arg), 64)
			if err != nil || v <= 0 {
				return nil, pgerr.New(pgerr.InvalidParameterValue, "%s must be positive", strings.ToUpper(d.Defname))
			}
			if d.Defname == "cost" {
				f.Cost = v
			} else {
				f.Rows = v
			}
		case "set":
			if err := p.functionSetting(f, d.Arg); err != nil {
				return nil, err
			}
		case "window":
			return nil, pgerr.Unsupported("window functions of users are not supported")
		default:
			return nil, pgerr.Unsupported("%s of a function is not supported", strings.ToUpper(d.Defname))
		}
	}
	return as, nil
}

// stepsSetting bounds the steps of a Starlark function; it is a setting of functions alone.
const stepsSetting = "starlark_max_steps"

// harmless are the settings that change no result, which a function may set.
func harmless(name string) bool {
	switch name {
	case "search_path", stepsSetting, "work_mem", "jit", "client_min_messages", "lock_timeout", "statement_timeout", "check_function_bodies", "row_security", "log_statement":
		return true
	}
	return strings.HasPrefix(name, "enable_") || strings.HasSuffix(name, "_cost")
}

// functionSetting reads SET or RESET of a function.
func (p *Planner) functionSetting(f *catalog.Function, n ast.Node) error {
	set, ok := n.(*ast.VariableSetStmt)
	if !ok {
		return pgerr.Unsupported("this SET of a function is not supported")
	}
	name := strings.ToLower(set.Name)
	if set.Kind == ast.VAR_RESET_ALL {
		f.Config, f.Path = nil, nil
		return nil
	}
	if !harmless(name) {
		return pgerr.Unsupported("SET %s of a function is not supported", name).WithHint("A function may set search_path, and what changes no result.")
	}
	if f.Config = slices.DeleteFunc(slices.Clone(f.Config), func(c catalog.NamedText) bool { return c.Name == name }); name == "search_path" && !f.Parsed {
		f.Path = nil
	}
	switch set.Kind {
	case ast.VAR_SET_VALUE:
	case ast.VAR_SET_DEFAULT, ast.VAR_RESET:
		return nil
	default:
		return pgerr.Unsupported("SET FROM CURRENT of a function is not supported")
	}
	values := typing.Texts(set.Args)
	if name == "search_path" {
		if !f.Parsed {
			if f.Path = slices.DeleteFunc(slices.Clone(values), func(s string) bool { return s == "" }); len(f.Path) == 0 {
				f.Path = []string{"pg_catalog"}
			}
		}
		for i, v := range values {
			values[i] = lex.QuoteName(v)
		}
	}
	value := strings.Join(values, ", ")
	if n, err := strconv.ParseInt(value, 10, 64); name == stepsSetting && (err != nil || n < 1) {
		return pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter %q: %q", name, value).WithHint("It is a number of steps, from 1.")
	}
	if name != "search_path" && name != stepsSetting {
		if err := p.Setting(name, value); err != nil {
			return err
		}
	}
	f.Config = append(f.Config, catalog.NamedText{Name: name, Value: value})
	return nil
}

// functionBody reads AS 'text', RETURN or BEGIN ATOMIC.
func (p *Planner) functionBody(f *catalog.Function, as *ast.DefElem, sql ast.Node) error {
	switch {
	case f.Language == "" && sql != nil:
		f.Language = catalog.LanguageSQL
	case f.Language == "":
		return invalidFunction("no language specified")
	}
	switch f.Language {
	case catalog.LanguageSQL, catalog.LanguageStarlark:
	case "plpgsql", "plpython3u", "plperl", "pltcl", "c", "internal":
		return pgerr.Unsupported("functions in language %s are not supported", f.Language).WithHint("The languages are sql and starlark.")
	default:
		return pgerr.New(pgerr.UndefinedObject, "language %q does not exist", f.Language)
	}
	switch {
	case as != nil && sql != nil:
		return invalidFunction("duplicate function body specified")
	case as != nil:
		l, ok := as.Arg.(*ast.NodeList)
		if !ok || len(l.Items) != 1 {
			return invalidFunction("only one AS item needed for language %q", f.Language)
		}
		f.Body = parse.ConstText(l.Items[0])
		return nil
	case sql == nil:
		return invalidFunction("no function body specified")
	case f.Language != catalog.LanguageSQL:
		return invalidFunction("inline SQL function body only valid for language SQL")
	}
	if slices.ContainsFunc(f.Inputs(), func(a catalog.FunctionArg) bool { return a.Type.OID.IsPolymorphic() }) {
		return invalidFunction("SQL function with unquoted function body cannot have polymorphic arguments")
	}
	f.Parsed = true
	if f.Path == nil {
		f.Path = p.Lasting()
	}
	if r, ok := sql.(*ast.ReturnStmt); ok {
		switch r.ReturnVal.(type) {
		case *ast.A_Expr, *ast.BoolExpr, *ast.NullTest, *ast.BooleanTest:
			r.ReturnVal = ast.NewParenExpr(r.ReturnVal, -1) // as PostgreSQL prints it
		}
		kept, err := parse.Keep(r.ReturnVal)
		f.Body, f.Returns = "SELECT "+kept, true
		return err
	}
	l, _ := sql.(*ast.NodeList)
	if l != nil && len(l.Items) == 1 {
		l, _ = l.Items[0].(*ast.NodeList)
	}
	var texts []string
	for _, s := range typing.Items(l) {
		kept, err := parse.Keep(s)
		if err != nil {
			return err
		}
		texts = append(texts, kept)
	}
	f.Body = strings.Join(texts, ";\n")
	return nil
}

// replaceable fails if a function must not take the place of another.
func (p *Planner) replaceable(old, f *catalog.Function) error {
	hint := "Use DROP FUNCTION " + p.Signature(old) + " first."
	switch {
	case old.Aggregate != nil && f.Aggregate == nil:
		return pgerr.New(pgerr.WrongObjectType, "cannot change routine kind").WithDetail("%q is an aggregate function.", old.Name)
	case old.Aggregate == nil && f.Aggregate != nil:
		return pgerr.New(pgerr.WrongObjectType, "cannot change routine kind").WithDetail("%q is a function.", old.Name)
	case f.Aggregate != nil:
		hint = "Use DROP AGGREGATE " + p.Signature(old) + " first."
	}
	if old.Ret.OID != f.Ret.OID || old.Set != f.Set {
		return invalidFunction("cannot change return type of existing function").WithHint("%s", hint)
	}
	if a, b := old.Outputs(), f.Outputs(); f.Ret.OID == types.RecordOID &&
		!slices.EqualFunc(a, b, func(x, y catalog.FunctionArg) bool { return x.Name == y.Name && x.Type.OID == y.Type.OID }) {
		return invalidFunction("cannot change return type of existing function").
			WithDetail("Row type defined by OUT parameters is different.").WithHint("%s", hint)
	}
	in := f.Inputs()
	for i, a := range old.Inputs() {
		if a.Name != "" && a.Name != in[i].Name {
			return invalidFunction("cannot change name of input parameter %q", a.Name).WithHint("%s", hint)
		}
	}
	for i, a := range old.Inputs() {
		if a.Default != "" && in[i].Default == "" {
			return invalidFunction("cannot remove parameter defaults from existing function").WithHint("%s", hint)
		}
	}
	return nil
}

// Signature is a function's name with the types of its parameters, as messages have it.
func (p *Planner) Signature(f *catalog.Function) string {
	return p.NameIn(f.Schema, lex.QuoteName(f.Name)) + p.argumentTypes(f.InputTypes(), ",")
}

func (p *Planner) argumentTypes(list []types.OID, comma string) string {
	names := make([]string, len(list))
	for i, o := range list {
		names[i] = p.State().TypeName(types.Type{OID: o, Mod: -1})
	}
	return "(" + strings.Join(names, comma) + ")"
}

func (p *Planner) ownFunction(f *catalog.Function) error {
	return p.MustOwn(f.Owner, "function", f.Name)
}
