package sysview

import (
	"math"
	"regexp"
	"strings"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/types"
)

// blockBytes is PostgreSQL's page size.
const blockBytes = 8192

func pgClass(v *view, put put) error {
	for _, sh := range shapes().list {
		am := types.OID(0)
		if sh.kind == 'r' {
			am = heapAM
		}
		err := put(sh.oid, sh.name, sh.schema, 0, 0, catalog.BootstrapRoleOID, am, 0, 0,
			0, -1.0, 0, 0, false, shared(sh), "p", sh.kind, len(sh.cols), 0, sh.kind == 'v', false, false,
			false, false, true, "n", false, 0, 0, 0, v.aclText(catalog.Object{Class: catalog.ClassTable, Owner: catalog.BootstrapRoleOID, ACL: publicRead}), nil, nil)
		if err != nil {
			return err
		}
	}
	indexes, fks := v.indexesOf(), v.foreign()
	for _, r := range v.st.Relations() {
		var am, file types.OID
		var pages int64
		rows := -1.0
		natts := len(r.Columns)
		switch r.Kind {
		case catalog.KindTable, catalog.KindMatView:
			am, file = heapAM, r.OID
			if m := v.st.Manifest(r.OID); m != nil {
				rows = float64(m.Rows())
				pages = min((m.Bytes()+blockBytes-1)/blockBytes, math.MaxInt32)
			} else {
				rows = 0
			}
		case catalog.KindIndex:
			am, file, natts = accessMethod(r.Index.Method), r.OID, len(r.Index.Columns)+len(r.Index.Include)
			rows = 0
		case catalog.KindSequence:
			file, natts, rows, pages = r.OID, len(sequenceColumns), 1, 1
		}
		checks := 0
		for _, c := range r.Constraints {
			if c.Kind == 'c' {
				checks++
			}
		}
		persistence, ident := "p", "n"
		if r.Temp {
			persistence = "t"
		}
		if hasRows(r.Kind) {
			ident = "d"
		}
		row := types.OID(0)
		if r.HasRowType() {
			row = types.RowType(r.OID)
		}
		err := put(r.OID, r.Name, r.Schema, row, 0, r.Owner, am, file, 0,
			pages, rows, 0, 0, len(indexes[r.OID]) > 0, false, persistence, r.Kind, natts, checks, r.Kind == catalog.KindView, fks[r.OID], false,
			false, false, r.Kind != catalog.KindMatView || r.Populated, ident, false, 0, 0, 0, v.aclText(r.Object()), options(r), nil)
		if err != nil {
			return err
		}
	}
	return nil
}

var publicRead = []catalog.Grant{{Role: 0, Grantor: catalog.BootstrapRoleOID, Privs: "r"}}

// shared reports whether sh is a catalog that all databases of a server share.
func shared(sh *shape) bool {
	switch sh.name {
	case "pg_authid", "pg_auth_members", "pg_database", "pg_tablespace", "pg_shdepend", "pg_shdescription", "pg_shseclabel",
		"pg_db_role_setting", "pg_replication_origin", "pg_subscription", "pg_parameter_acl":
		return sh.schema == catalog.PgCatalogOID
	}
	return false
}

func options(r *catalog.Relation) any {
	if len(r.Options) == 0 && len(r.DistributionKey) == 0 {
		return nil
	}
	out := []string{}
	if len(r.DistributionKey) > 0 {
		var key []string
		for _, num := range r.DistributionKey {
			if c := r.ColumnNum(num); c != nil {
				key = append(key, lex.QuoteName(c.Name))
			}
		}
		out = append(out, "distribution_key="+strings.Join(key, ", "))
	}
	for _, k := range sortedKeys(r.Options) {
		out = append(out, k+"="+r.Options[k])
	}
	return out
}

// sequenceColumns are the attributes of every sequence.
var sequenceColumns = []catalog.Column{
	{Name: "last_value", Num: 1, Type: types.Int8, NotNull: true},
	{Name: "log_cnt", Num: 2, Type: types.Int8, NotNull: true},
	{Name: "is_called", Num: 3, Type: types.Bool, NotNull: true},
}

func pgAttribute(v *view, put put) error {
	row := func(rel types.OID, c *catalog.Column, acl any) error {
		t := c.Type
		l := layout(t.OID)
		name, typ, mod, coll := c.Name, t.OID, t.Mod, collationOf(c)
		if c.Dropped {
			name, typ, coll = "........pg.dropped."+itoa(int64(c.Num))+"........", 0, 0
		}
		dims := 0
		if t.IsArray() {
			dims = 1
		}
		generated := ""
		if c.Generated != "" {
			generated = "s"
		}
		identity := ""
		if c.Identity != 0 {
			identity = string(rune(c.Identity))
		}
		return put(rel, name, typ, -1, l.Len, c.Num, dims, -1, mod, l.ByVal, l.Align, l.Storage, "",
			c.NotNull && !c.Dropped, !c.Dropped && (c.Default != "" || c.Generated != ""), c.Missing != nil, identity, generated,
			c.Dropped, true, 0, coll, acl, nil, nil, nil)
	}
	for _, sh := range shapes().list {
		for i, c := range sh.cols {
			if err := row(sh.oid, &catalog.Column{Name: c.Name, Num: c.Num, Type: c.Type, NotNull: sh.notNull[i]}, nil); err != nil {
				return err
			}
		}
	}
	for _, r := range v.st.Relations() {
		cols := r.Columns
		switch r.Kind {
		case catalog.KindSequence:
			cols = sequenceColumns
		case catalog.KindIndex:
			t := v.st.RelationByOID(r.Index.Table)
			if t == nil {
				continue
			}
			taken := map[string]bool{}
			cols = nil
			for i := range r.Index.Columns {
				cols = append(cols, catalog.Column{Name: indexColumn(t, r.Index, i, taken), Num: int16(i + 1), Type: storedType(r.Index.Method, keyType(t, r.Index, i))})
			}
			for _, n := range r.Index.Include {
				if c := t.ColumnNum(n); c != nil {
					cols = append(cols, catalog.Column{Name: c.Name, Num: int16(len(cols) + 1), Type: c.Type})
				}
			}
		}
		for i := range cols {
			if err := row(r.OID, &cols[i], v.aclText(cols[i].Object(r))); err != nil {
				return err
			}
		}
	}
	return nil
}

// storedType is what PostgreSQL's indexes of a method keep of a key where that is not the key itself.
func storedType(method string, key types.Type) types.Type {
	switch elem, isArray := key.Elem(); {
	case method == "gin" && isArray:
		return elem
	case method == "gin" && key.Class() == types.ClassJSONB:
		return types.Text
	case method == "btree" && key == types.Name:
		return types.Type{OID: types.CstringOID, Mod: -1}
	}
	return key
}

// eachDefault calls f for the columns with a default or a generation expression.
func (v *view) eachDefault(f func(r *catalog.Relation, c *catalog.Column, text string) error) error {
	for _, r := range v.st.Relations() {
		for i := range r.Columns {
			c := &r.Columns[i]
			text := c.Default
			if c.Generated != "" {
				text = c.Generated
			}
			if text == "" || c.Dropped {
				continue
			}
			if c.Default != "" {
				text = v.defaultText(c)
			}
			if err := f(r, c, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// plainLiteral matches a string constant that stands alone.
var plainLiteral = regexp.MustCompile(`^'([^']|'')*'$`)

// defaultText returns a default as PostgreSQL prints it: with the sequence's current name and the
// type of a constant.
func (v *view) defaultText(c *catalog.Column) string {
	if s := v.st.RelationByOID(c.Sequence); s != nil && c.Identity == 0 {
		name := lex.QuoteName(v.schemaName(s.Schema)) + "." + lex.QuoteName(s.Name)
		return "nextval(" + lex.QuoteLiteral(name) + "::regclass)"
	}
	if !plainLiteral.MatchString(c.Default) {
		return c.Default
	}
	t := types.TypeName(c.Type.OID)
	if c.Type.OID == types.BpcharOID {
		t = "bpchar" // character alone would be of one
	}
	if e := v.st.EnumByOID(c.Type.OID); e != nil {
		if t = lex.QuoteName(v.schemaName(e.Schema)) + "." + lex.QuoteName(e.Name); e.ArrayOID == c.Type.OID {
			t += "[]"
		}
	}
	return c.Default + "::" + t
}

func pgAttrdef(v *view, put put) error {
	return v.eachDefault(func(r *catalog.Relation, c *catalog.Column, text string) error {
		return put(derived('d', r.OID, int(c.Num)), r.OID, c.Num, text)
	})
}

func pgIndex(v *view, put put) error {
	for _, r := range v.st.Relations() {
		if r.Kind != catalog.KindIndex {
			continue
		}
		ix := r.Index
		t := v.st.RelationByOID(ix.Table)
		if t == nil {
			continue
		}
		keys := make([]int16, 0, len(ix.Columns)+len(ix.Include))
		keys = append(append(keys, ix.Columns...), ix.Include...)
		colls, classes, opts := []types.OID{}, []types.OID{}, []int16{}
		var exprs any
		for i := range ix.Columns {
			kt := keyType(t, ix, i)
			colls = append(colls, layout(kt.OID).Collation)
			classes = append(classes, defaultClass(accessMethod(ix.Method), kt.OID))
			o := int16(0)
			if i < len(ix.Options) {
				o = int16(ix.Options[i])
			}
			opts = append(opts, o)
			if i < len(ix.Exprs) && ix.Exprs[i] != "" {
				if exprs == nil {
					exprs = ix.Exprs[i]
				} else {
					exprs = exprs.(string) + ", " + ix.Exprs[i]
				}
			}
		}
		err := put(r.OID, ix.Table, len(keys), len(ix.Columns), ix.Unique, ix.NullsNotDistinct, ix.Primary, false, true, false,
			true, false, true, true, false, keys, colls, classes, opts, exprs, text(ix.Where))
		if err != nil {
			return err
		}
	}
	return nil
}

func pgSequence(v *view, put put) error {
	for _, r := range v.st.Relations() {
		if s := r.Seq; s != nil {
			if err := put(r.OID, s.Type.OID, s.Start, s.Increment, s.Max, s.Min, s.Cache, s.Cycle); err != nil {
				return err
			}
		}
	}
	return nil
}

func pgRewrite(v *view, put put) error {
	for _, r := range v.st.Relations() {
		if r.Kind == catalog.KindView || r.Kind == catalog.KindMatView {
			if err := put(derived('r', r.OID, 0), "_RETURN", r.OID, "1", "O", true, "<>", r.Query); err != nil {
				return err
			}
		}
	}
	return nil
}
