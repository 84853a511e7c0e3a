package sysview

import (
	"strings"

	"github.com/tributarydb/tributary/exec/deparse"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/types"
)

func pgTables(v *view, put put) error {
	for _, sh := range shapes().list {
		if sh.kind == 'r' {
			if err := put(sh.space, sh.name, v.roleName(catalog.BootstrapRoleOID), nil, false, false, false, false); err != nil {
				return err
			}
		}
	}
	indexes, fks := v.indexesOf(), v.foreign()
	for _, r := range v.st.Relations() {
		if r.Kind != catalog.KindTable {
			continue
		}
		if err := put(v.schemaName(r.Schema), r.Name, v.roleName(r.Owner), nil, len(indexes[r.OID]) > 0, false, fks[r.OID], false); err != nil {
			return err
		}
	}
	return nil
}

func pgViews(v *view, put put) error {
	for _, sh := range shapes().list {
		if sh.kind == 'v' {
			if err := put(sh.space, sh.name, v.roleName(catalog.BootstrapRoleOID), nil); err != nil {
				return err
			}
		}
	}
	for _, r := range v.st.Relations() {
		if r.Kind == catalog.KindView {
			if err := put(v.schemaName(r.Schema), r.Name, v.roleName(r.Owner), v.viewText(r)); err != nil {
				return err
			}
		}
	}
	return nil
}

// viewText returns the definition as pg_get_viewdef does.
func (v *view) viewText(r *catalog.Relation) string { return deparse.ViewDef(v.env.Host, r, false, 0) }

func pgMatviews(v *view, put put) error {
	indexes := v.indexesOf()
	for _, r := range v.st.Relations() {
		if r.Kind == catalog.KindMatView {
			err := put(v.schemaName(r.Schema), r.Name, v.roleName(r.Owner), nil, len(indexes[r.OID]) > 0, r.Populated, v.viewText(r))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func pgIndexes(v *view, put put) error {
	for _, r := range v.st.Relations() {
		if r.Kind != catalog.KindIndex {
			continue
		}
		if t := v.st.RelationByOID(r.Index.Table); t != nil {
			if err := put(v.schemaName(r.Schema), t.Name, r.Name, nil, v.indexText(r, t)); err != nil {
				return err
			}
		}
	}
	return nil
}

// indexText returns the CREATE INDEX statement of an index.
func (v *view) indexText(r, t *catalog.Relation) string {
	ix := r.Index
	var b strings.Builder
	b.WriteString("CREATE ")
	if ix.Unique {
		b.WriteString("UNIQUE ")
	}
	b.WriteString("INDEX " + lex.QuoteName(r.Name) + " ON " + lex.QuoteName(v.schemaName(t.Schema)) + "." + lex.QuoteName(t.Name) + " USING " + ix.Method + " (")
	column := func(n int16) string {
		if c := t.ColumnNum(n); c != nil {
			return lex.QuoteName(c.Name)
		}
		return "?"
	}
	for i, n := range ix.Columns {
		if i > 0 {
			b.WriteString(", ")
		}
		if i < len(ix.Exprs) && ix.Exprs[i] != "" {
			e := ix.Exprs[i]
			if !strings.HasSuffix(e, ")") {
				e = "(" + e + ")"
			}
			b.WriteString(e)
		} else {
			b.WriteString(column(n))
		}
		if i >= len(ix.Options) {
			continue
		}
		desc, first := ix.Options[i]&1 != 0, ix.Options[i]&2 != 0
		switch {
		case desc && first:
			b.WriteString(" DESC")
		case desc:
			b.WriteString(" DESC NULLS LAST")
		case first:
			b.WriteString(" NULLS FIRST")
		}
	}
	b.WriteString(")")
	for i, n := range ix.Include {
		if i == 0 {
			b.WriteString(" INCLUDE (")
		} else {
			b.WriteString(", ")
		}
		b.WriteString(column(n))
		if i == len(ix.Include)-1 {
			b.WriteString(")")
		}
	}
	if ix.NullsNotDistinct {
		b.WriteString(" NULLS NOT DISTINCT")
	}
	if ix.Where != "" {
		b.WriteString(" WHERE (" + ix.Where + ")")
	}
	return b.String()
}

func sequenceRow(v *view, put put) error {
	if len(v.args) != 1 {
		return nil
	}
	oid, _ := v.args[0].(int64)
	at := sequenceAt(v, types.OID(oid))
	return put(at.Last, 0, at.Called)
}

func sequenceAt(v *view, oid types.OID) catalog.SeqValue {
	if v.env == nil || v.env.Host == nil {
		return v.st.SequenceAt(oid)
	}
	return function.SequenceAt(v.env.Host, oid)
}

func pgSequences(v *view, put put) error {
	for _, r := range v.st.Relations() {
		s := r.Seq
		if s == nil || !v.sees(r, "rwU") {
			continue
		}
		var last any
		if at := sequenceAt(v, r.OID); at.Called {
			last = at.Last
		}
		err := put(v.schemaName(r.Schema), r.Name, v.roleName(r.Owner), s.Type.OID, s.Start, s.Min, s.Max, s.Increment, s.Cycle, s.Cache, last)
		if err != nil {
			return err
		}
	}
	return nil
}
