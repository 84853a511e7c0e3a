package sysview

import (
	"cmp"
	"slices"
	"time"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/types"
)

// clusterHistory shows what is kept for the past alone, by table and model: to those who may see the table, and what was dropped to
// its owner.
func clusterHistory(v *view, put put) error {
	type kept struct {
		oid          types.OID
		files, bytes int64
		oldest       time.Time
		dropped      *catalog.Dropped
		at           time.Time
		keep         int64
	}
	byOID := map[types.OID]*kept{}
	var list []*kept
	for _, g := range v.st.Graves() {
		k := byOID[g.Of]
		if k == nil {
			k = &kept{oid: g.Of, oldest: time.UnixMicro(g.Left).UTC()}
			byOID[g.Of] = k
			list = append(list, k)
		}
		k.keep = g.Keep
		if g.File != nil {
			k.files, k.bytes = k.files+1, k.bytes+g.File.Bytes
		} else {
			k.dropped, k.at = g.Table, time.UnixMicro(g.Left).UTC()
		}
	}
	slices.SortFunc(list, func(a, b *kept) int { return cmp.Compare(a.oid, b.oid) })
	for _, k := range list {
		var schema, name, at any
		kind, keep := "table", catalog.RetentionOf(v.st, nil)
		if k.keep >= 0 {
			keep = time.Duration(k.keep) * time.Microsecond
		}
		r, m := v.st.RelationByOID(k.oid), v.st.ModelByOID(k.oid)
		switch {
		case r != nil:
			if !v.sees(r, anyPriv) {
				continue
			}
			schema, name, keep = v.schemaName(r.Schema), r.Name, catalog.RetentionOf(v.st, r)
		case m != nil:
			if !v.reads(m.Owner) {
				continue
			}
			schema, name, kind = v.schemaName(m.Schema), m.Name, "model"
		case k.dropped != nil:
			if !v.reads(k.dropped.Owner) {
				continue
			}
			schema, name, at = k.dropped.Schema, k.dropped.Name, k.at
		default: // a model or a materialized view that was dropped
			if !v.st.Super(v.sess.Role) {
				continue
			}
			kind = "dropped object"
		}
		if err := put(schema, name, kind, at, datetime.Interval{Micros: keep.Microseconds()}, k.files, k.bytes, k.oldest); err != nil {
			return err
		}
	}
	return nil
}
