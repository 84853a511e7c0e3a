package ddl

import (
	"fmt"
	"slices"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// foreignKey adds a foreign key to the table; col is the column it is written
// at, 0 for a table constraint.
func (t *tableBuilder) foreignKey(c *ast.Constraint, col int16) error {
	parent, err := t.referenced(c.Pktable)
	if err != nil {
		return err
	}
	k := catalog.Constraint{Name: c.Conname, Kind: 'f', RefTable: parent.OID, OnDelete: action(c.FkDelAction), OnUpdate: action(c.FkUpdAction), NotValid: t.alter && c.SkipValidation,
		Deferrable: c.Deferrable || c.Initdeferred, InitiallyDeferred: c.Initdeferred}
	switch c.FkMatchtype {
	case 'f':
		k.MatchFull = true
	case 'p':
		return pgerr.Unsupported("MATCH PARTIAL not yet implemented")
	}
	if k.Columns, err = t.keyColumns(t.rel, texts(c.FkAttrs)); err != nil {
		return err
	}
	if len(k.Columns) == 0 {
		k.Columns = []int16{col}
	}
	if k.RefCols, k.Index, err = t.referencedKey(parent, texts(c.PkAttrs)); err != nil {
		return err
	}
	if parent.OID != t.rel.OID {
		use := plan.TableUse{OID: parent.OID, Priv: 'x', Columns: k.RefCols}
		if err := plan.Authorize(t.p.st, t.p.env.Bind.Role, []plan.TableUse{use}); err != nil {
			return err
		}
	}
	if len(k.Columns) != len(k.RefCols) {
		return pgerr.New(pgerr.InvalidForeignKey, "number of referencing and referenced columns for foreign key disagree")
	}
	if k.SetColumns, err = t.keyColumns(t.rel, texts(c.FkDelSetCols)); err != nil {
		return err
	}
	for _, n := range k.SetColumns {
		if !slices.Contains(k.Columns, n) {
			return pgerr.New(pgerr.InvalidColumnReference, "column %q referenced in ON DELETE SET action must be part of foreign key", t.rel.ColumnNum(n).Name)
		}
	}
	names := make([]string, len(k.Columns))
	for i, n := range k.Columns {
		names[i] = t.rel.ColumnNum(n).Name
	}
	if k.Name == "" {
		k.Name = t.p.freeName(0, append([]string{t.rel.Name}, names...), "fkey", t.hasConstraint)
	}
	if err := t.suits(parent, &k); err != nil {
		return err
	}
	if k.OID, err = t.p.env.NewOID(); err != nil {
		return err
	}
	t.rel.Constraints = append(t.rel.Constraints, k)
	if parent.OID == t.rel.OID {
		t.rel.ReferencedBy = withOID(t.rel.ReferencedBy, t.rel.OID)
	} else {
		up := parent.Clone()
		up.ReferencedBy = withOID(up.ReferencedBy, t.rel.OID)
		t.after = append(t.after, &catalog.PutRelation{Rel: up, ExpectVersion: parent.Version})
		// A second key of this statement to the same table builds on it.
		if t.parents == nil {
			t.parents = map[types.OID]*catalog.Relation{}
		}
		up.Version = parent.Version + 1
		t.parents[parent.OID] = up
	}
	if t.alter && !k.NotValid {
		t.p.foreignCheck(t.rel, parent, &k)
	}
	return nil
}

func action(b byte) byte {
	if b == 0 {
		return 'a'
	}
	return b
}

func withOID(l []types.OID, oid types.OID) []types.OID {
	if slices.Contains(l, oid) {
		return l
	}
	out := append(slices.Clone(l), oid)
	slices.Sort(out)
	return out
}

// referenced finds the table that a foreign key refers to, which may be the
// one being made.
func (t *tableBuilder) referenced(rv *ast.RangeVar) (*catalog.Relation, error) {
	p := t.p
	parent, err := p.relation(rv)
	if err != nil {
		return nil, err
	}
	self := rv.RelName == t.rel.Name && (rv.SchemaName == "" || rv.SchemaName == t.schema.Name)
	if parent != nil && parent.OID == t.rel.OID || parent == nil && self {
		return t.rel, nil
	}
	if self && !t.alter && rv.SchemaName == "" && p.st.Relation(t.schema.OID, rv.RelName) == nil {
		return t.rel, nil
	}
	if parent == nil {
		_, err := p.existing(rv)
		return nil, err
	}
	if up := t.parents[parent.OID]; up != nil {
		parent = up
	}
	if parent.Kind != catalog.KindTable {
		return nil, pgerr.New(pgerr.WrongObjectType, "referenced relation %q is not a table", parent.Name)
	}
	switch {
	case t.rel.Temp && !parent.Temp:
		return nil, pgerr.New(pgerr.InvalidTableDefinition, "constraints on temporary tables may reference only temporary tables")
	case !t.rel.Temp && parent.Temp:
		return nil, pgerr.New(pgerr.InvalidTableDefinition, "constraints on permanent tables may reference only permanent tables")
	}
	return parent, nil
}

func (t *tableBuilder) keyColumns(rel *catalog.Relation, names []string) ([]int16, error) {
	var out []int16
	for _, n := range names {
		c := rel.Column(n)
		if c == nil {
			return nil, pgerr.New(pgerr.UndefinedColumn, "column %q referenced in foreign key constraint does not exist", n)
		}
		out = append(out, c.Num)
	}
	return out, nil
}

// referencedKey returns the columns referred to and the index that makes them
// unique: those named, or the primary key.
func (t *tableBuilder) referencedKey(parent *catalog.Relation, names []string) ([]int16, types.OID, error) {
	if len(names) == 0 {
		pk := parent.PrimaryKey()
		if pk == nil {
			return nil, 0, pgerr.New(pgerr.UndefinedObject, "there is no primary key for referenced table %q", parent.Name)
		}
		return pk.Columns, pk.Index, nil
	}
	cols, err := t.keyColumns(parent, names)
	if err != nil {
		return nil, 0, err
	}
	for i := range cols {
		if slices.Contains(cols[:i], cols[i]) {
			return nil, 0, pgerr.New(pgerr.InvalidForeignKey, "foreign key referenced-columns list must not contain duplicates")
		}
	}
	for _, k := range parent.Constraints {
		if (k.Kind == 'p' || k.Kind == 'u' || k.Kind == 'i') && len(k.Columns) == len(cols) && !slices.Contains(k.Columns, 0) &&
			!slices.ContainsFunc(cols, func(n int16) bool { return !slices.Contains(k.Columns, n) }) {
			return cols, k.Index, nil
		}
	}
	return nil, 0, pgerr.New(pgerr.InvalidForeignKey, "there is no unique constraint matching given keys for referenced table %q", parent.Name)
}

// suits checks what the columns' types and natures allow.
func (t *tableBuilder) suits(parent *catalog.Relation, k *catalog.Constraint) error {
	for i, n := range k.Columns {
		c, r := t.rel.ColumnNum(n), parent.ColumnNum(k.RefCols[i])
		if _, ok := ForeignKeyType(c.Type, r.Type); !ok {
			return pgerr.New(pgerr.DatatypeMismatch, "foreign key constraint %q cannot be implemented", k.Name).
				WithDetail("Key columns %q and %q are of incompatible types: %s and %s.", c.Name, r.Name, c.Type, r.Type)
		}
		if c.Generated == "" {
			continue
		}
		for _, a := range []struct {
			act byte
			on  string
		}{{k.OnUpdate, "ON UPDATE"}, {k.OnDelete, "ON DELETE"}} {
			if a.act == 'n' || a.act == 'd' || a.act == 'c' && a.on == "ON UPDATE" {
				return pgerr.New(pgerr.SyntaxError, "invalid %s action for foreign key constraint containing generated column", a.on)
			}
		}
	}
	return nil
}

// ForeignKeyType is the type in which a foreign key's column is compared with
// the column it refers to; ok is false for types that cannot be.
func ForeignKeyType(child, parent types.Type) (t types.Type, ok bool) {
	if child.OID == parent.OID {
		if child == parent {
			return child, true
		}
		return types.Type{OID: child.OID, Mod: -1}, true
	}
	text := func(t types.Type) bool { return t.OID == types.TextOID || t.OID == types.VarcharOID }
	switch c, p := child.Rank(), parent.Rank(); {
	case child.IsInteger() && parent.IsInteger():
		return types.Int8, true
	case c > 0 && parent.IsFloat():
		return types.Float8, true
	case child.IsInteger() && p > 0:
		return types.Numeric, true
	case text(child) && parent.OID == types.BpcharOID:
		return types.Bpchar, true
	case text(parent) && (text(child) || child.OID == types.BpcharOID):
		return types.Text, true
	case child.IsStamp() && parent.IsStamp() && child.Class() < parent.Class():
		return types.Type{OID: parent.OID, Mod: -1}, true
	}
	return types.Type{}, false
}

// foreignCheck has rows looked for that refer to nothing.
func (p *planner) foreignCheck(child, parent *catalog.Relation, k *catalog.Constraint) {
	p.check(child, k)
	p.guards = append(p.guards, &catalog.Guard{Table: parent.OID, Since: p.st.Version(), Deletes: true})
}

// unreferenced takes a table off the lists of those its foreign keys no longer
// refer to; now is its new descriptor, nil when it is dropped.
func (p *planner) unreferenced(old, now *catalog.Relation) error {
	for _, k := range old.Constraints {
		if k.Kind != 'f' || k.RefTable == old.OID {
			continue
		}
		if now != nil && slices.ContainsFunc(now.Constraints, func(c catalog.Constraint) bool { return c.Kind == 'f' && c.RefTable == k.RefTable }) {
			continue
		}
		parent := p.st.RelationByOID(k.RefTable)
		if parent == nil || !slices.Contains(parent.ReferencedBy, old.OID) {
			continue
		}
		up := parent.Clone()
		up.ReferencedBy = slices.DeleteFunc(slices.Clone(up.ReferencedBy), func(o types.OID) bool { return o == old.OID })
		if err := p.add(&catalog.PutRelation{Rel: up, ExpectVersion: parent.Version}); err != nil {
			return err
		}
	}
	return nil
}

// reference is a foreign key that refers to a table.
type reference struct {
	child *catalog.Relation
	key   *catalog.Constraint
}

func (p *planner) describedKey(r reference) string {
	return fmt.Sprintf("constraint %s on %s", r.key.Name, p.described(r.child))
}

// references lists the foreign keys of other tables to a table that match.
func (p *planner) references(parent *catalog.Relation, match func(k *catalog.Constraint) bool) []reference {
	var out []reference
	for _, oid := range parent.ReferencedBy {
		child := p.st.RelationByOID(oid)
		if child == nil || oid == parent.OID {
			continue
		}
		for i := range child.Constraints {
			k := &child.Constraints[i]
			if k.Kind == 'f' && k.RefTable == parent.OID && match(k) {
				out = append(out, reference{child, k})
			}
		}
	}
	return out
}

// dropReferences drops foreign keys of other tables.
func (p *planner) dropReferences(refs []reference) error {
	for _, r := range refs {
		child := p.st.RelationByOID(r.child.OID)
		if child == nil {
			continue
		}
		up := child.Clone()
		up.Constraints = slices.DeleteFunc(up.Constraints, func(c catalog.Constraint) bool { return c.OID == r.key.OID })
		if err := p.add(&catalog.PutRelation{Rel: up, ExpectVersion: child.Version}); err != nil {
			return err
		}
		if err := p.unreferenced(child, up); err != nil {
			return err
		}
	}
	return nil
}

// truncateWith adds the tables that refer to those being truncated, or refuses.
func (p *planner) truncateWith(rels []*catalog.Relation, cascade bool) ([]*catalog.Relation, error) {
	in := map[types.OID]bool{}
	for _, r := range rels {
		in[r.OID] = true
	}
	for i := 0; i < len(rels); i++ {
		for _, ref := range p.references(rels[i], func(*catalog.Constraint) bool { return true }) {
			if in[ref.child.OID] {
				continue
			}
			if !cascade {
				return nil, pgerr.Unsupported("cannot truncate a table referenced in a foreign key constraint").
					WithDetail("Table %q references %q.", ref.child.Name, rels[i].Name).
					WithHint("Truncate table %q at the same time, or use TRUNCATE ... CASCADE.", ref.child.Name)
			}
			p.notice("truncate cascades to table %q", ref.child.Name)
			in[ref.child.OID] = true
			rels = append(rels, ref.child)
		}
	}
	return rels, nil
}

// removedKeys claims every key of the tables being emptied, so that a row that
// refers to one and is committed meanwhile conflicts.
func (p *planner) removedKeys(rel *catalog.Relation) error {
	for _, ref := range p.references(rel, func(*catalog.Constraint) bool { return true }) {
		if err := p.add(&catalog.UniqueKeys{Table: ref.child.OID, Constraint: ref.key.OID, ReadVersion: p.st.Version(), All: true, Side: catalog.SideRemoves}); err != nil {
			return err
		}
	}
	return nil
}
