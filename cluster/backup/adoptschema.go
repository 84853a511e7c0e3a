package backup

import (
	"slices"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/query"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/ddl/kept"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Namespace plans to take in a schema with all that is in it, under Name.
func (a *Adoption) Namespace(old *catalog.Schema) error {
	if a.Now.SchemaByName(a.Name) != nil {
		return pgerr.New(pgerr.DuplicateSchema, "schema %q already exists", a.Name).WithHint("Give another name: RESTORE SCHEMA … AS name FROM ….")
	}
	a.Schema = &catalog.Schema{OID: a.oid(old.OID), Name: a.Name, Owner: a.owner(old.Owner), ACL: a.grants(old.ACL)}
	a.whole, a.inside = old, map[string]bool{}
	a.Changes = append(a.Changes, &catalog.PutSchema{Schema: a.Schema})
	a.comment(catalog.Dep{OID: old.OID}, catalog.Dep{OID: a.Schema.OID})
	var relations []*catalog.Relation
	var functions []*catalog.Function
	for _, e := range a.Old.Enums() {
		if e.Schema == old.OID {
			a.enum(e, a.Schema.OID)
		}
	}
	for _, f := range a.Old.Functions() {
		if f.Schema == old.OID {
			a.oid(f.OID)
			functions = append(functions, f)
		}
	}
	for _, r := range a.Old.Relations() {
		if r.Schema == old.OID {
			a.oid(r.OID)
			a.inside[r.Name] = true
			relations = append(relations, r)
		}
	}
	models := slices.DeleteFunc(a.Old.Models(), func(m *catalog.Model) bool { return m.Schema != old.OID })
	for _, m := range models {
		a.oid(m.OID)
		a.inside[m.Name] = true
	}
	for _, f := range functions {
		a.function(f)
	}
	for _, kind := range []catalog.RelKind{catalog.KindSequence, catalog.KindTable, catalog.KindView, catalog.KindMatView} {
		for _, r := range relations {
			switch {
			case r.Kind == catalog.KindComposite:
				return pgerr.Unsupported("RESTORE and BACKUP of a schema with composite types is not supported").WithDetail("%q is one.", r.Name)
			case r.Kind != kind || a.err != nil:
			case kind == catalog.KindTable:
				a.Name = r.Name
				a.fail(a.Table(r))
			case kind == catalog.KindSequence && r.Seq.OwnedTable == 0:
				a.sequence(r)
			case kind != catalog.KindSequence:
				a.view(r)
			}
		}
	}
	for _, m := range models {
		if a.err == nil {
			a.Name = m.Name
			a.fail(a.Model(m))
		}
	}
	return a.err
}

// sequence plans to take in a sequence that belongs to no column.
func (a *Adoption) sequence(old *catalog.Relation) {
	a.Name = old.Name
	now := a.beside(old, old.Name)
	now.DependsOn = a.depends(old.Name, old.DependsOn, nil)
	a.Changes = append(a.Changes, &catalog.PutRelation{Rel: now}, &catalog.SetSequence{OID: now.OID, Value: a.Old.SequenceAt(old.OID)})
	a.comment(catalog.Dep{OID: old.OID}, catalog.Dep{OID: now.OID})
}

// view plans to take in a view, or a materialised one with its rows and indexes.
func (a *Adoption) view(old *catalog.Relation) {
	a.Name = old.Name
	rel := a.beside(old, old.Name)
	for i := range rel.Columns {
		a.column(&rel.Columns[i], nil)
	}
	if a.renamed() {
		sel, err := query.ViewText(old)
		if err == nil {
			rel.Query, err = a.reworded(sel)
		}
		a.fail(err)
	}
	rel.SearchPath, rel.Sees = a.path(old.SearchPath), slices.Clone(old.Sees)
	for i := range rel.Sees {
		rel.Sees[i].OID = a.now(old.Name, rel.Sees[i].OID)
	}
	rel.DependsOn = a.depends(old.Name, old.DependsOn, nil)
	_, indexes := a.owned(old, rel)
	a.Changes = append(a.Changes, &catalog.PutRelation{Rel: rel})
	for _, x := range indexes {
		x.now.DependsOn = a.depends(x.old.Name, x.old.DependsOn, nil)
		a.Changes = append(a.Changes, &catalog.PutRelation{Rel: x.now})
		a.comment(catalog.Dep{OID: x.old.OID}, catalog.Dep{OID: x.now.OID})
	}
	a.comment(catalog.Dep{OID: old.OID}, catalog.Dep{OID: rel.OID})
	for _, c := range old.Columns {
		a.comment(catalog.Dep{OID: old.OID, Column: c.Num}, catalog.Dep{OID: rel.OID, Column: c.Num})
	}
	if old.Kind == catalog.KindMatView {
		a.rows(old, rel)
	}
}

// function plans to take in a function or an aggregate.
func (a *Adoption) function(old *catalog.Function) {
	f := *old
	f.OID, f.Schema, f.Owner, f.ACL = a.oid(old.OID), a.Schema.OID, a.owner(old.Owner), a.grants(old.ACL)
	f.Args, f.Ret, f.Path = slices.Clone(old.Args), a.typeOf(old.Ret), a.path(old.Path)
	for i := range f.Args {
		f.Args[i].Type, f.Args[i].Default = a.typeOf(f.Args[i].Type), a.expr(f.Args[i].Default)
	}
	switch {
	case f.Parsed && a.renamed():
		list, err := parse.Parse(f.Body, parse.Postgres)
		var texts []string
		for _, s := range list {
			if err != nil {
				break
			}
			var text string
			text, err = a.reworded(s.Node)
			texts = append(texts, text)
		}
		f.Body = strings.Join(texts, ";\n")
		a.fail(err)
	case a.renamed() && strings.Contains(f.Body, a.whole.Name+"."):
		a.Warnings = append(a.Warnings, pgerr.New(pgerr.Warning, "the body of function %q may name objects of schema %q", f.Name, a.whole.Name).WithSeverity(pgerr.SevWarning).
			WithHint("CREATE OR REPLACE FUNCTION gives it another."))
	}
	if g := old.Aggregate; g != nil {
		n := *g
		n.Next, n.Final, n.Combine, n.State = a.now(f.Name, g.Next), a.now(f.Name, g.Final), a.now(f.Name, g.Combine), a.typeOf(g.State)
		f.Aggregate = &n
	}
	f.DependsOn = a.depends(f.Name, old.DependsOn, nil)
	a.Changes = append(a.Changes, &catalog.PutFunction{Function: &f})
	a.comment(catalog.Dep{OID: old.OID}, catalog.Dep{OID: f.OID})
}

// renamed reports whether a schema comes under another name.
func (a *Adoption) renamed() bool { return a.whole != nil && a.whole.Name != a.Schema.Name }

// path is a search path with the schema under its new name.
func (a *Adoption) path(old []string) []string {
	if !a.renamed() {
		return slices.Clone(old)
	}
	return kept.InPath(old, a.whole.Name, a.Schema.Name)
}

// expr is the text of an expression, with names of the schema under its new one.
func (a *Adoption) expr(text string) string {
	if text == "" || !a.renamed() {
		return text
	}
	n, err := typing.ParseExpr(text)
	if err == nil {
		text, err = a.reworded(n)
	}
	a.fail(err)
	return text
}

// reworded is the text of a query or an expression, with names of the schema under its new one.
func (a *Adoption) reworded(n ast.Node) (string, error) {
	from, into := a.whole.Name, a.Schema.Name
	kept.InSchema(n, from, into)
	n = ast.Rewrite(n, func(c *ast.Cursor) bool {
		if x, ok := c.Node().(*ast.String); ok { // of regclass, nextval, predict
			if rest, ok := strings.CutPrefix(x.SVal, lex.QuoteIdent(from)+"."); ok && a.inside[unquoted(rest)] {
				x.SVal = lex.QuoteIdent(into) + "." + rest
			}
		}
		return true
	}, nil)
	return parse.Keep(n)
}

// unquoted is an identifier without its quotes.
func unquoted(s string) string {
	if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' {
		return strings.ReplaceAll(s[1:len(s)-1], `""`, `"`)
	}
	return s
}

// named is the OID of an object that is only named; 0 where such are not made.
func (a *Adoption) named(old types.OID) types.OID {
	if !a.Outside {
		return 0
	}
	return a.oid(old)
}

// now is what an old object is now: one that is made here, or the one of the same name outside. That there is none is an error;
// name is what needs it. It is 0 for what a dependency need not name: a schema, a role.
func (a *Adoption) now(name string, old types.OID) types.OID {
	if old < types.FirstUserOID {
		return old
	}
	if now, made := a.oids[old]; made {
		return now
	}
	if a.Old.EnumByOID(old) != nil {
		return a.typeOf(types.Type{OID: old}).OID
	}
	r, f, m := a.Old.RelationByOID(old), a.Old.Function(old), a.Old.ModelByOID(old)
	missing := func(code pgerr.Code, kind string, schema types.OID, object string, named catalog.Change) types.OID {
		if a.Outside {
			a.Changes = append(a.Changes, named)
			return a.oid(old)
		}
		a.fail(pgerr.New(code, "%s \"%s.%s\" does not exist", kind, a.Old.Schema(schema).Name, object).WithDetail("%q depends on it.", name))
		return 0
	}
	here := func(schema types.OID) types.OID { // 0 is no schema's
		if sc := a.Now.SchemaByName(a.Old.Schema(schema).Name); sc != nil {
			return sc.OID
		}
		return 0
	}
	switch {
	case r != nil:
		if now := a.Now.Relation(here(r.Schema), r.Name); now != nil {
			return now.OID
		}
		return missing(pgerr.UndefinedTable, "relation", r.Schema, r.Name,
			&catalog.PutRelation{Rel: &catalog.Relation{OID: a.named(old), Schema: here(r.Schema), Name: r.Name, Kind: catalog.KindComposite, Owner: a.owner(r.Owner)}})
	case m != nil:
		if now := a.Now.Model(here(m.Schema), m.Name); now != nil {
			return now.OID
		}
		return missing(pgerr.UndefinedObject, "model", m.Schema, m.Name,
			&catalog.PutModel{Model: &catalog.Model{OID: a.named(old), Schema: here(m.Schema), Name: m.Name, Owner: a.owner(m.Owner)}})
	case f != nil:
		in := f.InputTypes()
		for i := range in {
			in[i] = a.typeOf(types.Type{OID: in[i]}).OID
		}
		for _, now := range a.Now.FunctionsNamed(here(f.Schema), f.Name) {
			if slices.Equal(now.InputTypes(), in) {
				return now.OID
			}
		}
		bare := *f
		bare.OID, bare.Schema, bare.Owner, bare.ACL, bare.DependsOn, bare.Aggregate = a.named(old), here(f.Schema), a.owner(f.Owner), nil, nil, nil
		return missing(pgerr.UndefinedFunction, "function", f.Schema, f.Name, &catalog.PutFunction{Function: &bare})
	}
	return 0
}
