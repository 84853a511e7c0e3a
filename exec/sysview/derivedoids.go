package sysview

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// OIDs of the catalogs that others refer to.
const (
	classType       types.OID = 1247
	classAttrdef    types.OID = 2604
	classConstraint types.OID = 2606
	classClass      types.OID = 1259
	classNamespace  types.OID = 2615
	classRewrite    types.OID = 2618
	classAuthid     types.OID = 1260
	classDatabase   types.OID = 1262
	classModel      types.OID = 13700 // ml.models
)

const (
	heapAM  types.OID = 2
	btreeAM types.OID = 403
)

// derived returns an OID for what the catalog does not number: defaults ('d'), rules ('r'), casts.
// It depends on the object alone, so it is the same on all nodes, and lies above what is ever given
// out.
func derived(kind byte, of types.OID, part int) types.OID {
	h := fnv.New32a()
	_, _ = h.Write([]byte{kind, byte(of), byte(of >> 8), byte(of >> 16), byte(of >> 24), byte(part), byte(part >> 8)})
	return types.OID(h.Sum32() | 1<<31)
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// hasRows reports whether relations of kind k hold rows of their own.
func hasRows(k catalog.RelKind) bool { return k == catalog.KindTable || k == catalog.KindMatView }

func (v *view) schemaName(oid types.OID) string {
	if s := v.st.Schema(oid); s != nil {
		return s.Name
	}
	return ""
}

// indexesOf returns the indexes of all tables, by OID within a table.
func (v *view) indexesOf() map[types.OID][]*catalog.Relation {
	out := map[types.OID][]*catalog.Relation{}
	for _, r := range v.st.Relations() {
		if r.Kind == catalog.KindIndex && r.Index != nil {
			out[r.Index.Table] = append(out[r.Index.Table], r)
		}
	}
	return out
}

// foreign returns the tables that a foreign key touches, on either side.
func (v *view) foreign() map[types.OID]bool {
	out := map[types.OID]bool{}
	for _, r := range v.st.Relations() {
		for _, c := range r.Constraints {
			if c.Kind == 'f' {
				out[r.OID], out[c.RefTable] = true, true
			}
		}
	}
	return out
}

// shown returns the constraints that pg_constraint lists; the descriptor has stand-alone unique
// indexes among them.
func shown(r *catalog.Relation) []catalog.Constraint {
	var out []catalog.Constraint
	for _, c := range r.Constraints {
		switch c.Kind {
		case 'p', 'u', 'c', 'f':
			out = append(out, c)
		}
	}
	return out
}

// indexColumn names the column of an index, as CREATE INDEX does.
func indexColumn(t *catalog.Relation, ix *catalog.Index, i int, taken map[string]bool) string {
	name := "expr"
	if i < len(ix.Columns) && ix.Columns[i] != 0 {
		if c := t.ColumnNum(ix.Columns[i]); c != nil {
			name = c.Name
		}
	} else if i < len(ix.Exprs) {
		e := strings.TrimLeft(ix.Exprs[i], "(")
		if j := strings.IndexByte(e, '('); j > 0 && strings.Trim(e[:j], "abcdefghijklmnopqrstuvwxyz_0123456789") == "" {
			name = e[:j]
		}
	}
	base := name
	for n := 1; taken[name]; n++ {
		name = base + itoa(int64(n))
	}
	taken[name] = true
	return name
}

// keyType returns the type of an index column; expressions count as text.
func keyType(t *catalog.Relation, ix *catalog.Index, i int) types.Type {
	if i < len(ix.Columns) && ix.Columns[i] != 0 {
		if c := t.ColumnNum(ix.Columns[i]); c != nil {
			return c.Type
		}
	}
	return types.Text
}

// accessMethod returns the OID of an index's method.
func accessMethod(name string) types.OID {
	for _, a := range accessMethods {
		if a.name == name {
			return a.oid
		}
	}
	return btreeAM
}

func collationOf(c *catalog.Column) types.OID {
	for _, x := range collations {
		if c.Collation != "" && strings.EqualFold(strings.Trim(c.Collation, `"`), x.name) {
			return x.oid
		}
	}
	t, _ := types.PgTypeOf(c.Type.OID)
	return t.Collation
}

// layout returns how PostgreSQL would store a type.
func layout(t types.OID) types.PgType {
	if p, ok := types.PgTypeOf(t); ok {
		return p
	}
	return types.PgType{OID: t, Len: 4, ByVal: true, Align: 'i', Storage: 'p'} // an enum
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
