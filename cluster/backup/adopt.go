package backup

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Adoption takes an object of a backup's state into the state of a cluster that runs, with OIDs and files of its own.
// It plans; the files, and the commit, are the caller's matter.
type Adoption struct {
	Old, Now *catalog.State
	Schema   *catalog.Schema // where the object comes, of Now
	Name     string
	Owner    types.OID // of what belonged to a role that Now does not have
	NewOID   func() (types.OID, error)
	// SameFiles leaves the files as they are: for a state beside the one that has them, as Only makes it.
	SameFiles bool
	// Keep leaves objects the OIDs that they had, where nothing has them now; Old is then the past of Now.
	Keep bool

	// Outside has what a schema needs outside of it, and is not there, named by objects that have nothing else: for a state beside
	// the one that has them.
	Outside bool

	// Changes make the object, as the caller commits them. Files are those of their segments, whose Nodes are to be
	// set; From are the backup's own descriptions of these.
	Changes  []catalog.Change
	Files    []*catalog.Segment
	From     map[*catalog.Segment]*catalog.Segment
	Warnings []*pgerr.Error

	oids  map[types.OID]types.OID // of the objects that are made or were found, by the old ones
	names map[string]bool         // of relations made here
	// whole is the schema that is taken in with all that is in it, and inside the names of its relations and models; nil for a table
	// or model alone.
	whole  *catalog.Schema
	inside map[string]bool
	blobs  []blob
	err    error
}

// NewAdoption begins one; see the fields.
func NewAdoption(a Adoption) *Adoption {
	a.oids, a.names, a.From = map[types.OID]types.OID{}, map[string]bool{}, map[*catalog.Segment]*catalog.Segment{}
	return &a
}

// oid returns a new OID for an old object.
func (a *Adoption) oid(old types.OID) types.OID {
	if a.err != nil {
		return 0
	}
	if now, ok := a.oids[old]; ok {
		return now
	}
	if a.Keep && a.Now.RelationByOID(old) == nil && a.Now.EnumByOID(old) == nil {
		a.oids[old] = old
		return old
	}
	var now types.OID
	now, a.err = a.NewOID()
	a.oids[old] = now
	return now
}

func (a *Adoption) fail(err error) {
	if a.err == nil && err != nil {
		a.err = err
	}
}

// role returns the role of an old one's name.
func (a *Adoption) role(old types.OID) (types.OID, bool) {
	if old == 0 { // PUBLIC
		return 0, true
	}
	if r := a.Old.Role(old); r != nil {
		if now := a.Now.RoleByName(r.Name); now != nil {
			return now.OID, true
		}
	}
	return 0, false
}

func (a *Adoption) owner(old types.OID) types.OID {
	if now, ok := a.role(old); ok && now != 0 {
		return now
	}
	return a.Owner
}

// grants are the old ones of roles that there are.
func (a *Adoption) grants(old []catalog.Grant) (out []catalog.Grant) {
	for _, g := range old {
		to, known := a.role(g.Role)
		if by, ok := a.role(g.Grantor); ok && known {
			out = append(out, catalog.Grant{Role: to, Grantor: by, Privs: g.Privs})
		}
	}
	return out
}

func (a *Adoption) comment(old, now catalog.Dep) {
	if text := a.Old.Comment(old); text != "" {
		a.Changes = append(a.Changes, &catalog.PutComment{On: now, Text: text})
	}
}

// Table plans to take in a table, with its indexes, constraints, sequences and rows.
func (a *Adoption) Table(old *catalog.Relation) error {
	if old.Kind != catalog.KindTable {
		return pgerr.New(pgerr.WrongObjectType, "%q is not a table", old.Name)
	}
	if a.Now.Relation(a.Schema.OID, a.Name) != nil {
		hint := "Give another name: RESTORE TABLE … AS name FROM …."
		if a.Keep {
			hint = "Give another name: UNDROP TABLE … RENAME TO name."
		}
		return pgerr.New(pgerr.DuplicateTable, "relation %q already exists", a.Name).WithHint("%s", hint)
	}
	a.names[a.Name] = true
	rel := old.Clone()
	rel.OID, rel.Schema, rel.Name, rel.Owner, rel.ACL, rel.ReferencedBy = a.oid(old.OID), a.Schema.OID, a.Name, a.owner(old.Owner), a.grants(old.ACL), a.referrers(old)
	sequences, indexes := a.owned(old, rel)
	for i := range rel.Columns {
		a.column(&rel.Columns[i], sequences)
	}
	a.constraints(old, rel, indexes)
	rel.DependsOn = a.depends(old.Name, old.DependsOn, old)
	var changes []catalog.Change
	for _, s := range sequences {
		changes = append(changes, &catalog.PutRelation{Rel: s.now}, &catalog.SetSequence{OID: s.now.OID, Value: a.Old.SequenceAt(s.old.OID)})
	}
	changes = append(changes, &catalog.PutRelation{Rel: rel})
	for _, x := range indexes {
		x.now.DependsOn = a.depends(x.old.Name, x.old.DependsOn, nil)
		changes = append(changes, &catalog.PutRelation{Rel: x.now})
	}
	a.Changes = append(a.Changes, changes...)
	a.comment(catalog.Dep{OID: old.OID}, catalog.Dep{OID: rel.OID})
	for _, c := range old.Columns {
		a.comment(catalog.Dep{OID: old.OID, Column: c.Num}, catalog.Dep{OID: rel.OID, Column: c.Num})
	}
	for _, c := range old.Constraints {
		if now, made := a.oids[c.OID]; made {
			a.comment(catalog.Dep{OID: c.OID}, catalog.Dep{OID: now})
		}
	}
	for _, m := range append(sequences, indexes...) {
		a.comment(catalog.Dep{OID: m.old.OID}, catalog.Dep{OID: m.now.OID})
	}
	a.rows(old, rel)
	return a.err
}

// made is a relation beside the table.
type made struct{ old, now *catalog.Relation }

// owned are the table's own sequences and its indexes.
func (a *Adoption) owned(old, rel *catalog.Relation) (sequences, indexes []made) {
	for _, r := range a.Old.Relations() {
		switch {
		case r.Kind == catalog.KindSequence && r.Seq.OwnedTable == old.OID:
			now := a.beside(r, old.Name)
			seq := *r.Seq
			seq.OwnedTable, now.Seq, now.DependsOn = rel.OID, &seq, nil
			sequences = append(sequences, made{r, now})
		case r.Kind == catalog.KindIndex && r.Index.Table == old.OID:
			now := a.beside(r, old.Name)
			index := *r.Index
			index.Table, index.Where, index.Exprs, now.Index = rel.OID, a.expr(index.Where), slices.Clone(index.Exprs), &index
			for i := range index.Exprs {
				index.Exprs[i] = a.expr(index.Exprs[i])
			}
			indexes = append(indexes, made{r, now})
		}
	}
	return sequences, indexes
}

// beside is a copy of a relation that belongs to a table. A name that begins with the table's follows it.
func (a *Adoption) beside(old *catalog.Relation, table string) *catalog.Relation {
	now := old.Clone()
	now.OID, now.Schema, now.Owner, now.ACL = a.oid(old.OID), a.Schema.OID, a.owner(old.Owner), a.grants(old.ACL)
	base := old.Name
	if rest, ok := strings.CutPrefix(base, table+"_"); ok {
		base = a.Name + "_" + rest
	}
	for i := 0; ; i++ {
		suffix := ""
		if i > 0 {
			suffix = strconv.Itoa(i)
		}
		now.Name = types.TruncateName(base[:min(len(base), 63-len(suffix))]) + suffix
		if !a.names[now.Name] && a.Now.Relation(a.Schema.OID, now.Name) == nil {
			a.names[now.Name] = true
			return now
		}
	}
}

// column makes a column one of the new table.
func (a *Adoption) column(c *catalog.Column, sequences []made) {
	c.Type, c.ACL = a.typeOf(c.Type), a.grants(c.ACL)
	if v, ok := c.Missing.(types.Array); ok {
		v.Elem = a.typeOf(v.Elem)
		c.Missing = v
	}
	if c.Sequence != 0 {
		c.Sequence = a.oids[c.Sequence]
	}
	for _, s := range sequences {
		was := lex.QuoteIdent(a.Old.Schema(s.old.Schema).Name) + "." + lex.QuoteIdent(s.old.Name)
		c.Default = strings.ReplaceAll(c.Default, "'"+was+"'", "'"+lex.QuoteIdent(a.Schema.Name)+"."+lex.QuoteIdent(s.now.Name)+"'")
	}
	c.Default, c.Generated = a.expr(c.Default), a.expr(c.Generated)
}

// referrers are the tables that refer to one and come with it.
func (a *Adoption) referrers(old *catalog.Relation) (out []types.OID) {
	if a.whole == nil {
		return nil
	}
	for _, oid := range old.ReferencedBy {
		if now, made := a.oids[oid]; made {
			out = append(out, now)
		}
	}
	slices.Sort(out)
	return out
}

// constraints makes a table's constraints those of the new one. A foreign key to a table that does not come with it is left out: the rows
// that it refers to may be others by now.
func (a *Adoption) constraints(old, rel *catalog.Relation, indexes []made) {
	rel.Constraints = nil
	for _, c := range old.Constraints {
		ref, made := a.oids[c.RefTable]
		if c.Kind == 'f' && a.whole != nil && made {
			c.RefTable = ref
		} else if c.Kind == 'f' {
			a.Warnings = append(a.Warnings, pgerr.New(pgerr.Warning, "foreign key %q is not restored", c.Name).WithSeverity(pgerr.SevWarning).
				WithHint("Add it with ALTER TABLE, which checks the rows."))
			continue
		}
		c.OID, c.Check = a.oid(c.OID), a.expr(c.Check)
		for _, x := range indexes {
			if c.Index == x.old.OID {
				c.Index = x.now.OID
				if c.Name == x.old.Name {
					c.Name = x.now.Name
				}
				break
			}
		}
		rel.Constraints = append(rel.Constraints, c)
	}
}

// depends are what an object of a name depends on, as it is now. What is not there any more is an error, unless only a foreign key of
// the table rel, which may be nil, refers to it.
func (a *Adoption) depends(name string, on []catalog.Dep, rel *catalog.Relation) (out []catalog.Dep) {
	for _, d := range on {
		if _, made := a.oids[d.OID]; !made && rel != nil && a.foreign(rel, d.OID) {
			continue
		}
		if d.OID = a.now(name, d.OID); d.OID != 0 {
			out = append(out, d)
		}
	}
	return out
}

// foreign reports whether a foreign key of a table refers to another.
func (a *Adoption) foreign(rel *catalog.Relation, to types.OID) bool {
	return slices.ContainsFunc(rel.Constraints, func(c catalog.Constraint) bool { return c.Kind == 'f' && c.RefTable == to })
}

// typeOf returns the type of Now that an old one is: for an enumerated type that of the same name, which is made if there
// is none, and must have the same labels if there is.
func (a *Adoption) typeOf(t types.Type) types.Type {
	old := a.Old.EnumByOID(t.OID)
	if old == nil {
		return t
	}
	now, known := a.oids[old.OID]
	if !known {
		sc := a.Old.Schema(old.Schema)
		here := a.Now.SchemaByName(sc.Name)
		if here == nil {
			a.fail(pgerr.New(pgerr.InvalidSchemaName, "schema %q does not exist", sc.Name).WithDetail("Type %q belongs there.", old.Name))
			return t
		}
		if e := a.Now.Enum(here.OID, old.Name); e == nil {
			now = a.enum(old, here.OID)
		} else if !slices.Equal(e.Labels, old.Labels) {
			a.fail(pgerr.New(pgerr.DatatypeMismatch, "type %q has other labels than in the backup", old.Name).
				WithDetail("They were %s.", strings.Join(old.Labels, ", ")))
		} else {
			a.oids[old.OID], now = e.OID, e.OID
		}
	}
	if t.OID == old.ArrayOID {
		now |= types.UserArrayBit
	}
	t.OID = now
	return t
}

// enum plans to take in an enumerated type.
func (a *Adoption) enum(old *catalog.EnumType, schema types.OID) types.OID {
	now := a.oid(old.OID)
	a.Changes = append(a.Changes, &catalog.PutEnum{Enum: &catalog.EnumType{OID: now, ArrayOID: now | types.UserArrayBit, Schema: schema, Name: old.Name,
		Owner: a.owner(old.Owner), ACL: a.grants(old.ACL), Labels: old.Labels}})
	a.comment(catalog.Dep{OID: old.OID}, catalog.Dep{OID: now})
	return now
}

// file is a file of the backup under an id of its own.
func (a *Adoption) file(old *catalog.Segment) *catalog.Segment {
	if a.SameFiles {
		return old
	}
	now := *old
	now.ID, now.Nodes = store.NewID(), nil
	if now.Inline == nil {
		a.Files, a.From[&now] = append(a.Files, &now), old
	}
	return &now
}

// rows plans to take in a table's rows.
func (a *Adoption) rows(old, rel *catalog.Relation) {
	m := a.Old.Manifest(old.OID)
	if m == nil {
		a.fail(pgerr.New(pgerr.DataCorrupted, "the backup has no rows of table %q", old.Name))
		return
	}
	for p, segs := range m.Partitions {
		var list []*catalog.Segment
		for _, g := range segs {
			now := a.file(g)
			if !a.SameFiles {
				now.Xmin, now.First = a.Now.Xmin(), 0
			}
			list = append(list, now)
		}
		if list != nil {
			a.Changes = append(a.Changes, &catalog.AppendSegments{Table: rel.OID, Part: p, Segments: list})
		}
	}
}

// Model plans to take in a model with all of its versions, whose files Adopted sets once they are there.
func (a *Adoption) Model(old *catalog.Model) error {
	if len(old.Versions) == 0 { // it is only named
		return pgerr.New(pgerr.UndefinedObject, "model %q is not in the backup", old.Name)
	}
	if a.Now.Model(a.Schema.OID, a.Name) != nil {
		return pgerr.New(pgerr.DuplicateObject, "model %q already exists", a.Name).WithHint("Give another name: RESTORE MODEL … AS name FROM ….")
	}
	m := *old
	m.OID, m.Schema, m.Name, m.Owner, m.ACL, m.Version = a.oid(old.OID), a.Schema.OID, a.Name, a.owner(old.Owner), a.grants(old.ACL), 0
	m.Versions = slices.Clone(old.Versions)
	for i := range m.Versions {
		v := &m.Versions[i]
		for _, f := range slices.Concat(v.Features, v.Outputs, []catalog.ModelFeature{{Type: v.TargetType}}) {
			if a.Old.EnumByOID(f.Type.OID) != nil {
				return pgerr.Unsupported("RESTORE of a model with columns of enumerated types is not supported").WithHint("RETRAIN or TRAIN it again; the same rows give the same model.")
			}
		}
		f := a.file(v.Blob())
		if f.Inline == nil {
			a.blobs = append(a.blobs, blob{v, f})
			v.File = f.ID
		}
	}
	a.Changes = append(a.Changes, &catalog.PutModel{Model: &m})
	a.comment(catalog.Dep{OID: old.OID}, catalog.Dep{OID: m.OID})
	return a.err
}

// Object is what a backup may have alone: a table, a model, or a schema with all that is in it.
type Object struct {
	Table  *catalog.Relation
	Model  *catalog.Model
	Schema *catalog.Schema
}

// Adopt plans to take in an object.
func (a *Adoption) Adopt(o Object) error {
	switch {
	case o.Table != nil:
		return a.Table(o.Table)
	case o.Model != nil:
		return a.Model(o.Model)
	}
	return a.Namespace(o.Schema)
}

// Only is a state with an object of another and what it needs: the roles, without their passwords, and the schemas that
// there are.
func Only(s *catalog.State, o Object) (*catalog.State, []*pgerr.Error, error) {
	var around []catalog.Change
	for _, r := range s.Roles() {
		bare := *r
		bare.Password, bare.ResourceGroup = "", 0
		around = append(around, &catalog.PutRole{Role: &bare})
	}
	for _, sc := range s.Schemas() {
		switch {
		case sc != o.Schema:
			around = append(around, &catalog.PutSchema{Schema: sc})
		case sc.OID == catalog.PublicOID: // which each new state has
			around = append(around, &catalog.DropSchema{OID: sc.OID})
		}
	}
	now, err := catalog.New().Apply(around)
	if err != nil {
		return nil, nil, err
	}
	next := types.FirstUserOID
	for _, r := range s.Roles() {
		next = max(next, r.OID)
	}
	for _, sc := range s.Schemas() {
		next = max(next, sc.OID)
	}
	a := NewAdoption(Adoption{Old: s, Now: now, Owner: catalog.BootstrapRoleOID, SameFiles: true, Outside: true, NewOID: func() (types.OID, error) {
		next++
		return next, nil
	}})
	switch {
	case o.Table != nil:
		a.Schema, a.Name = s.Schema(o.Table.Schema), o.Table.Name
	case o.Model != nil:
		a.Schema, a.Name = s.Schema(o.Model.Schema), o.Model.Name
	default:
		a.Name = o.Schema.Name
	}
	if err := a.Adopt(o); err != nil {
		return nil, nil, err
	}
	now, _, err = now.Commit(s.Version(), append([]catalog.Change{&catalog.SetCluster{ID: s.Cluster()}, &catalog.FinalizeVersion{Version: s.Finalized()}}, a.Changes...))
	return now, a.Warnings, err
}

// Adopted is called when the files are there and their Nodes known.
func (a *Adoption) Adopted() {
	for _, b := range a.blobs {
		b.version.Keep(b.file)
	}
}

// blob is the file of a model's version.
type blob struct {
	version *catalog.ModelVersion
	file    *catalog.Segment
}
