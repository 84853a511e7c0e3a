package sysview

import (
	"strings"

	"github.com/tributarydb/tributary/sql/catalog"
)

// notNullName is the name information_schema makes up for a NOT NULL, which
// has none of its own.
func notNullName(r *catalog.Relation, c *catalog.Column) string {
	return itoa(int64(r.Schema)) + "_" + itoa(int64(r.OID)) + "_" + itoa(int64(c.Num)) + "_not_null"
}

func constraintType(kind byte) string {
	switch kind {
	case 'p':
		return "PRIMARY KEY"
	case 'u':
		return "UNIQUE"
	case 'f':
		return "FOREIGN KEY"
	}
	return "CHECK"
}

func infoTableConstraints(v *view, put put) error {
	for _, r := range v.st.Relations() {
		if r.Kind != catalog.KindTable || !v.sees(r, "awdDxt") {
			continue
		}
		schema := v.schemaName(r.Schema)
		for _, c := range shown(r) {
			var distinct any
			if c.Kind == 'u' {
				distinct = yesNo(!c.NullsNotDistinct)
			}
			err := put(catalog.DatabaseName, schema, c.Name, catalog.DatabaseName, schema, r.Name, constraintType(c.Kind),
				yesNo(c.Deferrable), yesNo(c.InitiallyDeferred), "YES", distinct)
			if err != nil {
				return err
			}
		}
		for _, c := range r.Live() {
			if !c.NotNull {
				continue
			}
			err := put(catalog.DatabaseName, schema, notNullName(r, &c), catalog.DatabaseName, schema, r.Name, "CHECK", "NO", "NO", "YES", nil)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func infoCheckConstraints(v *view, put put) error {
	for _, r := range v.st.Relations() {
		if r.Kind != catalog.KindTable || !v.owns(r.Owner) {
			continue
		}
		schema := v.schemaName(r.Schema)
		for _, c := range shown(r) {
			if c.Kind == 'c' {
				if err := put(catalog.DatabaseName, schema, c.Name, parens(parens(c.Check))); err != nil {
					return err
				}
			}
		}
		for _, c := range r.Live() {
			if c.NotNull {
				if err := put(catalog.DatabaseName, schema, notNullName(r, &c), c.Name+" IS NOT NULL"); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func parens(s string) string { return "(" + s + ")" }

func infoKeyColumnUsage(v *view, put put) error {
	for _, r := range v.st.Relations() {
		if r.Kind != catalog.KindTable || !v.sees(r, "arwx") {
			continue
		}
		schema := v.schemaName(r.Schema)
		for _, c := range shown(r) {
			if c.Kind == 'c' {
				continue
			}
			for i, n := range c.Columns {
				col := r.ColumnNum(n)
				if col == nil {
					continue
				}
				var in any
				if c.Kind == 'f' {
					in = i + 1
					if u := v.referenced(&c); u != nil {
						for j, k := range u.Columns {
							if k == c.RefCols[i] {
								in = j + 1
							}
						}
					}
				}
				err := put(catalog.DatabaseName, schema, c.Name, catalog.DatabaseName, schema, r.Name, col.Name, i+1, in)
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// checked returns the columns that a CHECK names: the words of its text that are columns of the
// table.
func checked(r *catalog.Relation, text string) []string {
	var out []string
	seen := map[string]bool{}
	for _, w := range strings.FieldsFunc(text, func(c rune) bool {
		return !(c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80)
	}) {
		if r.Column(w) != nil && !seen[w] {
			seen[w] = true
			out = append(out, w)
		}
	}
	return out
}

func infoConstraintColumnUsage(v *view, put put) error {
	return v.used(func(c *catalog.Constraint, r, t *catalog.Relation, cols []string) error {
		for _, col := range cols {
			err := put(catalog.DatabaseName, v.schemaName(t.Schema), t.Name, col, catalog.DatabaseName, v.schemaName(r.Schema), c.Name)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func infoConstraintTableUsage(v *view, put put) error {
	return v.used(func(c *catalog.Constraint, r, t *catalog.Relation, _ []string) error {
		if c.Kind == 'c' {
			return nil
		}
		return put(catalog.DatabaseName, v.schemaName(t.Schema), t.Name, catalog.DatabaseName, v.schemaName(r.Schema), c.Name)
	})
}

// used calls f for the constraints with the table and columns that each uses: for a foreign key
// those it refers to.
func (v *view) used(f func(c *catalog.Constraint, r, t *catalog.Relation, cols []string) error) error {
	for _, r := range v.st.Relations() {
		if r.Kind != catalog.KindTable {
			continue
		}
		for _, c := range shown(r) {
			t, nums := r, c.Columns
			if c.Kind == 'f' {
				t, nums = v.st.RelationByOID(c.RefTable), c.RefCols
			}
			if t == nil || !v.owns(t.Owner) {
				continue
			}
			var cols []string
			if c.Kind == 'c' {
				cols = checked(r, c.Check)
			}
			for _, n := range nums {
				if col := t.ColumnNum(n); col != nil && c.Kind != 'c' {
					cols = append(cols, col.Name)
				}
			}
			if err := f(&c, r, t, cols); err != nil {
				return err
			}
		}
	}
	return nil
}

func rule(b byte) string {
	switch b {
	case 'r':
		return "RESTRICT"
	case 'c':
		return "CASCADE"
	case 'n':
		return "SET NULL"
	case 'd':
		return "SET DEFAULT"
	}
	return "NO ACTION"
}

func infoReferentialConstraints(v *view, put put) error {
	for _, r := range v.st.Relations() {
		if r.Kind != catalog.KindTable || !v.sees(r, "awdDxt") {
			continue
		}
		for _, c := range shown(r) {
			if c.Kind != 'f' {
				continue
			}
			match := "NONE"
			if c.MatchFull {
				match = "FULL"
			}
			var cat, schema, name any
			if u := v.referenced(&c); u != nil {
				cat, name = catalog.DatabaseName, u.Name
				if t := v.st.RelationByOID(c.RefTable); t != nil {
					schema = v.schemaName(t.Schema)
				}
			}
			err := put(catalog.DatabaseName, v.schemaName(r.Schema), c.Name, cat, schema, name, match, rule(c.OnUpdate), rule(c.OnDelete))
			if err != nil {
				return err
			}
		}
	}
	return nil
}
