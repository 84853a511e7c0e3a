package sysview

import (
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

func pgNamespace(v *view, put put) error {
	for _, s := range v.st.Schemas() {
		if err := put(s.OID, s.Name, s.Owner, v.aclText(s.Object())); err != nil {
			return err
		}
	}
	return nil
}

func pgConstraint(v *view, put put) error {
	for _, r := range v.st.Relations() {
		for _, c := range shown(r) {
			index := c.Index
			upd, del, match := " ", " ", " "
			var keys, refs, eq, check any
			if c.Columns != nil {
				keys = c.Columns
			}
			switch c.Kind {
			case 'f':
				upd, del, match = action(c.OnUpdate), action(c.OnDelete), "s"
				if c.MatchFull {
					match = "f"
				}
				refs = c.RefCols
				if u := v.referenced(&c); u != nil {
					index = u.Index
				}
				eq = equalities(r, c.Columns)
			case 'c':
				check = c.Check
			}
			err := put(c.OID, c.Name, r.Schema, c.Kind, c.Deferrable, c.InitiallyDeferred, !c.NotValid, r.OID, 0, index, 0, c.RefTable,
				upd, del, match, true, 0, c.Kind != 'c', keys, refs, eq, eq, eq, nil, nil, check)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func action(b byte) string {
	if b == 0 {
		return "a"
	}
	return string(rune(b))
}

// referenced returns the key that a foreign key refers to; nil if it is not found.
func (v *view) referenced(c *catalog.Constraint) *catalog.Constraint {
	t := v.st.RelationByOID(c.RefTable)
	if t == nil {
		return nil
	}
	for i := range t.Constraints {
		k := &t.Constraints[i]
		if (k.Kind == 'p' || k.Kind == 'u' || k.Kind == 'i') && sameSet(k.Columns, c.RefCols) {
			return k
		}
	}
	return nil
}

func sameSet(a, b []int16) bool {
	if len(a) != len(b) {
		return false
	}
	in := map[int16]bool{}
	for _, x := range a {
		in[x] = true
	}
	for _, x := range b {
		if !in[x] {
			return false
		}
	}
	return true
}

// equalities returns the = operators of a foreign key's columns.
func equalities(r *catalog.Relation, cols []int16) []types.OID {
	out := []types.OID{}
	for _, n := range cols {
		var o types.OID
		if c := r.ColumnNum(n); c != nil {
			o = equalityOf(c.Type.OID)
		}
		out = append(out, o)
	}
	return out
}

func pgDepend(v *view, put put) error {
	for _, r := range v.st.Relations() {
		if err := put(classClass, r.OID, 0, classNamespace, r.Schema, 0, "n"); err != nil {
			return err
		}
		if s := r.Seq; s != nil && s.OwnedTable != 0 {
			kind := "a"
			if t := v.st.RelationByOID(s.OwnedTable); t != nil {
				if c := t.ColumnNum(s.OwnedColumn); c != nil && c.Identity != 0 {
					kind = "i"
				}
			}
			if err := put(classClass, r.OID, 0, classClass, s.OwnedTable, s.OwnedColumn, kind); err != nil {
				return err
			}
		}
		for i := range r.Columns {
			c := &r.Columns[i]
			if c.Dropped {
				continue
			}
			if c.Type.OID >= types.FirstUserOID {
				if err := put(classClass, r.OID, c.Num, classType, c.Type.OID, 0, "n"); err != nil {
					return err
				}
			}
			if c.Default == "" && c.Generated == "" {
				continue
			}
			def := derived('d', r.OID, int(c.Num))
			if err := put(classAttrdef, def, 0, classClass, r.OID, c.Num, "a"); err != nil {
				return err
			}
			if c.Sequence != 0 && c.Identity == 0 {
				if err := put(classAttrdef, def, 0, classClass, c.Sequence, 0, "n"); err != nil {
					return err
				}
			}
		}
		for _, c := range shown(r) {
			for _, n := range c.Columns {
				if err := put(classConstraint, c.OID, 0, classClass, r.OID, n, "a"); err != nil {
					return err
				}
			}
			if c.Kind == 'f' {
				for _, n := range c.RefCols {
					if err := put(classConstraint, c.OID, 0, classClass, c.RefTable, n, "n"); err != nil {
						return err
					}
				}
			}
			if c.Index != 0 && c.Kind != 'f' {
				if err := put(classClass, c.Index, 0, classConstraint, c.OID, 0, "i"); err != nil {
					return err
				}
			}
		}
		switch r.Kind {
		case catalog.KindView, catalog.KindMatView:
			rule := derived('r', r.OID, 0)
			if err := put(classRewrite, rule, 0, classClass, r.OID, 0, "i"); err != nil {
				return err
			}
			for _, d := range r.DependsOn {
				if err := put(classRewrite, rule, 0, classOf(v, d.OID), d.OID, d.Column, "n"); err != nil {
					return err
				}
			}
		case catalog.KindIndex:
			if v.constraintOf(r) != nil {
				continue
			}
			for _, n := range r.Index.Columns {
				if err := put(classClass, r.OID, 0, classClass, r.Index.Table, n, "a"); err != nil {
					return err
				}
			}
		}
	}
	if err := userDepends(v, put); err != nil {
		return err
	}
	return extensionMembers(put)
}

// constraintOf returns the constraint that an index serves; nil for a plain index.
func (v *view) constraintOf(index *catalog.Relation) *catalog.Constraint {
	t := v.st.RelationByOID(index.Index.Table)
	if t == nil {
		return nil
	}
	for i := range t.Constraints {
		if c := &t.Constraints[i]; c.Index == index.OID && (c.Kind == 'p' || c.Kind == 'u') {
			return c
		}
	}
	return nil
}

func pgDescription(v *view, put put) error {
	say := func(class, oid types.OID, col int16) error {
		if c := v.st.Comment(catalog.Dep{OID: oid, Column: col}); c != "" {
			return put(oid, class, col, c)
		}
		return nil
	}
	for _, s := range v.st.Schemas() {
		if err := say(classNamespace, s.OID, 0); err != nil {
			return err
		}
	}
	for _, t := range v.st.Enums() {
		if err := say(classType, t.OID, 0); err != nil {
			return err
		}
	}
	for _, f := range v.st.Functions() {
		if err := say(classProc, f.OID, 0); err != nil {
			return err
		}
	}
	for _, m := range v.st.Models() {
		if !v.seesModel(m) {
			continue
		}
		if err := say(classModel, m.OID, 0); err != nil {
			return err
		}
	}
	for _, r := range v.st.Relations() {
		if err := say(classClass, r.OID, 0); err != nil {
			return err
		}
		for i := range r.Columns {
			if c := &r.Columns[i]; !c.Dropped {
				if err := say(classClass, r.OID, c.Num); err != nil {
					return err
				}
			}
		}
		for _, c := range shown(r) {
			if err := say(classConstraint, c.OID, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

func pgShdescription(v *view, put put) error {
	if c := v.st.Comment(catalog.Dep{OID: catalog.DatabaseOID}); c != "" {
		if err := put(catalog.DatabaseOID, classDatabase, c); err != nil {
			return err
		}
	}
	for _, r := range v.st.Roles() {
		if c := v.st.Comment(catalog.Dep{OID: r.OID}); c != "" {
			if err := put(r.OID, classAuthid, c); err != nil {
				return err
			}
		}
	}
	return nil
}
