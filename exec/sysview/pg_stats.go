package sysview

import (
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// pgStats shows of each column that may be read what its segments say of all rows, and what ANALYZE found.
func pgStats(v *view, put put) error {
	estimates := props.FromState(v.st)
	for _, r := range v.st.Relations() {
		m := v.st.Manifest(r.OID)
		if m == nil || m.Rows() == 0 || !v.sees(r, "r") {
			continue
		}
		rows := float64(m.Rows())
		for _, c := range r.Live() {
			k, ok := estimates.Table(r.OID).Col(c.Num)
			if !ok || !v.st.MayColumn(v.sess.Role, r, &c, 'r') {
				continue
			}
			distinct := k.NDV
			if distinct > rows/10 { // of a column that grows with the table
				distinct /= -rows
			}
			f := v.fields().set("schemaname", v.schemaName(r.Schema)).set("tablename", r.Name).set("attname", c.Name).set("inherited", false).
				set("null_frac", k.NullFrac).set("avg_width", max(int(layout(c.Type.OID).Len), 0)).set("n_distinct", distinct)
			if k.Kept != nil {
				v.kept(f, c.Type, k.Kept)
			}
			if err := put(f.row...); err != nil {
				return err
			}
		}
	}
	return nil
}

// kept fills in what ANALYZE found.
func (v *view) kept(f *fields, t types.Type, k *catalog.ColumnStatistics) {
	if k.Width > 0 {
		f.set("avg_width", k.Width)
	}
	if k.Whole && k.Distinct != 0 {
		f.set("n_distinct", k.Distinct)
	}
	if k.Correlated {
		f.set("correlation", k.Correlation)
	}
	list, ok := types.ArrayOf(t)
	if !ok {
		return
	}
	text := func(d []types.Datum) string { return types.TextOf(list, types.Array{Elem: t, Elems: d}, v.env.Types) }
	if len(k.Common) > 0 {
		freqs := make([]types.Datum, len(k.Freqs))
		for i, x := range k.Freqs {
			freqs[i] = x
		}
		f.set("most_common_vals", text(k.Common)).set("most_common_freqs", types.Array{Elem: types.Float4, Elems: freqs})
	}
	if len(k.Bounds) > 0 {
		f.set("histogram_bounds", text(k.Bounds))
	}
}
