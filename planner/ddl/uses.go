package ddl

import (
	"slices"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/sql/catalog"
)

// dropUses drops the columns of a type, and then the views that still have one, and describes them.
func (p *planner) dropUses(e *catalog.EnumType, cascade bool) (gone []string, err error) {
	was := len(p.res.Notices)
	var callers []*catalog.Function
	for _, f := range p.st.Functions() {
		if slices.ContainsFunc(f.DependsOn, func(d catalog.Dep) bool { return d.OID == e.OID }) {
			desc := "function " + p.functions.Signature(f)
			if !cascade {
				return nil, dependent("type "+p.nameOfType(e), desc+" depends on type "+p.nameOfType(e))
			}
			gone, callers = append(gone, desc), append(callers, f)
		}
	}
	more, err := p.functions.Remove(callers, "", true)
	if err != nil {
		return nil, err
	}
	gone = append(gone, more...)
	for _, tables := range []bool{true, false} {
		for _, r := range p.st.Relations() {
			for r = p.st.RelationByOID(r.OID); r != nil && (r.Kind == catalog.KindTable) == tables; r = p.st.RelationByOID(r.OID) {
				cols := r.Live()
				i := slices.IndexFunc(cols, func(c catalog.Column) bool { return c.Type.OID == e.OID || c.Type.OID == e.ArrayOID })
				if i < 0 {
					break
				}
				desc := "column " + cols[i].Name + " of " + p.described(r)
				if !cascade {
					return nil, dependent("type "+p.nameOfType(e), desc+" depends on type "+p.nameOfType(e))
				}
				if !tables {
					gone = append(gone, p.described(r))
					if err := p.dropRelations([]*catalog.Relation{r}, true); err != nil {
						return nil, err
					}
					continue
				}
				a := &alteration{p: p, old: r, t: &tableBuilder{p: p, rel: r.Clone(), schema: p.st.Schema(r.Schema), alter: true}}
				if err := a.dropColumn(&ast.AlterTableCmd{Name: cols[i].Name, Behavior: ast.DropCascade}); err != nil {
					return nil, err
				}
				gone = append(append(gone, desc), a.cascaded...)
				if err := a.finish(); err != nil {
					return nil, err
				}
			}
		}
	}
	p.res.Notices = p.res.Notices[:was] // what they drop is told with the type
	return gone, nil
}

// RemoveUses drops the views, defaults, constraints, columns, indexes and models that call a function. depends is told
// of each first, and may refuse.
func (p functionHost) RemoveUses(f *catalog.Function, depends func(what string) error) error {
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
	for _, m := range p.st.Models() {
		if !slices.ContainsFunc(m.Versions, func(v catalog.ModelVersion) bool { return slices.Contains(bind.CalledByModel(p.env.Bind, &v), f.OID) }) {
			continue
		}
		if err := depends("model " + p.nameIn(m.Schema, m.Name)); err != nil {
			return err
		}
		if err := p.add(&catalog.DropModel{OID: m.OID}); err != nil {
			return err
		}
	}
	p.res.Notices = p.res.Notices[:was] // what they drop is told with the function
	return nil
}

// removeTableUses is RemoveUses in a table's descriptor.
func (p functionHost) removeTableUses(f *catalog.Function, r *catalog.Relation, depends func(what string) error) error {
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
		a := &alteration{p: p.planner, old: now, t: &tableBuilder{p: p.planner, rel: now.Clone(), schema: p.st.Schema(r.Schema), alter: true}}
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
func (p functionHost) callsAny(f *catalog.Function, over *catalog.Relation, list []string, kind bind.ScalarKind) bool {
	for _, s := range list {
		if s != "" && strings.Contains(strings.ToLower(s), strings.ToLower(f.Name)) && slices.Contains(bind.Called(p.env.Bind, s, over, kind), f.OID) {
			return true
		}
	}
	return false
}
