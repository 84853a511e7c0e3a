package sysview

import (
	"strings"

	"github.com/tributarydb/tributary/exec/deparse"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// information_schema shows a role what it owns or has a privilege on.

func yesNo(b bool) string {
	if b {
		return "YES"
	}
	return "NO"
}

const anyPriv = "arwdDxt"

// isTable reports whether information_schema.tables lists relations of kind k.
func isTable(k catalog.RelKind) bool { return k == catalog.KindTable || k == catalog.KindView }

func infoCatalogName(_ *view, put put) error { return put(catalog.DatabaseName) }

func infoSchemata(v *view, put put) error {
	for _, s := range v.st.Schemas() {
		if v.may(s.Object(), "UC") {
			if err := put(catalog.DatabaseName, s.Name, v.roleName(s.Owner), nil, nil, nil, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func infoTables(v *view, put put) error {
	for _, sh := range shapes().list {
		kind := "VIEW"
		if sh.kind == 'r' {
			kind = "BASE TABLE"
		}
		if err := put(catalog.DatabaseName, sh.space, sh.name, kind, nil, nil, nil, nil, nil, "NO", "NO", nil); err != nil {
			return err
		}
	}
	for _, r := range v.st.Relations() {
		if !isTable(r.Kind) || !v.sees(r, anyPriv) {
			continue
		}
		kind := "BASE TABLE"
		switch {
		case r.Temp && r.Kind == catalog.KindTable:
			kind = "LOCAL TEMPORARY"
		case r.Kind == catalog.KindView:
			kind = "VIEW"
		}
		var commit any
		if r.Temp && r.Kind == catalog.KindTable {
			commit = "PRESERVE"
		}
		err := put(catalog.DatabaseName, v.schemaName(r.Schema), r.Name, kind, nil, nil, nil, nil, nil, yesNo(r.Kind == catalog.KindTable), "NO", commit)
		if err != nil {
			return err
		}
	}
	return nil
}

func infoViews(v *view, put put) error {
	for _, sh := range shapes().list {
		if sh.kind == 'v' {
			if err := put(catalog.DatabaseName, sh.space, sh.name, nil, "NONE", "NO", "NO", "NO", "NO", "NO"); err != nil {
				return err
			}
		}
	}
	for _, r := range v.st.Relations() {
		if r.Kind != catalog.KindView || !v.sees(r, anyPriv) {
			continue
		}
		var def any
		if v.owns(r.Owner) {
			def = v.viewText(r)
		}
		check := "NONE"
		if option := r.Options[catalog.CheckOption]; option != "" {
			check = strings.ToUpper(option)
		}
		if err := put(catalog.DatabaseName, v.schemaName(r.Schema), r.Name, def, check, "NO", "NO", "NO", "NO", "NO"); err != nil {
			return err
		}
	}
	return nil
}

func infoColumns(v *view, put put) error {
	for _, sh := range shapes().list {
		for i, c := range sh.cols {
			f := v.fields().set("table_schema", sh.space).set("table_name", sh.name).set("is_updatable", "NO")
			v.column(f, &catalog.Column{Name: c.Name, Num: c.Num, Type: c.Type, NotNull: sh.notNull[i]}, false)
			if err := put(f.row...); err != nil {
				return err
			}
		}
	}
	for _, r := range v.st.Relations() {
		if !isTable(r.Kind) || !v.sees(r, "arwx") {
			continue
		}
		for _, c := range r.Live() {
			if !v.seesColumn(r, &c) {
				continue
			}
			f := v.fields().set("table_schema", v.schemaName(r.Schema)).set("table_name", r.Name).set("is_updatable", yesNo(r.Kind == catalog.KindTable))
			v.column(f, &c, v.owns(r.Owner))
			if err := put(f.row...); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *view) column(f *fields, c *catalog.Column, defaults bool) {
	f.set("table_catalog", catalog.DatabaseName).set("column_name", c.Name).set("ordinal_position", c.Num).set("is_nullable", yesNo(!c.NotNull)).
		set("is_self_referencing", "NO").set("is_identity", yesNo(c.Identity != 0)).set("identity_cycle", "NO").set("is_generated", "NEVER")
	v.typed(f, c.Type, itoa(int64(c.Num)))
	if c.Collation != "" {
		f.set("collation_catalog", catalog.DatabaseName).set("collation_schema", "pg_catalog").set("collation_name", strings.Trim(c.Collation, `"`))
	}
	if defaults && c.Generated == "" {
		if c.Default != "" {
			f.set("column_default", deparse.ShowExpr(v.env.Host, nil, v.defaultText(c), false))
		}
	}
	if c.Generated != "" {
		f.set("is_generated", "ALWAYS").set("generation_expression", c.Generated)
	}
	if c.Identity != 0 {
		gen := "BY DEFAULT"
		if c.Identity == 'a' {
			gen = "ALWAYS"
		}
		f.set("identity_generation", gen)
		if s := v.st.RelationByOID(c.Sequence); s != nil && s.Seq != nil {
			f.set("identity_start", itoa(s.Seq.Start)).set("identity_increment", itoa(s.Seq.Increment)).set("identity_maximum", itoa(s.Seq.Max)).
				set("identity_minimum", itoa(s.Seq.Min)).set("identity_cycle", yesNo(s.Seq.Cycle))
		}
	}
}

// typed sets the columns that describe a data type in several relations.
func (v *view) typed(f *fields, t types.Type, id string) {
	space, name := "pg_catalog", layout(t.OID).Name
	word := types.TypeName(t.OID)
	if e := v.st.EnumByOID(t.OID); e != nil {
		space, name, word = v.schemaName(e.Schema), e.Name, "USER-DEFINED"
		if e.ArrayOID == t.OID {
			name, word = "_"+e.Name, "ARRAY"
		}
	} else if p := layout(t.OID); p.Category == 'A' && p.OID != types.Int2VectorOID && p.OID != types.OIDVectorOID {
		word = "ARRAY"
	}
	f.set("data_type", word).set("udt_catalog", catalog.DatabaseName).set("udt_schema", space).set("udt_name", name).set("dtd_identifier", id)
	f.set("character_maximum_length", t.CharacterMaximumLength()).set("character_octet_length", t.CharacterOctetLength()).
		set("numeric_precision", t.NumericPrecision()).set("numeric_precision_radix", t.NumericPrecisionRadix()).set("numeric_scale", t.NumericScale()).
		set("datetime_precision", t.DatetimePrecision())
	if s, ok := t.IntervalType().(string); ok {
		f.set("interval_type", text(s))
	}
}

func infoSequences(v *view, put put) error {
	for _, r := range v.st.Relations() {
		s := r.Seq
		if s == nil || !v.sees(r, "rwU") || v.identitySequence(s) {
			continue
		}
		err := put(catalog.DatabaseName, v.schemaName(r.Schema), r.Name, types.TypeName(s.Type.OID), s.Type.NumericPrecision(), 2, 0,
			itoa(s.Start), itoa(s.Min), itoa(s.Max), itoa(s.Increment), yesNo(s.Cycle))
		if err != nil {
			return err
		}
	}
	return nil
}

// identitySequence reports whether s belongs to an identity column; information_schema does not
// list these.
func (v *view) identitySequence(s *catalog.Sequence) bool {
	t := v.st.RelationByOID(s.OwnedTable)
	if t == nil {
		return false
	}
	c := t.ColumnNum(s.OwnedColumn)
	return c != nil && c.Identity != 0
}

func infoElementTypes(v *view, put put) error {
	for _, r := range v.st.Relations() {
		if !isTable(r.Kind) || !v.sees(r, "arwx") {
			continue
		}
		kind := "TABLE"
		if r.Kind == catalog.KindView {
			kind = "VIEW"
		}
		for _, c := range r.Live() {
			e, ok := c.Type.Elem()
			if !ok {
				continue
			}
			f := v.fields().set("object_catalog", catalog.DatabaseName).set("object_schema", v.schemaName(r.Schema)).set("object_name", r.Name).
				set("object_type", kind).set("collection_type_identifier", itoa(int64(c.Num)))
			v.typed(f, types.Type{OID: e.OID, Mod: -1}, "a"+itoa(int64(c.Num)))
			for _, n := range []string{"character_octet_length", "numeric_precision", "numeric_precision_radix", "numeric_scale", "datetime_precision"} {
				f.set(n, nil) // PostgreSQL leaves them to the array's own row
			}
			if err := put(f.row...); err != nil {
				return err
			}
		}
	}
	return nil
}

func infoViewTableUsage(v *view, put put) error {
	return v.usage(func(w, t *catalog.Relation, _ int16) error {
		return put(catalog.DatabaseName, v.schemaName(w.Schema), w.Name, catalog.DatabaseName, v.schemaName(t.Schema), t.Name)
	}, false)
}

func infoViewColumnUsage(v *view, put put) error {
	return v.usage(func(w, t *catalog.Relation, col int16) error {
		c := t.ColumnNum(col)
		if c == nil {
			return nil
		}
		return put(catalog.DatabaseName, v.schemaName(w.Schema), w.Name, catalog.DatabaseName, v.schemaName(t.Schema), t.Name, c.Name)
	}, true)
}

// usage calls f for what views read, of relations that the current role owns.
func (v *view) usage(f func(w, t *catalog.Relation, col int16) error, columns bool) error {
	for _, w := range v.st.Relations() {
		if w.Kind != catalog.KindView {
			continue
		}
		seen := map[types.OID]bool{}
		for _, d := range w.DependsOn {
			t := v.st.RelationByOID(d.OID)
			if t == nil || t.Kind == catalog.KindSequence || !v.owns(t.Owner) || (d.Column == 0) == columns || !columns && seen[d.OID] {
				continue
			}
			seen[d.OID] = true
			if err := f(w, t, d.Column); err != nil {
				return err
			}
		}
	}
	return nil
}
