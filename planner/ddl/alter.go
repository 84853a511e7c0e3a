package ddl

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func (p *planner) alterTable(n *ast.AlterTableStmt) error {
	old, err := p.changed(n.Relation, n.Objtype, n.MissingOk)
	if old == nil {
		return err
	}
	if is := kindOf(n.Objtype); is != 0 && is != old.Kind {
		return notOfKind(old, is)
	}
	a := &alteration{p: p, old: old, t: &tableBuilder{p: p, rel: old.Clone(), schema: p.st.Schema(old.Schema), alter: true}}
	for _, c := range items(n.Cmds) {
		if cmd, ok := c.(*ast.AlterTableCmd); ok {
			if err := a.command(cmd); err != nil {
				return err
			}
		}
	}
	return a.finish()
}

// alteration is one ALTER TABLE: its commands change a clone of the descriptor,
// which is put once.
type alteration struct {
	p        *planner
	old      *catalog.Relation
	t        *tableBuilder
	anew     bool             // all rows are written again
	using    map[int16]string // text of USING
	drops    []types.OID      // indexes and sequences
	cascaded []string         // what goes with a column or a key, for the notice
	freed    []reference      // foreign keys of other tables that go
}

func (a *alteration) column(name string) (*catalog.Column, error) {
	if c := a.t.rel.Column(name); c != nil {
		return c, nil
	}
	return nil, pgerr.New(pgerr.UndefinedColumn, "column %q of relation %q does not exist", name, a.t.rel.Name)
}

func (a *alteration) command(c *ast.AlterTableCmd) error {
	rel := a.t.rel
	if rel.Kind != catalog.KindTable {
		switch c.Subtype {
		case ast.AT_ChangeOwner, ast.AT_ColumnDefault, ast.AT_SetRelOptions, ast.AT_ResetRelOptions:
		default:
			return pgerr.New(pgerr.WrongObjectType, "ALTER action %s cannot be performed on relation %q", actionName(c.Subtype), rel.Name).
				WithDetail("This operation is not supported for %ss.", kindName(rel.Kind))
		}
	}
	switch c.Subtype {
	case ast.AT_AddColumn:
		return a.addColumn(c)
	case ast.AT_DropColumn:
		return a.dropColumn(c)
	case ast.AT_ColumnDefault:
		col, err := a.column(c.Name)
		if err != nil {
			return err
		}
		if col.Identity != 0 {
			err := pgerr.New(pgerr.SyntaxError, "column %q of relation %q is an identity column", col.Name, rel.Name)
			if c.Def == nil {
				err = err.WithHint("Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead.")
			}
			return err
		}
		if col.Generated != "" {
			err := pgerr.New(pgerr.SyntaxError, "column %q of relation %q is a generated column", col.Name, rel.Name)
			if c.Def == nil {
				err = err.WithHint("Use ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION instead.")
			}
			return err
		}
		if c.Def == nil {
			col.Default, col.Sequence = "", 0
			return nil
		}
		if col.Default, err = bind.KeptText(a.p.env.Bind, c.Def); err != nil {
			return err
		}
		a.t.exprs = append(a.t.exprs, exprCheck{text: col.Default, column: col.Name, kind: "DEFAULT", typ: col.Type})
		return nil
	case ast.AT_SetNotNull:
		col, err := a.column(c.Name)
		if err != nil {
			return err
		}
		if !col.NotNull {
			col.NotNull = true
			a.p.checkNotNull(rel, col.Num)
		}
		return nil
	case ast.AT_DropNotNull:
		col, err := a.column(c.Name)
		if err != nil {
			return err
		}
		if pk := rel.PrimaryKey(); pk != nil && slices.Contains(pk.Columns, col.Num) {
			return pgerr.New(pgerr.InvalidTableDefinition, "column %q is in a primary key", col.Name)
		}
		if col.Identity != 0 {
			return pgerr.New(pgerr.SyntaxError, "column %q of relation %q is an identity column", col.Name, rel.Name)
		}
		col.NotNull = false
		return nil
	case ast.AT_AlterColumnType:
		return a.alterType(c)
	case ast.AT_AddConstraint:
		con, ok := c.Def.(*ast.Constraint)
		if !ok {
			return pgerr.Unsupported("this constraint is not supported")
		}
		return a.t.constraint(pending{c: con})
	case ast.AT_DropConstraint:
		return a.dropConstraint(c)
	case ast.AT_AlterConstraint:
		con, ok := c.Def.(*ast.Constraint)
		if !ok {
			return pgerr.Unsupported("this ALTER TABLE action is not supported")
		}
		i := slices.IndexFunc(rel.Constraints, func(k catalog.Constraint) bool { return k.Name == con.Conname })
		if i < 0 {
			return pgerr.New(pgerr.UndefinedObject, "constraint %q of relation %q does not exist", con.Conname, rel.Name)
		}
		if rel.Constraints[i].Kind != 'f' {
			return pgerr.New(pgerr.WrongObjectType, "constraint %q of relation %q is not a foreign key constraint", con.Conname, rel.Name)
		}
		rel.Constraints[i].Deferrable, rel.Constraints[i].InitiallyDeferred = con.Deferrable || con.Initdeferred, con.Initdeferred
		return nil
	case ast.AT_ValidateConstraint:
		i := slices.IndexFunc(rel.Constraints, func(k catalog.Constraint) bool { return k.Name == c.Name })
		if i < 0 {
			return pgerr.New(pgerr.UndefinedObject, "constraint %q of relation %q does not exist", c.Name, rel.Name)
		}
		k := &rel.Constraints[i]
		if k.Kind != 'f' && k.Kind != 'c' {
			return pgerr.New(pgerr.WrongObjectType, "constraint %q of relation %q is not a foreign key or check constraint", c.Name, rel.Name)
		}
		if k.NotValid {
			k.NotValid = false
			a.recheck(k)
		}
		return nil
	case ast.AT_AddIdentity:
		return a.addIdentity(c)
	case ast.AT_SetIdentity:
		return a.setIdentity(c)
	case ast.AT_DropIdentity:
		col, err := a.column(c.Name)
		if err != nil {
			return err
		}
		if col.Identity == 0 {
			if c.MissingOk {
				a.p.notice("column %q of relation %q is not an identity column, skipping", col.Name, rel.Name)
				return nil
			}
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "column %q of relation %q is not an identity column", col.Name, rel.Name)
		}
		seq := a.p.st.RelationByOID(col.Sequence)
		col.Identity, col.Sequence = 0, 0
		return a.dropSequence(seq, "sequence "+seq.Name, false)
	case ast.AT_DropExpression:
		col, err := a.column(c.Name)
		if err != nil {
			return err
		}
		if col.Generated == "" {
			if c.MissingOk {
				a.p.notice("column %q of relation %q is not a stored generated column, skipping", col.Name, rel.Name)
				return nil
			}
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "column %q of relation %q is not a stored generated column", col.Name, rel.Name)
		}
		col.Generated = ""
		return nil
	case ast.AT_ChangeOwner:
		oid, err := a.p.roleSpec(c.Newowner)
		if err != nil {
			return err
		}
		if err := a.p.mayReceive(oid, a.t.schema); err != nil {
			return err
		}
		reown(rel, oid)
		return a.p.ownSequences(rel.OID, oid)
	case ast.AT_SetRelOptions:
		l, _ := c.Def.(*ast.NodeList)
		if rel.Kind == catalog.KindView {
			opts, err := viewOptions(l)
			if err != nil {
				return err
			}
			set := map[string]string{}
			maps.Copy(set, rel.Options)
			maps.Copy(set, opts)
			rel.Options = set
			return nil
		}
		was := rel.Partitions
		rel.Options = maps.Clone(rel.Options) // a clone of a descriptor shares them
		if err := a.p.tableOptions(rel, l); err != nil {
			return err
		}
		if rel.Partitions != was {
			return pgerr.Unsupported("the number of partitions is not a storage parameter to set").WithHint("Use ALTER TABLE %s REPARTITION INTO n.", rel.Name)
		}
		key := rel.DistributionKey
		if err := a.p.distributionOf(rel); err != nil {
			return err
		}
		a.anew = a.anew || !slices.Equal(key, rel.DistributionKey)
		return nil
	case ast.AT_ResetRelOptions:
		l, _ := c.Def.(*ast.NodeList)
		opts := map[string]string{}
		for k, v := range rel.Options {
			opts[k] = v
		}
		for _, o := range items(l) {
			if d, ok := o.(*ast.DefElem); ok {
				delete(opts, d.Defname)
				if d.Defname == distributionOption {
					rel.DistributionKey = nil
				}
			}
		}
		rel.Options = opts
		return nil
	}
	return pgerr.Unsupported("ALTER action %s is not supported", actionName(c.Subtype))
}

func (a *alteration) addColumn(c *ast.AlterTableCmd) error {
	def, ok := c.Def.(*ast.ColumnDef)
	if !ok {
		return pgerr.Unsupported("ADD COLUMN needs a column definition")
	}
	if a.t.rel.Column(def.Colname) != nil && c.MissingOk {
		a.p.res.Notices = append(a.p.res.Notices, pgerr.New(pgerr.DuplicateColumn, "column %q of relation %q already exists, skipping", def.Colname, a.t.rel.Name).WithSeverity(pgerr.SevNotice))
		return nil
	}
	later := len(a.t.later)
	if err := a.t.column(def); err != nil {
		return err
	}
	col := &a.t.rel.Columns[len(a.t.rel.Columns)-1]
	switch {
	case col.Default != "" || col.Generated != "" || col.Identity != 0:
		// Rows that are there get the value too. A constant could be kept as the
		// column's Missing value; computing it is right for every expression.
		a.anew = true
	case col.NotNull:
		a.p.checkNotNull(a.t.rel, col.Num)
	}
	todo := a.t.later[later:]
	a.t.later = a.t.later[:later]
	return a.t.constraints(todo)
}

func (a *alteration) dropColumn(c *ast.AlterTableCmd) error {
	p, rel := a.p, a.t.rel
	col := rel.Column(c.Name)
	if col == nil {
		if c.MissingOk {
			p.notice("column %q of relation %q does not exist, skipping", c.Name, rel.Name)
			return nil
		}
		_, err := a.column(c.Name)
		return err
	}
	if err := inDistribution(rel, col, "drop"); err != nil {
		return err
	}
	cascade := c.Behavior == ast.DropCascade
	of := fmt.Sprintf("column %s of %s", col.Name, p.described(rel))
	var views []*catalog.Relation
	for _, x := range p.st.Relations() {
		if (x.Kind == catalog.KindView || x.Kind == catalog.KindMatView) && slices.Contains(x.DependsOn, catalog.Dep{OID: rel.OID, Column: col.Num}) {
			if !cascade {
				return dependent(of, p.described(x)+" depends on "+of)
			}
			views, a.cascaded = append(views, x), append(a.cascaded, p.described(x))
		}
	}
	made, err := a.generatedFrom(col)
	if err != nil {
		return err
	}
	for _, g := range made {
		if !cascade {
			return dependent(of, fmt.Sprintf("column %s of %s depends on %s", g, p.described(rel), of))
		}
		a.cascaded = append(a.cascaded, fmt.Sprintf("column %s of %s", g, p.described(rel)))
		if err := a.dropColumn(&ast.AlterTableCmd{Name: g, Behavior: c.Behavior}); err != nil {
			return err
		}
	}
	if len(views) > 0 {
		if err := p.dropRelations(views, true); err != nil {
			return err
		}
	}
	refs := p.references(rel, func(k *catalog.Constraint) bool { return slices.Contains(k.RefCols, col.Num) })
	if len(refs) > 0 && !cascade {
		return dependent(of, p.describedKey(refs[0])+" depends on "+of)
	}
	a.freed = append(a.freed, refs...)
	// Constraints and indexes over the column go with it.
	rel.Constraints = slices.DeleteFunc(rel.Constraints, func(k catalog.Constraint) bool {
		if !slices.Contains(k.Columns, col.Num) && !(k.RefTable == rel.OID && slices.Contains(k.RefCols, col.Num)) {
			return false
		}
		if k.Index != 0 && k.Kind != 'f' {
			a.drops = append(a.drops, k.Index)
		}
		return true
	})
	delete(a.using, col.Num)
	col.Dropped = true
	col.NotNull, col.Default, col.Identity, col.Generated, col.Sequence = false, "", 0, "", 0
	col.Name = fmt.Sprintf("........pg.dropped.%d........", col.Num)
	for _, x := range p.st.Relations() {
		if x.Kind == catalog.KindIndex && x.Index.Table == rel.OID && !slices.Contains(a.drops, x.OID) {
			reads, err := p.indexReads(x.Index, a.old)
			if err != nil {
				return err
			}
			if slices.Contains(reads, col.Num) {
				a.drops = append(a.drops, x.OID)
			}
		}
		if x.Kind == catalog.KindSequence && x.Seq.OwnedTable == rel.OID && x.Seq.OwnedColumn == col.Num {
			if err := a.dropSequence(x, of, cascade); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropSequence drops a sequence that goes with a column, and with it the defaults of other columns that
// name it.
func (a *alteration) dropSequence(seq *catalog.Relation, of string, cascade bool) error {
	a.drops = append(a.drops, seq.OID)
	gone := map[types.OID]bool{seq.OID: true}
	descs, err := a.p.clearDefaults(a.t.rel, gone, of, cascade)
	if err != nil {
		return err
	}
	a.cascaded = append(a.cascaded, descs...)
	for _, t := range a.p.st.Relations() {
		if t.OID == a.t.rel.OID || !namesSequence(t, gone) {
			continue
		}
		up := t.Clone()
		if descs, err = a.p.clearDefaults(up, gone, of, cascade); err != nil {
			return err
		}
		a.cascaded = append(a.cascaded, descs...)
		if err := a.p.add(&catalog.PutRelation{Rel: up, ExpectVersion: t.Version}); err != nil {
			return err
		}
	}
	return nil
}

// generatedFrom names the generated columns that read another column.
func (a *alteration) generatedFrom(col *catalog.Column) (names []string, err error) {
	for _, g := range a.t.rel.Live() {
		if g.Generated == "" || g.Num == col.Num {
			continue
		}
		used, err := a.p.used(spot{}, g.Generated, a.t.rel, bind.ForGenerated)
		if err != nil {
			return nil, err
		}
		if slices.Contains(used, col.Num) {
			names = append(names, g.Name)
		}
	}
	return names, nil
}

// indexReads returns the columns of a table that an index is made of.
func (p *planner) indexReads(x *catalog.Index, over *catalog.Relation) ([]int16, error) {
	out := slices.Concat(x.Columns, x.Include)
	for i, e := range append(slices.Clone(x.Exprs), x.Where) {
		if e == "" {
			continue
		}
		kind := bind.ForIndex
		if i == len(x.Exprs) {
			kind = bind.ForPredicate
		}
		used, err := p.used(spot{}, e, over, kind)
		if err != nil {
			return nil, err
		}
		out = append(out, used...)
	}
	return out, nil
}

func (a *alteration) alterType(c *ast.AlterTableCmd) error {
	p, rel := a.p, a.t.rel
	col, err := a.column(c.Name)
	if err != nil {
		return err
	}
	if err := inDistribution(rel, col, "alter"); err != nil {
		return err
	}
	def, ok := c.Def.(*ast.ColumnDef)
	if !ok {
		return pgerr.Unsupported("ALTER COLUMN TYPE needs a type")
	}
	t, err := p.usableType(def.TypeName)
	if err != nil {
		return err
	}
	for _, x := range p.st.Relations() {
		if (x.Kind == catalog.KindView || x.Kind == catalog.KindMatView) && slices.Contains(x.DependsOn, catalog.Dep{OID: rel.OID, Column: col.Num}) {
			return pgerr.Unsupported("cannot alter type of a column used by a view or rule").
				WithDetail("rule _RETURN on view %s depends on column %q", x.Name, col.Name)
		}
	}
	if made, err := a.generatedFrom(col); err != nil {
		return err
	} else if len(made) > 0 {
		return pgerr.Unsupported("cannot alter type of a column used by a generated column").
			WithDetail("Column %q is used by generated column %q.", col.Name, made[0])
	}
	if def.RawDefault != nil && col.Generated != "" {
		return pgerr.New(pgerr.InvalidColumnDefinition, "cannot specify USING when altering type of generated column").
			WithDetail("Column %q is a generated column.", col.Name)
	}
	if err := p.convertible(def.RawDefault, a.old, col, t); err != nil {
		return err
	}
	same := def.RawDefault == nil && (col.Type == t || col.Generated == "" && col.Type.Widens(t))
	if col.Type == t && same {
		return nil // what is computed of it stays as it is
	}
	a.anew = a.anew || !same
	if def.RawDefault != nil {
		if a.using == nil {
			a.using = map[int16]string{}
		}
		if a.using[col.Num], err = parse.Keep(def.RawDefault); err != nil {
			return err
		}
	}
	col.Type = t
	if col.Default != "" {
		a.t.exprs = append(a.t.exprs, exprCheck{text: col.Default, column: col.Name, kind: "DEFAULT", typ: t})
	}
	for i := range rel.Constraints {
		k := &rel.Constraints[i]
		if same && k.Kind != 'c' { // equal values are equal in both types
			continue
		}
		if k.Kind == 'f' && (slices.Contains(k.Columns, col.Num) || k.RefTable == rel.OID && slices.Contains(k.RefCols, col.Num)) {
			parent := rel
			if k.RefTable != rel.OID {
				parent = p.st.RelationByOID(k.RefTable)
			}
			if err := a.t.suits(parent, k); err != nil {
				return err
			}
			a.recheck(k)
		}
		if !slices.Contains(k.Columns, col.Num) || k.Kind == 'f' {
			continue
		}
		if k.Kind == 'c' { // it may mean something else now, or nothing
			a.t.exprs = append(a.t.exprs, exprCheck{text: k.Check, column: col.Name, kind: "CHECK", typ: types.Bool, allowCols: true})
		}
		if !k.NotValid {
			a.recheck(k)
		}
	}
	for _, ref := range p.references(rel, func(k *catalog.Constraint) bool { return slices.Contains(k.RefCols, col.Num) }) {
		if err := (&tableBuilder{p: p, rel: ref.child}).suits(rel, ref.key); err != nil {
			return err
		}
		p.foreignCheck(ref.child, rel, ref.key)
	}
	return nil
}

// recheck has the rows looked at that a constraint of the table may not hold for.
func (a *alteration) recheck(k *catalog.Constraint) {
	if k.Kind != 'f' {
		a.p.check(a.t.rel, k)
		return
	}
	parent := a.t.rel
	if k.RefTable != parent.OID {
		parent = a.p.st.RelationByOID(k.RefTable)
	}
	a.p.foreignCheck(a.t.rel, parent, k)
}

func (a *alteration) dropConstraint(c *ast.AlterTableCmd) error {
	rel := a.t.rel
	i := slices.IndexFunc(rel.Constraints, func(k catalog.Constraint) bool { return k.Name == c.Name && k.Kind != 'i' && k.Kind != 'e' })
	if i < 0 {
		if c.MissingOk {
			a.p.notice("constraint %q of relation %q does not exist, skipping", c.Name, rel.Name)
			return nil
		}
		return pgerr.New(pgerr.UndefinedObject, "constraint %q of relation %q does not exist", c.Name, rel.Name)
	}
	if k := rel.Constraints[i]; k.Index != 0 && k.Kind != 'f' {
		refs := a.p.references(rel, func(f *catalog.Constraint) bool { return f.Index == k.Index })
		own := slices.IndexFunc(rel.Constraints, func(f catalog.Constraint) bool { return f.Kind == 'f' && f.Index == k.Index })
		if c.Behavior != ast.DropCascade && (len(refs) > 0 || own >= 0) {
			by := reference{rel, nil}
			if own >= 0 {
				by.key = &rel.Constraints[own]
			} else {
				by = refs[0]
			}
			return dependent(fmt.Sprintf("constraint %s on %s", k.Name, a.p.described(rel)), fmt.Sprintf("%s depends on index %s", a.p.describedKey(by), k.Name))
		}
		a.freed = append(a.freed, refs...)
		a.drops = append(a.drops, k.Index)
		rel.Constraints = slices.DeleteFunc(rel.Constraints, func(f catalog.Constraint) bool { return f.Index == k.Index })
		return nil
	}
	rel.Constraints = slices.Delete(rel.Constraints, i, i+1)
	return nil
}

func (a *alteration) addIdentity(c *ast.AlterTableCmd) error {
	col, err := a.column(c.Name)
	if err != nil {
		return err
	}
	con, ok := c.Def.(*ast.Constraint)
	if !ok {
		return pgerr.Unsupported("ADD GENERATED needs an identity")
	}
	switch {
	case !col.NotNull:
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "column %q of relation %q must be declared NOT NULL before identity can be added", col.Name, a.t.rel.Name)
	case col.Identity != 0:
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "column %q of relation %q is already an identity column", col.Name, a.t.rel.Name)
	case col.Default != "":
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "column %q of relation %q already has a default value", col.Name, a.t.rel.Name)
	}
	if col.Identity = con.GeneratedWhen; col.Identity != 'a' {
		col.Identity = 'd'
	}
	return a.t.identity(col, con.Options)
}

// setIdentity changes an identity column: when it is given a value, and its sequence.
func (a *alteration) setIdentity(c *ast.AlterTableCmd) error {
	col, err := a.column(c.Name)
	if err != nil {
		return err
	}
	if col.Identity == 0 {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "column %q of relation %q is not an identity column", col.Name, a.t.rel.Name)
	}
	opts := ast.NewNodeList()
	l, _ := c.Def.(*ast.NodeList)
	for _, o := range items(l) {
		d, ok := o.(*ast.DefElem)
		if !ok || d.Defname != "generated" {
			opts.Append(o)
			continue
		}
		if col.Identity = 'd'; text(d.Arg) == strconv.Itoa('a') {
			col.Identity = 'a'
		}
	}
	seq := a.p.st.RelationByOID(col.Sequence)
	if seq == nil {
		return pgerr.Unsupported("an identity column cannot be changed by the statement that makes it")
	}
	return a.p.changeSequence(seq, opts)
}

// finish makes the changes: sequences, the descriptor, indexes, and the query
// that computes the new rows.
func (a *alteration) finish() error {
	p, rel := a.p, a.t.rel
	if err := a.t.checkExprs(); err != nil {
		return err
	}
	if err := p.add(a.t.first...); err != nil {
		return err
	}
	if a.anew && len(rel.Live()) > 0 {
		if err := p.rewrite(a.old, rel, a.using, 0); err != nil {
			return err
		}
	}
	if err := p.add(&catalog.PutRelation{Rel: rel, ExpectVersion: a.old.Version}); err != nil {
		return err
	}
	if err := p.unreferenced(a.old, rel); err != nil {
		return err
	}
	for _, ref := range a.freed {
		a.cascaded = append(a.cascaded, p.describedKey(ref))
	}
	p.cascadeNotice(a.cascaded)
	if err := p.dropReferences(a.freed); err != nil {
		return err
	}
	for _, oid := range a.drops {
		if p.st.RelationByOID(oid) != nil {
			if err := p.add(&catalog.DropRelation{OID: oid}); err != nil {
				return err
			}
		}
	}
	return p.add(a.t.after...)
}
