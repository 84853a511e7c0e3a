package function

import (
	"slices"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// function finds the function that a statement names; nil without an error where there is none. Its name is
// returned as messages have it.
func (p *Planner) function(n ast.Node) (f *catalog.Function, name string, err error) {
	o, ok := n.(*ast.ObjectWithArgs)
	if !ok {
		return nil, "", pgerr.Internal("a %T as the name of a function", n)
	}
	schema, base, err := catalog.ObjectName(typing.Texts(o.Objname)...)
	if err != nil {
		return nil, "", err
	}
	if err := p.Bind().MayLookIn(schema); err != nil {
		return nil, "", err
	}
	shown := base
	if schema != "" {
		shown = schema + "." + base
	}
	path := p.Bind().SearchPath
	if schema != "" {
		path = []string{schema}
	}
	var list []*catalog.Function
	for _, s := range path {
		if sc := p.State().SchemaByName(s); sc != nil {
			for _, x := range p.State().FunctionsNamed(sc.OID, base) {
				if !slices.ContainsFunc(list, func(y *catalog.Function) bool { return slices.Equal(x.InputTypes(), y.InputTypes()) }) {
					list = append(list, x)
				}
			}
		}
	}
	if o.ArgsUnspecified {
		builtin := 0
		if schema == "" || schema == "pg_catalog" {
			builtin = len(fn.Lookup(base))
		}
		switch {
		case len(list)+builtin > 1:
			return nil, shown, pgerr.New(pgerr.AmbiguousFunction, "function name %q is not unique", shown).
				WithHint("Specify the argument list to select the function unambiguously.")
		case len(list) == 1:
			return list[0], shown, nil
		case builtin == 1:
			return nil, shown, required(shown + "()")
		}
		return nil, "", nil
	}
	var want []types.OID
	for _, a := range typing.Items(o.Objargs) {
		tn, ok := a.(*ast.TypeName)
		if !ok {
			continue
		}
		t, err := p.functionType(tn)
		if err != nil {
			return nil, shown, err
		}
		want = append(want, t.OID)
	}
	shown += p.argumentTypes(want, ",")
	for _, x := range list {
		if slices.Equal(x.InputTypes(), want) {
			return x, shown, nil
		}
	}
	if schema == "" || schema == "pg_catalog" {
		for _, b := range fn.Lookup(base) {
			if slices.Equal(b.Args, want) || len(b.Args)+len(want) == 0 {
				return nil, shown, required(shown)
			}
		}
	}
	return nil, shown, nil
}

// required says that a function is the system's own.
func required(name string) error {
	return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop function %s because it is required by the database system", name)
}

// existingFunction is function of one that must be there.
func (p *Planner) existingFunction(n ast.Node, aggregate bool) (*catalog.Function, error) {
	f, name, err := p.function(n)
	word := "function"
	if aggregate {
		word = "aggregate"
	}
	switch {
	case err != nil && pgerr.Is(err, pgerr.DependentObjectsStillExist):
		return nil, pgerr.New(pgerr.InsufficientPrivilege, "must be owner of function %s", parse.ConstText(n.(*ast.ObjectWithArgs).Objname))
	case err != nil:
		return nil, err
	case f == nil && name == "":
		return nil, pgerr.New(pgerr.UndefinedFunction, "could not find a %s named %q", word, strings.Join(typing.Texts(n.(*ast.ObjectWithArgs).Objname), "."))
	case f == nil:
		return nil, pgerr.New(pgerr.UndefinedFunction, "%s %s does not exist", word, name)
	case aggregate && f.Aggregate == nil:
		return nil, pgerr.New(pgerr.WrongObjectType, "function %s is not an aggregate", name)
	}
	return f, nil
}

// Owned is existingFunction for what only its owner may do.
func (p *Planner) Owned(n ast.Node, aggregate bool) (*catalog.Function, error) {
	f, err := p.existingFunction(n, aggregate)
	if err == nil {
		err = p.ownFunction(f)
	}
	return f, err
}

// Drop plans DROP FUNCTION.
func (p *Planner) Drop(n *ast.DropStmt, cascade bool) error {
	aggregate := n.RemoveType == ast.OBJECT_AGGREGATE
	var roots []*catalog.Function
	for _, o := range typing.Items(n.Objects) {
		if n.MissingOk {
			if f, name, err := p.function(o); err == nil && f == nil || pgerr.Is(err, pgerr.UndefinedObject) || pgerr.Is(err, pgerr.InvalidSchemaName) {
				if name == "" {
					name = strings.Join(typing.Texts(o.(*ast.ObjectWithArgs).Objname), ".") + "()"
				}
				kind := "function"
				if aggregate {
					kind = "aggregate"
				}
				p.Notice("%s %s does not exist, skipping", kind, name)
				continue
			}
		}
		if _, _, err := p.function(o); pgerr.Is(err, pgerr.DependentObjectsStillExist) {
			return err
		}
		f, err := p.existingFunction(o, aggregate)
		if err != nil {
			return err
		}
		if f.Aggregate != nil && n.RemoveType == ast.OBJECT_FUNCTION {
			return pgerr.New(pgerr.WrongObjectType, "%q is an aggregate function", f.Name).WithHint("Use DROP AGGREGATE to drop aggregate functions.")
		}
		if sc := p.State().Schema(f.Schema); sc == nil || !p.Owns(sc.Owner) {
			if err := p.ownFunction(f); err != nil {
				return err
			}
		}
		roots = append(roots, f)
	}
	if len(roots) == 0 {
		return nil
	}
	gone, err := p.Remove(roots, "function "+p.Signature(roots[0]), cascade)
	if err != nil {
		return err
	}
	p.Cascades(gone)
	return nil
}

// Remove drops functions with what depends on them, which it describes; of is what the statement drops.
func (p *Planner) Remove(roots []*catalog.Function, of string, cascade bool) (gone []string, err error) {
	explicit := map[types.OID]bool{}
	for _, f := range roots {
		explicit[f.OID] = true
	}
	list := slices.Clone(roots)
	for i := 0; i < len(list); i++ {
		f := list[i]
		on := "function " + p.Signature(f)
		depends := func(what string) error {
			if !cascade {
				return dependent(of, what+" depends on "+on)
			}
			gone = append(gone, what)
			return nil
		}
		for _, x := range p.State().Functions() {
			if slices.ContainsFunc(x.DependsOn, func(d catalog.Dep) bool { return d.OID == f.OID }) && !slices.Contains(list, x) {
				if err := depends("function " + p.Signature(x)); err != nil {
					return nil, err
				}
				list = append(list, x)
			}
		}
		if err := p.RemoveUses(f, depends); err != nil {
			return nil, err
		}
	}
	for i := len(list) - 1; i >= 0; i-- {
		if err := p.Add(&catalog.DropFunction{OID: list[i].OID}); err != nil {
			return nil, err
		}
	}
	return gone, nil
}

// Alter handles the actions of ALTER FUNCTION.
func (p *Planner) Alter(n *ast.AlterFunctionStmt) error {
	p.Tag("ALTER FUNCTION")
	f, err := p.Owned(n.Func, false)
	if err != nil {
		return err
	}
	if f.Aggregate != nil {
		return pgerr.New(pgerr.WrongObjectType, "%q is an aggregate function", f.Name)
	}
	up := *f
	if _, err := p.functionOptions(&up, n.Actions, false); err != nil {
		return err
	}
	if up.Rows != f.Rows && !up.Set {
		return pgerr.New(pgerr.InvalidParameterValue, "ROWS is not applicable when function does not return a set")
	}
	return p.Add(&catalog.PutFunction{Function: &up})
}

// altered sets the tag of an ALTER.
func (p *Planner) altered(aggregate bool) {
	if p.Tag("ALTER FUNCTION"); aggregate {
		p.Tag("ALTER AGGREGATE")
	}
}

// Is reports whether a statement is about a function, and whether of an aggregate.
func Is(o ast.ObjectType) (yes, aggregate bool) {
	switch o {
	case ast.OBJECT_FUNCTION, ast.OBJECT_ROUTINE:
		return true, false
	case ast.OBJECT_AGGREGATE:
		return true, true
	}
	return false, false
}

// Rename plans ALTER FUNCTION … RENAME.
func (p *Planner) Rename(n *ast.RenameStmt, aggregate bool) error {
	p.altered(aggregate)
	f, err := p.Owned(n.Object, aggregate)
	if err != nil {
		return err
	}
	if sc := p.State().Schema(f.Schema); !p.May(sc.Object(), 'C') {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for schema %s", sc.Name)
	}
	if err := p.named(f, f.Schema, n.Newname); err != nil {
		return err
	}
	up := *f
	up.Name = n.Newname
	return p.Add(&catalog.PutFunction{Function: &up})
}

// named fails unless a function may get a name: it must be free, and no text that is kept may mean the function
// by its old one.
func (p *Planner) named(f *catalog.Function, schema types.OID, name string) error {
	for _, o := range p.State().FunctionsNamed(schema, name) {
		if o.OID != f.OID && slices.Equal(o.InputTypes(), f.InputTypes()) {
			return pgerr.New(pgerr.DuplicateFunction, "function %s already exists in schema %q",
				lex.QuoteName(name)+p.argumentTypes(f.InputTypes(), ", "), p.State().Schema(schema).Name)
		}
	}
	used := func(what string) error {
		return pgerr.Unsupported("function %s cannot be renamed or moved, as %s calls it", p.Signature(f), what)
	}
	for _, x := range p.State().Functions() {
		if x.Parsed && slices.ContainsFunc(x.DependsOn, func(d catalog.Dep) bool { return d.OID == f.OID }) {
			return used("function " + p.Signature(x))
		}
	}
	defer p.Undo()()
	return p.RemoveUses(f, used)
}

// SetOwner plans ALTER FUNCTION … OWNER TO.
func (p *Planner) SetOwner(n *ast.AlterOwnerStmt, owner types.OID, aggregate bool) error {
	p.altered(aggregate)
	f, err := p.Owned(n.Object, aggregate)
	if err != nil {
		return err
	}
	if err := p.MayReceive(owner, p.State().Schema(f.Schema)); err != nil {
		return err
	}
	up := *f
	up.ACL, up.Owner = f.Object().Reown(owner), owner
	return p.Add(&catalog.PutFunction{Function: &up})
}

// SetSchema plans ALTER FUNCTION … SET SCHEMA.
func (p *Planner) SetSchema(n *ast.AlterObjectSchemaStmt, aggregate bool) error {
	p.altered(aggregate)
	f, err := p.Owned(n.Object, aggregate)
	if err != nil {
		return err
	}
	sc := p.State().SchemaByName(n.NewSchema)
	if sc == nil {
		return pgerr.New(pgerr.InvalidSchemaName, "schema %q does not exist", n.NewSchema)
	}
	if err := p.MayCreate(sc); err != nil {
		return err
	}
	if sc.OID == f.Schema {
		return nil
	}
	if err := p.named(f, sc.OID, f.Name); err != nil {
		return err
	}
	up := *f
	up.Schema = sc.OID
	return p.Add(&catalog.PutFunction{Function: &up})
}

// Granted finds the functions of a GRANT.
func (p *Planner) Granted(n *ast.GrantStmt) ([]*catalog.Function, error) {
	var out []*catalog.Function
	for _, o := range typing.Items(n.Objects) {
		if n.Targtype == ast.ACL_TARGET_ALL_IN_SCHEMA {
			sc := p.State().SchemaByName(parse.ConstText(o))
			if sc == nil {
				return nil, pgerr.New(pgerr.InvalidSchemaName, "schema %q does not exist", parse.ConstText(o))
			}
			for _, f := range p.State().Functions() {
				if f.Schema == sc.OID {
					out = append(out, f)
				}
			}
			continue
		}
		f, err := p.existingFunction(o, false)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}
