package ddl

import (
	"slices"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// function finds the function that a statement names; nil without an error where there is none. Its name is
// returned as messages have it.
func (p *planner) function(n ast.Node) (f *catalog.Function, name string, err error) {
	o, ok := n.(*ast.ObjectWithArgs)
	if !ok {
		return nil, "", pgerr.Internal("a %T as the name of a function", n)
	}
	schema, base, err := catalog.ObjectName(texts(o.Objname)...)
	if err != nil {
		return nil, "", err
	}
	if err := p.env.Bind.MayLookIn(schema); err != nil {
		return nil, "", err
	}
	shown := base
	if schema != "" {
		shown = schema + "." + base
	}
	path := p.env.Bind.SearchPath
	if schema != "" {
		path = []string{schema}
	}
	var list []*catalog.Function
	for _, s := range path {
		if sc := p.st.SchemaByName(s); sc != nil {
			for _, x := range p.st.FunctionsNamed(sc.OID, base) {
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
	for _, a := range items(o.Objargs) {
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
func (p *planner) existingFunction(n ast.Node, aggregate bool) (*catalog.Function, error) {
	f, name, err := p.function(n)
	word := "function"
	if aggregate {
		word = "aggregate"
	}
	switch {
	case err != nil && pgerr.Is(err, pgerr.DependentObjectsStillExist):
		return nil, pgerr.New(pgerr.InsufficientPrivilege, "must be owner of function %s", text(n.(*ast.ObjectWithArgs).Objname))
	case err != nil:
		return nil, err
	case f == nil && name == "":
		return nil, pgerr.New(pgerr.UndefinedFunction, "could not find a %s named %q", word, strings.Join(texts(n.(*ast.ObjectWithArgs).Objname), "."))
	case f == nil:
		return nil, pgerr.New(pgerr.UndefinedFunction, "%s %s does not exist", word, name)
	case aggregate && f.Aggregate == nil:
		return nil, pgerr.New(pgerr.WrongObjectType, "function %s is not an aggregate", name)
	}
	return f, nil
}

// changedFunction is existingFunction for what only its owner may do.
func (p *planner) changedFunction(n ast.Node, aggregate bool) (*catalog.Function, error) {
	f, err := p.existingFunction(n, aggregate)
	if err == nil {
		err = p.ownFunction(f)
	}
	return f, err
}

func (p *planner) dropFunctions(n *ast.DropStmt, cascade bool) error {
	aggregate := n.RemoveType == ast.OBJECT_AGGREGATE
	var roots []*catalog.Function
	for _, o := range items(n.Objects) {
		if n.MissingOk {
			if f, name, err := p.function(o); err == nil && f == nil || pgerr.Is(err, pgerr.UndefinedObject) || pgerr.Is(err, pgerr.InvalidSchemaName) {
				if name == "" {
					name = strings.Join(texts(o.(*ast.ObjectWithArgs).Objname), ".") + "()"
				}
				p.notice("function %s does not exist, skipping", name)
				continue
			}
		}
		f, _, err := p.function(o)
		if pgerr.Is(err, pgerr.DependentObjectsStillExist) {
			return err
		}
		if f, err = p.existingFunction(o, aggregate); err != nil {
			return err
		}
		if n.RemoveType == ast.OBJECT_FUNCTION && f.Aggregate != nil {
			return pgerr.New(pgerr.WrongObjectType, "%q is an aggregate function", f.Name).WithHint("Use DROP AGGREGATE to drop aggregate functions.")
		}
		if sc := p.st.Schema(f.Schema); sc == nil || !p.owns(sc.Owner) {
			if err := p.ownFunction(f); err != nil {
				return err
			}
		}
		roots = append(roots, f)
	}
	if len(roots) == 0 {
		return nil
	}
	gone, err := p.removeFunctions(roots, "function "+p.signature(roots[0]), cascade)
	if err != nil {
		return err
	}
	p.cascadeNotice(gone)
	return nil
}

// removeFunctions drops functions with what depends on them, which it describes; of is what the statement drops.
func (p *planner) removeFunctions(roots []*catalog.Function, of string, cascade bool) (gone []string, err error) {
	explicit := map[types.OID]bool{}
	for _, f := range roots {
		explicit[f.OID] = true
	}
	list := slices.Clone(roots)
	for i := 0; i < len(list); i++ {
		f := list[i]
		on := "function " + p.signature(f)
		depends := func(what string) error {
			if !cascade {
				return dependent(of, what+" depends on "+on)
			}
			gone = append(gone, what)
			return nil
		}
		for _, x := range p.st.Functions() {
			if slices.ContainsFunc(x.DependsOn, func(d catalog.Dep) bool { return d.OID == f.OID }) && !slices.Contains(list, x) {
				if err := depends(x.Kind() + " " + p.signature(x)); err != nil {
					return nil, err
				}
				list = append(list, x)
			}
		}
		if err := p.removeUses(f, depends); err != nil {
			return nil, err
		}
	}
	for i := len(list) - 1; i >= 0; i-- {
		if err := p.add(&catalog.DropFunction{OID: list[i].OID}); err != nil {
			return nil, err
		}
	}
	return gone, nil
}

// removeUses drops the views, defaults, constraints, columns and indexes that call a function. depends is told
// of each first, and may refuse.
func (p *planner) removeUses(f *catalog.Function, depends func(what string) error) error {
	was := len(p.res.Notices)
	for _, r := range p.st.Relations() {
		if r = p.st.RelationByOID(r.OID); r == nil {
			continue // gone with another
		}
		switch r.Kind {
		case catalog.KindView, catalog.KindMatView:
			if !slices.ContainsFunc(r.DependsOn, func(d catalog.Dep) bool { return d.OID == f.OID }) {
				continue
			}
			if err := depends(p.described(r)); err != nil {
				return err
			}
			if err := p.dropRelations([]*catalog.Relation{r}, true); err != nil {
				return err
			}
		case catalog.KindIndex:
			t := p.st.RelationByOID(r.Index.Table)
			if !p.callsAny(f, t, append(slices.Clone(r.Index.Exprs), r.Index.Where), bind.ForIndex) {
				continue
			}
			if err := depends(p.described(r)); err != nil {
				return err
			}
			if err := p.dropRelations([]*catalog.Relation{r}, true); err != nil {
				return err
			}
		case catalog.KindTable:
			if err := p.removeTableUses(f, r, depends); err != nil {
				return err
			}
		}
	}
	p.res.Notices = p.res.Notices[:was] // what they drop is told with the function
	return nil
}

// removeTableUses is removeUses in a table's descriptor.
func (p *planner) removeTableUses(f *catalog.Function, r *catalog.Relation, depends func(what string) error) error {
	up := r.Clone()
	changed := false
	for i := range up.Columns {
		c := &up.Columns[i]
		if !c.Dropped && p.callsAny(f, nil, []string{c.Default}, bind.ForDefault) {
			if err := depends("default value for column " + c.Name + " of " + p.described(r)); err != nil {
				return err
			}
			c.Default, changed = "", true
		}
	}
	for i := len(up.Constraints) - 1; i >= 0; i-- {
		if k := up.Constraints[i]; k.Kind == 'c' && p.callsAny(f, r, []string{k.Check}, bind.ForCheck) {
			if err := depends("constraint " + k.Name + " on " + p.described(r)); err != nil {
				return err
			}
			up.Constraints, changed = slices.Delete(up.Constraints, i, i+1), true
		}
	}
	if changed {
		if err := p.add(&catalog.PutRelation{Rel: up, ExpectVersion: r.Version}); err != nil {
			return err
		}
	}
	for _, c := range up.Live() {
		if c.Generated == "" || !p.callsAny(f, r, []string{c.Generated}, bind.ForGenerated) {
			continue
		}
		if err := depends("column " + c.Name + " of " + p.described(r)); err != nil {
			return err
		}
		now := p.st.RelationByOID(r.OID)
		a := &alteration{p: p, old: now, t: &tableBuilder{p: p, rel: now.Clone(), schema: p.st.Schema(r.Schema), alter: true}}
		if err := a.dropColumn(&ast.AlterTableCmd{Name: c.Name, Behavior: ast.DropCascade}); err != nil {
			return err
		}
		if err := a.finish(); err != nil {
			return err
		}
	}
	return nil
}

// callsAny reports whether a kept expression calls a function. What does not name it is not bound.
func (p *planner) callsAny(f *catalog.Function, over *catalog.Relation, list []string, kind bind.ScalarKind) bool {
	for _, s := range list {
		if s != "" && strings.Contains(strings.ToLower(s), strings.ToLower(f.Name)) && slices.Contains(bind.Called(p.env.Bind, s, over, kind), f.OID) {
			return true
		}
	}
	return false
}

// alterFunction handles the actions of ALTER FUNCTION.
func (p *planner) alterFunction(n *ast.AlterFunctionStmt) error {
	p.res.Tag = "ALTER FUNCTION"
	f, err := p.changedFunction(n.Func, false)
	if err != nil {
		return err
	}
	up := *f
	if _, err := p.functionOptions(&up, n.Actions, false); err != nil {
		return err
	}
	if up.Rows != f.Rows && !up.Set {
		return pgerr.New(pgerr.InvalidParameterValue, "ROWS is not applicable when function does not return a set")
	}
	return p.add(&catalog.PutFunction{Function: &up})
}

// isFunction reports whether a statement is about a function, and whether of an aggregate.
func isFunction(o ast.ObjectType) (yes, aggregate bool) {
	switch o {
	case ast.OBJECT_FUNCTION, ast.OBJECT_ROUTINE:
		return true, false
	case ast.OBJECT_AGGREGATE:
		return true, true
	}
	return false, false
}

func (p *planner) renameFunction(n *ast.RenameStmt, aggregate bool) error {
	p.res.Tag = "ALTER FUNCTION"
	f, err := p.changedFunction(n.Object, aggregate)
	if err != nil {
		return err
	}
	if sc := p.st.Schema(f.Schema); !p.may(sc.Object(), 'C') {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for schema %s", sc.Name)
	}
	if err := p.named(f, f.Schema, n.Newname); err != nil {
		return err
	}
	up := *f
	up.Name = n.Newname
	return p.add(&catalog.PutFunction{Function: &up})
}

// named fails unless a function may get a name: it must be free, and no text that is kept may mean the function
// by its old one.
func (p *planner) named(f *catalog.Function, schema types.OID, name string) error {
	for _, o := range p.st.FunctionsNamed(schema, name) {
		if o.OID != f.OID && slices.Equal(o.InputTypes(), f.InputTypes()) {
			return pgerr.New(pgerr.DuplicateFunction, "function %s already exists in schema %q",
				lex.QuoteName(name)+p.argumentTypes(f.InputTypes(), ", "), p.st.Schema(schema).Name)
		}
	}
	used := func(what string) error {
		return pgerr.Unsupported("function %s cannot be renamed or moved, as %s calls it", p.signature(f), what)
	}
	for _, x := range p.st.Functions() {
		if x.Parsed && slices.ContainsFunc(x.DependsOn, func(d catalog.Dep) bool { return d.OID == f.OID }) {
			return used("function " + p.signature(x))
		}
	}
	st, env := p.st, p.env.Bind.State
	err := p.removeUses(f, used)
	p.st, p.env.Bind.State = st, env
	return err
}

func (p *planner) ownerOfFunction(n *ast.AlterOwnerStmt, owner types.OID, aggregate bool) error {
	p.res.Tag = "ALTER FUNCTION"
	f, err := p.changedFunction(n.Object, aggregate)
	if err != nil {
		return err
	}
	if err := p.mayReceive(owner, p.st.Schema(f.Schema)); err != nil {
		return err
	}
	up := *f
	up.ACL, up.Owner = f.Object().Reown(owner), owner
	return p.add(&catalog.PutFunction{Function: &up})
}

func (p *planner) schemaOfFunction(n *ast.AlterObjectSchemaStmt, aggregate bool) error {
	p.res.Tag = "ALTER FUNCTION"
	f, err := p.changedFunction(n.Object, aggregate)
	if err != nil {
		return err
	}
	sc := p.st.SchemaByName(n.NewSchema)
	if sc == nil {
		return pgerr.New(pgerr.InvalidSchemaName, "schema %q does not exist", n.NewSchema)
	}
	if err := p.mayCreate(sc); err != nil {
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
	return p.add(&catalog.PutFunction{Function: &up})
}

// grantFunctions finds the functions of a GRANT.
func (p *planner) grantFunctions(n *ast.GrantStmt) ([]*catalog.Function, error) {
	var out []*catalog.Function
	for _, o := range items(n.Objects) {
		if n.Targtype == ast.ACL_TARGET_ALL_IN_SCHEMA {
			sc := p.st.SchemaByName(text(o))
			if sc == nil {
				return nil, pgerr.New(pgerr.InvalidSchemaName, "schema %q does not exist", text(o))
			}
			for _, f := range p.st.Functions() {
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
