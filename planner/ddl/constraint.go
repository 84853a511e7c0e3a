package ddl

import (
	"maps"
	"slices"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func (t *tableBuilder) constraint(l pending) error {
	c := l.c
	if (c.Deferrable || c.Initdeferred) && c.Contype != ast.CONSTR_FOREIGN {
		return pgerr.Unsupported("deferrable constraints are not supported")
	}
	if c.Conname != "" && t.hasConstraint(c.Conname) {
		return pgerr.New(pgerr.DuplicateObject, "constraint %q for relation %q already exists", c.Conname, t.rel.Name)
	}
	switch c.Contype {
	case ast.CONSTR_CHECK:
		return t.check(l)
	case ast.CONSTR_PRIMARY, ast.CONSTR_UNIQUE:
		return t.unique(c, l.col)
	case ast.CONSTR_FOREIGN:
		return t.foreignKey(c, l.col)
	case ast.CONSTR_EXCLUSION:
		return pgerr.Unsupported("EXCLUDE constraints are not supported")
	}
	return pgerr.Unsupported("this constraint is not supported")
}

func (t *tableBuilder) hasConstraint(name string) bool {
	return slices.ContainsFunc(t.rel.Constraints, func(c catalog.Constraint) bool { return c.Name == name })
}

func (t *tableBuilder) check(l pending) error {
	c := l.c
	sql, err := bind.KeptText(t.p.env.Bind, c.RawExpr)
	if err != nil {
		return err
	}
	used, err := t.p.used(l.spot, sql, t.rel, bind.ForCheck)
	if err != nil {
		return err
	}
	oid, err := t.p.env.NewOID()
	if err != nil {
		return err
	}
	name := c.Conname
	if name == "" {
		parts := []string{t.rel.Name}
		if len(used) == 1 {
			parts = append(parts, t.rel.ColumnNum(used[0]).Name)
		}
		name = t.p.freeName(0, parts, "check", t.hasConstraint)
	}
	t.rel.Constraints = append(t.rel.Constraints, catalog.Constraint{OID: oid, Name: name, Kind: 'c', Columns: used, Check: sql, NotValid: t.alter && c.SkipValidation})
	if t.alter && !c.SkipValidation {
		t.p.check(t.rel, &t.rel.Constraints[len(t.rel.Constraints)-1])
	}
	return nil
}

func (t *tableBuilder) unique(c *ast.Constraint, col int16) error {
	primary := c.Contype == ast.CONSTR_PRIMARY
	if primary && t.rel.PrimaryKey() != nil {
		return pgerr.New(pgerr.InvalidTableDefinition, "multiple primary keys for table %q are not allowed", t.rel.Name)
	}
	var nums []int16
	var names []string
	if c.Indexname != "" {
		return pgerr.Unsupported("constraints USING INDEX are not supported")
	}
	if keys := texts(c.Keys); len(keys) > 0 {
		for _, k := range keys {
			cc := t.rel.Column(k)
			if cc == nil {
				return pgerr.New(pgerr.UndefinedColumn, "column %q named in key does not exist", k).At(t.p.pos(k))
			}
			if slices.Contains(nums, cc.Num) {
				what := "unique constraint"
				if primary {
					what = "primary key constraint"
				}
				return pgerr.New(pgerr.DuplicateColumn, "column %q appears twice in %s", k, what)
			}
			nums, names = append(nums, cc.Num), append(names, k)
		}
	} else {
		nums, names = []int16{col}, []string{t.rel.ColumnNum(col).Name}
	}
	for i := range t.rel.Columns {
		cc := &t.rel.Columns[i]
		if !slices.Contains(nums, cc.Num) {
			continue
		}
		if cc.Type.OID == types.JSONOID {
			return noOperatorClass("btree")
		}
		if primary && !cc.NotNull {
			cc.NotNull = true
			if t.alter {
				t.p.checkNotNull(t.rel, cc.Num)
			}
		}
	}
	conOID, err := t.p.env.NewOID()
	if err != nil {
		return err
	}
	idxOID, err := t.p.env.NewOID()
	if err != nil {
		return err
	}
	name, kind := c.Conname, byte('u')
	mine := func(n string) bool {
		for _, ch := range t.after {
			if r, ok := ch.(*catalog.PutRelation); ok && r.Rel.Name == n {
				return true
			}
		}
		return t.hasConstraint(n) || n == t.rel.Name
	}
	if primary {
		kind = 'p'
	}
	switch {
	case name != "":
		if t.p.st.Relation(t.rel.Schema, name) != nil {
			return pgerr.New(pgerr.DuplicateTable, "relation %q already exists", name)
		}
	case primary:
		name = t.p.freeName(t.rel.Schema, []string{t.rel.Name}, "pkey", mine)
	default:
		name = t.p.freeName(t.rel.Schema, append([]string{t.rel.Name}, names...), "key", mine)
	}
	t.rel.Constraints = append(t.rel.Constraints, catalog.Constraint{OID: conOID, Name: name, Kind: kind, Columns: nums, Index: idxOID, NullsNotDistinct: c.NullsNotDistinct})
	idx := &catalog.Relation{OID: idxOID, Schema: t.rel.Schema, Name: name, Kind: catalog.KindIndex, Owner: t.rel.Owner, Temp: t.rel.Temp, Session: t.rel.Session,
		Index:     &catalog.Index{Table: t.rel.OID, Columns: nums, Unique: true, Primary: primary, Method: "btree", Options: make([]byte, len(nums)), NullsNotDistinct: c.NullsNotDistinct},
		DependsOn: []catalog.Dep{{OID: t.rel.OID}}}
	t.after = append(t.after, &catalog.PutRelation{Rel: idx})
	if t.alter {
		t.p.check(t.rel, &t.rel.Constraints[len(t.rel.Constraints)-1])
	}
	return nil
}

func (p *planner) createIndex(n *ast.IndexStmt) error {
	rel, err := p.existing(n.Relation)
	if err != nil {
		return err
	}
	if rel.Kind != catalog.KindTable && rel.Kind != catalog.KindMatView {
		return pgerr.New(pgerr.WrongObjectType, "cannot create index on relation %q", rel.Name).
			WithDetail("This operation is not supported for %ss.", kindName(rel.Kind))
	}
	if err := p.owned(rel); err != nil {
		return err
	}
	switch n.AccessMethod {
	case "", "btree", "hash", "gin", "gist", "brin", "spgist":
	default:
		return pgerr.New(pgerr.UndefinedObject, "access method %q does not exist", n.AccessMethod)
	}
	idx := &catalog.Index{Table: rel.OID, Unique: n.Unique, Method: n.AccessMethod, NullsNotDistinct: n.NullsNotDistinct}
	if idx.Method == "" {
		idx.Method = "btree"
	}
	if idx.Unique && idx.Method != "btree" {
		return pgerr.Unsupported("access method %q does not support unique indexes", idx.Method)
	}
	var names []string
	reads := map[int16]bool{} // columns
	for _, e := range items(n.IndexParams) {
		el, ok := e.(*ast.IndexElem)
		if !ok {
			continue
		}
		opt := byte(0)
		if el.Ordering == ast.SORTBY_DESC {
			opt |= 1
		}
		if el.NullsOrdering == ast.SORTBY_NULLS_FIRST || el.NullsOrdering == ast.SORTBY_NULLS_DEFAULT && opt&1 != 0 {
			opt |= 2
		}
		idx.Options = append(idx.Options, opt)
		if el.Expr != nil {
			sql, err := bind.KeptText(p.env.Bind, el.Expr)
			if err != nil {
				return err
			}
			used, err := p.used(spot{}, sql, rel, bind.ForIndex)
			if err != nil {
				return err
			}
			for _, num := range used {
				reads[num] = true
			}
			idx.Columns, idx.Exprs = append(idx.Columns, 0), append(idx.Exprs, sql)
			if f, ok := el.Expr.(*ast.FuncCall); ok && len(items(f.Funcname)) > 0 {
				names = append(names, text(f.Funcname))
			} else {
				names = append(names, "expr")
			}
			continue
		}
		c := rel.Column(el.Name)
		if c == nil {
			return pgerr.New(pgerr.UndefinedColumn, "column %q does not exist", el.Name).At(p.pos(el.Name))
		}
		if c.Type.OID == types.JSONOID {
			return noOperatorClass(idx.Method)
		}
		reads[c.Num] = true
		idx.Columns, idx.Exprs = append(idx.Columns, c.Num), append(idx.Exprs, "")
		names = append(names, c.Name)
	}
	for _, e := range items(n.IndexIncludingParams) {
		if el, ok := e.(*ast.IndexElem); ok {
			c := rel.Column(el.Name)
			if c == nil {
				return pgerr.New(pgerr.UndefinedColumn, "column %q does not exist", el.Name).At(p.pos(el.Name))
			}
			idx.Include = append(idx.Include, c.Num)
		}
	}
	if n.WhereClause != nil {
		if idx.Where, err = bind.KeptText(p.env.Bind, n.WhereClause); err != nil {
			return err
		}
		used, err := p.used(spot{}, idx.Where, rel, bind.ForPredicate)
		if err != nil {
			return err
		}
		for _, num := range used {
			reads[num] = true
		}
	}
	name := n.Idxname
	if name == "" {
		name = p.freeName(rel.Schema, append([]string{rel.Name}, names...), "idx", nil)
	} else if skip, err := p.taken(p.st.Schema(rel.Schema), name, n.IfNotExists); skip || err != nil {
		return err
	}
	oid, err := p.env.NewOID()
	if err != nil {
		return err
	}
	if n.Unique {
		// A unique index is enforced as a constraint is; the descriptor keeps it
		// where writers look.
		conOID, err := p.env.NewOID()
		if err != nil {
			return err
		}
		// One over expressions, or over some rows only, is of a kind of its own:
		// its columns are those it reads.
		k := catalog.Constraint{OID: conOID, Name: name, Kind: 'i', Columns: idx.Columns, Index: oid, NullsNotDistinct: n.NullsNotDistinct}
		if idx.Where != "" || slices.Contains(idx.Columns, 0) {
			k.Kind, k.Columns = 'e', slices.Sorted(maps.Keys(reads))
		}
		p.check(rel, &k)
		up := rel.Clone()
		up.Constraints = append(up.Constraints, k)
		if err := p.add(&catalog.PutRelation{Rel: up, ExpectVersion: rel.Version}); err != nil {
			return err
		}
	}
	return p.add(&catalog.PutRelation{Rel: &catalog.Relation{OID: oid, Schema: rel.Schema, Name: name, Kind: catalog.KindIndex, Owner: rel.Owner,
		Temp: rel.Temp, Session: rel.Session, Index: idx, DependsOn: []catalog.Dep{{OID: rel.OID}}}})
}

// noOperatorClass says that json, the one type without an order, has no index.
func noOperatorClass(method string) error {
	return pgerr.New(pgerr.UndefinedObject, "data type json has no default operator class for access method %q", method).
		WithHint("You must specify an operator class for the index or define a default operator class for the data type.")
}
