package ddl

import (
	"slices"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func (p *planner) createView(n *ast.ViewStmt) error {
	p.res.Tag = "CREATE VIEW"
	opts, err := viewOptions(n.Options)
	if err != nil {
		return err
	}
	if option := map[ast.ViewCheckOption]string{ast.LOCAL_CHECK_OPTION: "local", ast.CASCADED_CHECK_OPTION: "cascaded"}[n.WithCheckOption]; option != "" {
		if opts == nil {
			opts = map[string]string{}
		}
		opts[catalog.CheckOption] = option
	}
	q, ok := n.Query.(ast.Stmt)
	if !ok {
		return pgerr.Unsupported("views of this statement are not supported")
	}
	bound, err := bind.Query(p.env.Bind, q)
	if err != nil {
		return err
	}
	if len(bound.Params) > 0 {
		return pgerr.New(pgerr.UndefinedParameter, "there is no parameter $1")
	}
	if why := bind.NotUpdatable(q, bound); opts[catalog.CheckOption] != "" && why != "" {
		return pgerr.Unsupported("WITH CHECK OPTION is supported only on automatically updatable views").WithHint("%s", why)
	}
	rv := *n.View
	if p.readsTemp(bound.Tables) && rv.RelPersistence != 't' {
		rv.RelPersistence = 't'
		if rv.SchemaName == "" {
			p.notice("view %q will be a temporary view", rv.RelName)
		}
	}
	sc, err := p.schemaFor(&rv)
	if err != nil {
		return err
	}
	query, err := parse.Keep(q)
	if err != nil {
		return err
	}
	rel := &catalog.Relation{Schema: sc.OID, Name: rv.RelName, Kind: catalog.KindView, Owner: p.env.Bind.Role,
		ACL:   p.st.NewACL(catalog.ClassTable, p.env.Bind.Role, sc.OID),
		Query: query, SearchPath: p.env.Bind.SearchPath, Options: opts}
	if sc.OID == p.env.Bind.TempSchema && sc.OID != 0 {
		rel.Temp, rel.Session = true, p.env.Session
	} else {
		rel.SearchPath = p.lasting()
	}
	if err := p.viewColumns(rel, bound.Cols, texts(n.Aliases)); err != nil {
		return err
	}
	rel.DependsOn, rel.Sees = deps(bound.Tables), bind.Seen(p.env.Bind, bound.Tables)
	old := p.st.Relation(sc.OID, rv.RelName)
	switch {
	case old == nil:
		if rel.OID, err = p.env.NewOID(); err != nil {
			return err
		}
		return p.add(&catalog.PutRelation{Rel: rel})
	case !n.Replace:
		return pgerr.New(pgerr.DuplicateTable, "relation %q already exists", rv.RelName)
	case old.Kind != catalog.KindView:
		return pgerr.New(pgerr.WrongObjectType, "%q is not a view", rv.RelName)
	}
	if err := p.owned(old); err != nil {
		return err
	}
	if len(rel.Columns) < len(old.Columns) {
		return pgerr.New(pgerr.InvalidTableDefinition, "cannot drop columns from view")
	}
	for i, c := range old.Columns {
		nc := rel.Columns[i]
		if c.Name != nc.Name {
			return pgerr.New(pgerr.InvalidTableDefinition, "cannot change name of view column %q to %q", c.Name, nc.Name).
				WithHint("Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.")
		}
		if c.Type.OID != nc.Type.OID || c.Type.Mod != nc.Type.Mod {
			return pgerr.New(pgerr.InvalidTableDefinition, "cannot change data type of view column %q from %s to %s", c.Name, c.Type, nc.Type)
		}
	}
	rel.OID, rel.Owner, rel.ACL = old.OID, old.Owner, old.ACL
	for i := range old.Columns {
		rel.Columns[i].ACL = old.Columns[i].ACL
	}
	return p.add(&catalog.PutRelation{Rel: rel, ExpectVersion: old.Version})
}

func (p *planner) readsTemp(uses []plan.TableUse) bool {
	for _, u := range uses {
		if r := p.st.RelationByOID(u.OID); r != nil && r.Temp {
			return true
		}
	}
	return false
}

func deps(uses []plan.TableUse) []catalog.Dep {
	var out []catalog.Dep
	seen := map[catalog.Dep]bool{}
	for _, u := range uses {
		all := append([]int16{0}, u.Columns...)
		for _, c := range all {
			if d := (catalog.Dep{OID: u.OID, Column: c}); !seen[d] {
				seen[d] = true
				out = append(out, d)
			}
		}
	}
	return out
}

// viewColumns names a view's columns; a column of unknown type becomes text.
func (p *planner) viewColumns(rel *catalog.Relation, cols []plan.Column, aliases []string) error {
	if len(aliases) > len(cols) {
		return pgerr.New(pgerr.SyntaxError, "CREATE VIEW specifies more column names than columns")
	}
	for i, c := range cols {
		name := c.Name
		if i < len(aliases) {
			name = aliases[i]
		}
		if rel.Column(name) != nil {
			return pgerr.New(pgerr.DuplicateColumn, "column %q specified more than once", name)
		}
		t := c.Type
		if t.OID == types.UnknownOID {
			t = types.Text
		}
		rel.Columns = append(rel.Columns, catalog.Column{Name: name, Num: int16(i + 1), Type: t})
	}
	return nil
}

// TableAs makes the descriptor of CREATE TABLE AS, SELECT INTO and CREATE
// MATERIALIZED VIEW; the caller fills it. skip says that the relation is there
// and IF NOT EXISTS was given.
func TableAs(env *Env, into *ast.IntoClause, cols []plan.Column, mat bool, query string, uses []plan.TableUse, ifNot bool) (res *Result, rel *catalog.Relation, skip bool, err error) {
	if len(cols) > maxColumns {
		err = pgerr.New(pgerr.TooManyColumns, "tables can have at most %d columns", maxColumns)
		return
	}
	p := newPlanner(env, "")
	sc, err := p.schemaFor(into.Rel)
	if err != nil {
		return nil, nil, false, err
	}
	if skip, err := p.taken(sc, into.Rel.RelName, ifNot); skip || err != nil {
		return p.res, nil, skip, err
	}
	rel, err = p.newTable(sc, into.Rel)
	if err != nil {
		return nil, nil, false, err
	}
	if err := p.tableOptions(rel, into.Options); err != nil {
		return nil, nil, false, err
	}
	names := texts(into.ColNames)
	if len(names) > len(cols) {
		return nil, nil, false, pgerr.New(pgerr.SyntaxError, "too many column names were specified")
	}
	if err := p.viewColumns(rel, cols, names); err != nil {
		return nil, nil, false, err
	}
	for i := range rel.Columns {
		c := &rel.Columns[i]
		if c.Type.OID != types.UnknownOID && c.Type.IsPseudo() {
			return nil, nil, false, pgerr.New(pgerr.InvalidTableDefinition, "column %q has pseudo-type %s", c.Name, c.Type)
		}
		c.Type = stored(c.Type)
	}
	if err := p.onCommit(rel, into.OnCommit); err != nil {
		return nil, nil, false, err
	}
	if err := p.distributionOf(rel); err != nil {
		return nil, nil, false, err
	}
	if mat {
		rel.Kind, rel.Query, rel.SearchPath, rel.Populated = catalog.KindMatView, query, p.lasting(), !into.SkipData
		rel.DependsOn, rel.Sees = deps(uses), bind.Seen(p.env.Bind, uses)
	}
	return p.res, rel, false, p.add(&catalog.PutRelation{Rel: rel})
}

// stored is the type a column gets from an expression: a numeric whose scale
// was known for one query is a plain numeric for a table, unless the client
// sees its modifier.
func stored(t types.Type) types.Type {
	if t.OID == types.NumericOID && t.Mod < 0 {
		return types.Numeric
	}
	return t
}

// lasting is the search path without the session's temporary schema, which must
// not lend its names to an object that outlives it.
func (p *planner) lasting() []string {
	temp := p.st.Schema(p.env.Bind.TempSchema)
	return slices.DeleteFunc(slices.Clone(p.env.Bind.SearchPath), func(name string) bool { return temp != nil && name == temp.Name })
}

// viewOptions reads WITH (…) of a view, as it is written.
func viewOptions(l *ast.NodeList) (map[string]string, error) {
	var out map[string]string
	for _, n := range items(l) {
		d, ok := n.(*ast.DefElem)
		if !ok {
			continue
		}
		v := "true"
		if d.Arg != nil {
			v = strings.ToLower(text(d.Arg))
		}
		switch d.Defname {
		case catalog.CheckOption:
			if v != "local" && v != "cascaded" {
				return nil, pgerr.New(pgerr.InvalidParameterValue, "invalid value for enum option %q: %s", d.Defname, v).
					WithDetail("Valid values are \"local\" and \"cascaded\".")
			}
		case "security_barrier", "security_invoker":
			on, err := types.ParseText(types.Bool, v, nil)
			if err != nil {
				return nil, pgerr.New(pgerr.InvalidParameterValue, "invalid value for boolean option %q: %s", d.Defname, v)
			}
			if on == true && d.Defname == "security_barrier" {
				return nil, pgerr.Unsupported("views with %s are not supported", d.Defname)
			}
		default:
			return nil, pgerr.New(pgerr.InvalidParameterValue, "unrecognized parameter %q", d.Defname)
		}
		if out == nil {
			out = map[string]string{}
		}
		out[d.Defname] = v
	}
	return out, nil
}
