package ddl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func (p *planner) drop(n *ast.DropStmt) error {
	cascade := n.Behavior == ast.DropCascade
	want := map[ast.ObjectType]catalog.RelKind{
		ast.OBJECT_TABLE: catalog.KindTable, ast.OBJECT_VIEW: catalog.KindView, ast.OBJECT_MATVIEW: catalog.KindMatView,
		ast.OBJECT_SEQUENCE: catalog.KindSequence, ast.OBJECT_INDEX: catalog.KindIndex,
	}
	switch n.RemoveType {
	case ast.OBJECT_SCHEMA:
		p.res.Tag = "DROP SCHEMA"
		return p.dropSchemas(n, cascade)
	case ast.OBJECT_TYPE:
		p.res.Tag = "DROP TYPE"
		return p.dropTypes(n, cascade)
	case ast.OBJECT_FUNCTION, ast.OBJECT_AGGREGATE, ast.OBJECT_ROUTINE:
		p.res.Tag = "DROP " + strings.ToUpper(fmt.Sprint(n.RemoveType))
		return p.functions.Drop(n, cascade)
	}
	kind, ok := want[n.RemoveType]
	if !ok {
		return p.dropMissing(n)
	}
	p.res.Tag = "DROP " + strings.ToUpper(kindName(kind))
	var roots []*catalog.Relation
	for _, o := range items(n.Objects) {
		rv, err := relationName(o)
		if err != nil {
			return err
		}
		rel, err := p.relation(rv)
		if err != nil {
			return err
		}
		if rel == nil {
			if rv.SchemaName != "" && p.st.SchemaByName(rv.SchemaName) == nil && rv.SchemaName != "pg_temp" {
				if n.MissingOk {
					p.notice("schema %q does not exist, skipping", rv.SchemaName)
					continue
				}
				return pgerr.New(pgerr.InvalidSchemaName, "schema %q does not exist", rv.SchemaName)
			}
			if n.MissingOk {
				p.notice("%s %q does not exist, skipping", kindName(kind), rv.RelName)
				continue
			}
			code := pgerr.UndefinedTable
			if kind == catalog.KindIndex {
				code = pgerr.UndefinedObject
			}
			return pgerr.New(code, "%s \"%s\" does not exist", kindName(kind), rangeName(rv))
		}
		if rel.Kind != kind {
			return pgerr.New(pgerr.WrongObjectType, "%q is not %s %s", rel.Name, article(kindName(kind)), kindName(kind)).
				WithHint("Use DROP %s to remove %s %s.", strings.ToUpper(kindName(rel.Kind)), article(kindName(rel.Kind)), kindName(rel.Kind))
		}
		if sc := p.st.Schema(rel.Schema); sc == nil || !p.owns(sc.Owner) { // whose owner may drop what is in it
			if err := p.owned(rel); err != nil {
				return err
			}
		}
		roots = append(roots, rel)
	}
	return p.dropRelations(roots, cascade)
}

func article(s string) string {
	if strings.IndexByte("aeiou", s[0]) >= 0 {
		return "an"
	}
	return "a"
}

func (p *planner) dropMissing(n *ast.DropStmt) error {
	what := strings.ToLower(strings.ReplaceAll(fmt.Sprint(n.RemoveType), "_", " "))
	if n.MissingOk {
		// There are none of this kind, so none can be missed.
		p.res.Tag = "DROP " + strings.ToUpper(what)
		for _, o := range items(n.Objects) {
			p.notice("%s %q does not exist, skipping", what, text(o))
		}
		return nil
	}
	return pgerr.Unsupported("DROP %s is not supported", strings.ToUpper(what))
}

// DropTable drops a table of a state with all that depends on it.
func DropTable(st *catalog.State, table *catalog.Relation) ([]catalog.Change, error) {
	p := newPlanner(&Env{Bind: &bind.Session{Names: bind.Names{State: st}}, Super: true}, "")
	err := p.dropRelations([]*catalog.Relation{table}, true)
	return p.res.Changes, err
}

// onCommit notes what the end of the transaction does to a new table.
func (p *planner) onCommit(rel *catalog.Relation, n ast.OnCommitAction) error {
	switch {
	case n == ast.ONCOMMIT_NOOP:
	case rel.Schema == 0 || rel.Schema != p.env.Bind.TempSchema && rel.Schema != p.res.TempSchema:
		return pgerr.New(pgerr.InvalidTableDefinition, "ON COMMIT can only be used on temporary tables")
	case n == ast.ONCOMMIT_DELETE_ROWS:
		return pgerr.Unsupported("ON COMMIT DELETE ROWS is not supported")
	case n == ast.ONCOMMIT_DROP:
		p.res.DropAtCommit = rel.OID
	}
	return nil
}

// dropRelations drops relations with what belongs to them; what merely depends
// on them goes with CASCADE and stops a RESTRICT.
func (p *planner) dropRelations(roots []*catalog.Relation, cascade bool) error {
	if len(roots) == 0 {
		return nil
	}
	drop := map[types.OID]bool{}
	var order []*catalog.Relation
	explicit := map[types.OID]bool{}
	for _, r := range roots {
		explicit[r.OID] = true
	}
	var visit func(r *catalog.Relation)
	visit = func(r *catalog.Relation) {
		if drop[r.OID] {
			return
		}
		drop[r.OID] = true
		order = append(order, r)
		for _, x := range p.st.Relations() {
			if x.Kind == catalog.KindIndex && x.Index.Table == r.OID || x.Kind == catalog.KindSequence && x.Seq.OwnedTable == r.OID {
				visit(x)
			}
		}
	}
	for _, r := range roots {
		if r.Kind == catalog.KindIndex {
			if t := p.st.RelationByOID(r.Index.Table); t != nil {
				for _, c := range t.Constraints {
					if c.Index == r.OID && (c.Kind == 'p' || c.Kind == 'u') {
						return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop index %s because constraint %s on table %s requires it", r.Name, c.Name, t.Name).
							WithHint("You can drop constraint %s on table %s instead.", c.Name, t.Name)
					}
				}
			}
		}
		visit(r)
	}
	var cascaded []string
	for i := 0; i < len(order); i++ {
		for _, x := range p.st.Relations() {
			if drop[x.OID] || x.Kind != catalog.KindView && x.Kind != catalog.KindMatView {
				continue
			}
			if slices.ContainsFunc(x.DependsOn, func(d catalog.Dep) bool { return d.OID == order[i].OID }) {
				desc := p.described(x)
				if !cascade {
					return dependent(p.described(roots[0]), desc+" depends on "+p.described(order[i]))
				}
				if !explicit[x.OID] {
					cascaded = append(cascaded, desc)
				}
				visit(x)
			}
		}
	}
	var callers []*catalog.Function
	for _, f := range p.st.Functions() {
		for _, r := range order {
			if slices.ContainsFunc(f.DependsOn, func(d catalog.Dep) bool { return d.OID == r.OID }) {
				if !cascade {
					return dependent(p.described(roots[0]), "function "+p.functions.Signature(f)+" depends on "+p.described(r))
				}
				cascaded, callers = append(cascaded, "function "+p.functions.Signature(f)), append(callers, f)
				break
			}
		}
	}
	if len(callers) > 0 {
		more, err := p.functions.Remove(callers, "", true)
		if err != nil {
			return err
		}
		cascaded = append(cascaded, more...)
		order = slices.DeleteFunc(order, func(r *catalog.Relation) bool { return p.st.RelationByOID(r.OID) == nil })
	}
	var freed []reference
	for _, r := range order {
		var refs []reference
		switch r.Kind {
		case catalog.KindTable:
			refs = p.references(r, func(*catalog.Constraint) bool { return true })
		case catalog.KindIndex:
			if t := p.st.RelationByOID(r.Index.Table); t != nil && !drop[t.OID] {
				refs = p.references(t, func(k *catalog.Constraint) bool { return k.Index == r.OID })
			}
		}
		for _, ref := range refs {
			if drop[ref.child.OID] {
				continue
			}
			if !cascade {
				return dependent(p.described(roots[0]), p.describedKey(ref)+" depends on "+p.described(r))
			}
			cascaded = append(cascaded, p.describedKey(ref))
			freed = append(freed, ref)
		}
	}
	if err := p.dropReferences(freed); err != nil {
		return err
	}
	for _, r := range order {
		if now := p.st.RelationByOID(r.OID); now != nil {
			if err := p.unreferenced(now, nil); err != nil {
				return err
			}
		}
	}
	// A sequence that some default names goes only with the default.
	of := p.described(roots[0])
	for _, t := range p.st.Relations() {
		if drop[t.OID] || !namesSequence(t, drop) {
			continue
		}
		up := t.Clone() // one change for all columns: a second one would conflict with the first
		descs, err := p.clearDefaults(up, drop, of, cascade)
		if err != nil {
			return err
		}
		cascaded = append(cascaded, descs...)
		if err := p.add(&catalog.PutRelation{Rel: up, ExpectVersion: t.Version}); err != nil {
			return err
		}
	}
	p.cascadeNotice(cascaded)
	// An index of a unique index constraint takes its mark off the table.
	for _, r := range roots {
		if r.Kind == catalog.KindIndex && !drop[r.Index.Table] {
			if t := p.st.RelationByOID(r.Index.Table); t != nil {
				up := t.Clone()
				up.Constraints = slices.DeleteFunc(up.Constraints, func(c catalog.Constraint) bool { return c.Index == r.OID })
				if len(up.Constraints) != len(t.Constraints) {
					if err := p.add(&catalog.PutRelation{Rel: up, ExpectVersion: t.Version}); err != nil {
						return err
					}
				}
			}
		}
	}
	// All at once: no state has a view without its table.
	rank := map[catalog.RelKind]int{catalog.KindView: 0, catalog.KindMatView: 1, catalog.KindIndex: 2, catalog.KindTable: 3, catalog.KindSequence: 4}
	slices.SortStableFunc(order, func(a, b *catalog.Relation) int { return cmp.Compare(rank[a.Kind], rank[b.Kind]) })
	var drops []catalog.Change
	for _, r := range order {
		drops = append(drops, &catalog.DropRelation{OID: r.OID})
	}
	return p.add(drops...)
}

// namesSequence reports whether a default of t names one of the sequences.
func namesSequence(t *catalog.Relation, sequences map[types.OID]bool) bool {
	return t.Kind == catalog.KindTable && slices.ContainsFunc(t.Columns, func(c catalog.Column) bool { return !c.Dropped && sequences[c.Sequence] })
}

// clearDefaults removes the defaults of t that name a sequence that goes with of, and describes them.
func (p *planner) clearDefaults(t *catalog.Relation, gone map[types.OID]bool, of string, cascade bool) (cascaded []string, err error) {
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Dropped || !gone[c.Sequence] {
			continue
		}
		seq := p.st.RelationByOID(c.Sequence)
		if c.Identity != 0 {
			return nil, pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop sequence %s because column %s of table %s requires it", seq.Name, c.Name, t.Name).
				WithHint("You can drop column %s of table %s instead.", c.Name, t.Name)
		}
		desc := fmt.Sprintf("default value for column %s of %s", c.Name, p.described(t))
		if !cascade {
			return nil, dependent(of, desc+" depends on "+p.described(seq))
		}
		cascaded = append(cascaded, desc)
		c.Default, c.Sequence = "", 0
	}
	return cascaded, nil
}

func dependent(what, detail string) error {
	return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop %s because other objects depend on it", what).
		WithDetail("%s", detail).WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
}

func (p *planner) cascadeNotice(what []string) {
	switch {
	case len(what) == 1:
		p.notice("drop cascades to %s", what[0])
	case len(what) > 1:
		lines := make([]string, len(what))
		for i, w := range what {
			lines[i] = "drop cascades to " + w
		}
		n := pgerr.New(pgerr.SuccessfulCompletion, "drop cascades to %d other objects", len(what)).WithSeverity(pgerr.SevNotice)
		n.Detail = strings.Join(lines, "\n")
		p.res.Notices = append(p.res.Notices, n)
	}
}

func (p *planner) dropSchemas(n *ast.DropStmt, cascade bool) error {
	for _, o := range items(n.Objects) {
		name := text(o)
		sc := p.st.SchemaByName(name)
		if sc == nil {
			if n.MissingOk {
				p.notice("schema %q does not exist, skipping", name)
				continue
			}
			return pgerr.New(pgerr.InvalidSchemaName, "schema %q does not exist", name)
		}
		if err := p.mayCreate(sc); err != nil && sc.OID < types.FirstUserOID {
			return err
		}
		if err := p.mustOwn(sc.Owner, "schema", name); err != nil {
			return err
		}
		var rels []*catalog.Relation
		var listed []string
		for _, r := range p.st.Relations() {
			if r.Schema == sc.OID {
				rels = append(rels, r)
				if r.Kind == catalog.KindIndex || r.Kind == catalog.KindSequence && r.Seq.OwnedTable != 0 {
					continue
				}
				listed = append(listed, p.described(r))
			}
		}
		for _, m := range p.st.Models() {
			if m.Schema == sc.OID {
				listed = append(listed, "model "+p.nameIn(m.Schema, m.Name))
			}
		}
		for _, e := range p.st.Enums() {
			if e.Schema == sc.OID {
				listed = append(listed, "type "+p.nameOfType(e))
			}
		}
		var funcs []*catalog.Function
		for _, f := range p.st.Functions() {
			if f.Schema == sc.OID {
				funcs, listed = append(funcs, f), append(listed, "function "+p.functions.Signature(f))
			}
		}
		if len(listed) > 0 && !cascade {
			return dependent("schema "+name, listed[0]+" depends on schema "+name)
		}
		was := len(p.res.Notices)
		var tables []*catalog.Relation
		for _, r := range rels {
			if r.Kind != catalog.KindIndex && !(r.Kind == catalog.KindSequence && r.Seq.OwnedTable != 0) {
				tables = append(tables, r)
			}
		}
		if len(tables) > 0 {
			if err := p.dropRelations(tables, true); err != nil {
				return err
			}
		}
		funcs = slices.DeleteFunc(funcs, func(f *catalog.Function) bool { return p.st.Function(f.OID) == nil })
		gone, err := p.functions.Remove(funcs, "", true)
		if err != nil {
			return err
		}
		listed = append(listed, gone...)
		for _, e := range p.st.Enums() {
			if e.Schema == sc.OID {
				gone, err := p.dropUses(e, true)
				if err != nil {
					return err
				}
				listed = append(listed, gone...)
			}
		}
		p.res.Notices = p.res.Notices[:was]
		p.cascadeNotice(listed)
		for _, m := range p.st.Models() {
			if m.Schema == sc.OID {
				if err := p.add(&catalog.DropModel{OID: m.OID}); err != nil {
					return err
				}
			}
		}
		for _, e := range p.st.Enums() {
			if e.Schema == sc.OID {
				if err := p.add(&catalog.DropEnum{OID: e.OID}); err != nil {
					return err
				}
			}
		}
		if err := p.add(&catalog.DropSchema{OID: sc.OID}); err != nil {
			return err
		}
	}
	return nil
}

func (p *planner) truncate(n *ast.TruncateStmt) error {
	p.res.Tag = "TRUNCATE TABLE"
	var rels []*catalog.Relation
	for _, o := range items(n.Relations) {
		rv, ok := o.(*ast.RangeVar)
		if !ok {
			continue
		}
		rel, err := p.existing(rv)
		if err != nil {
			return err
		}
		if rel.Kind != catalog.KindTable {
			return pgerr.New(pgerr.WrongObjectType, "%q is not a table", rel.Name)
		}
		if !p.may(rel.Object(), 'D') {
			return plan.Denied(rel)
		}
		rels = append(rels, rel)
	}
	rels, err := p.truncateWith(rels, n.Behavior == ast.DropCascade)
	if err != nil {
		return err
	}
	for _, rel := range rels {
		if err := p.add(&catalog.Truncate{Table: rel.OID, ExpectVersion: rel.Version}); err != nil {
			return err
		}
		if err := p.removedKeys(rel); err != nil {
			return err
		}
		if !n.RestartSeqs {
			continue
		}
		for _, r := range p.st.Relations() {
			if r.Kind == catalog.KindSequence && r.Seq.OwnedTable == rel.OID {
				// A new descriptor makes all nodes drop the values they hold (package sequence).
				if err := p.add(&catalog.PutRelation{Rel: r.Clone(), ExpectVersion: r.Version}); err != nil {
					return err
				}
				if err := p.add(&catalog.SetSequence{OID: r.OID, Value: catalog.SeqValue{Last: r.Seq.Start}}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
