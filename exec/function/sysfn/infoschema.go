package sysfn

import (
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// addInfoSchema registers the helpers of information_schema (PostgreSQL's information_schema.sql),
// which clients call too.
func addInfoSchema(t function.Table) {
	for name, f := range map[string]func(types.Type) types.Datum{
		"char_max_length": types.Type.CharacterMaximumLength, "char_octet_length": types.Type.CharacterOctetLength,
		"numeric_precision": types.Type.NumericPrecision, "numeric_precision_radix": types.Type.NumericPrecisionRadix,
		"numeric_scale": types.Type.NumericScale, "datetime_precision": types.Type.DatetimePrecision, "interval_type": types.Type.IntervalType,
	} {
		t.Put("_pg_"+name+"(oid,int4)", function.Always(function.Loose(func(_ *function.Call, a []types.Datum) (types.Datum, error) {
			if a[0] == nil || a[1] == nil {
				return nil, nil
			}
			return f(types.Type{OID: types.OID(a[0].(int64)), Mod: int32(a[1].(int64))}), nil
		})))
	}
	t.Put("_pg_index_position(oid,int2)", hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
		if a[0] == nil || a[1] == nil {
			return nil, nil
		}
		if r := h.Catalog().RelationByOID(types.OID(a[0].(int64))); r != nil && r.Kind == catalog.KindIndex {
			for i, n := range append(r.Index.Columns[:len(r.Index.Columns):len(r.Index.Columns)], r.Index.Include...) {
				if int64(n) == a[1].(int64) {
					return int64(i + 1), nil
				}
			}
		}
		return nil, nil
	}))
	// Of a row of pg_attribute and one of pg_type; there are no domains, whose type would be another.
	field := func(i int) function.Maker {
		return function.Always(function.Loose(func(_ *function.Call, a []types.Datum) (types.Datum, error) {
			if att, ok := a[0].(types.Row); ok && a[1] != nil && i < len(att) {
				return att[i], nil
			}
			return nil, nil
		}))
	}
	// The name that information_schema gives a routine: cut, so that the number stands whole at its end.
	t.Put("nameconcatoid(name,oid)", function.Always(function.Strict2(func(name string, oid int64) string {
		end := "_" + strconv.FormatInt(oid, 10)
		return types.ClipName(name, len(end)) + end
	})))
	t.Put("_pg_truetypid(record,record)", field(2))
	t.Put("_pg_truetypmod(record,record)", field(8))
}

// addIndexProperties registers what may be asked of index methods, of which the only one is a btree to
// its users.
func addIndexProperties(t function.Table) {
	answer := func(h function.Host, a []types.Datum, yes string) (types.Datum, *catalog.Relation) {
		name, ok := a[len(a)-1].(string)
		if !ok || a[0] == nil {
			return nil, nil
		}
		r := h.Catalog().RelationByOID(types.OID(a[0].(int64)))
		if r == nil || r.Kind != catalog.KindIndex {
			return nil, nil
		}
		return strings.Contains(" "+yes+" ", " "+strings.ToLower(name)+" "), r
	}
	t.Put("pg_index_has_property(regclass,text)", hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
		const all = "clusterable index_scan bitmap_scan backward_scan"
		if name, _ := a[len(a)-1].(string); !strings.Contains(" "+all+" ", " "+strings.ToLower(name)+" ") {
			return nil, nil
		}
		yes, _ := answer(h, a, all)
		return yes, nil
	}))
	t.Put("pg_index_column_has_property(regclass,int4,text)", hosted(func(_ *function.Call, h function.Host, a []types.Datum) (types.Datum, error) {
		yes, r := answer(h, a, "orderable returnable search_array search_nulls")
		n, ok := a[1].(int64)
		if r == nil || !ok || n < 1 || int(n) > len(r.Index.Columns) {
			return nil, nil
		}
		var option byte
		if int(n) <= len(r.Index.Options) {
			option = r.Index.Options[n-1]
		}
		switch strings.ToLower(a[2].(string)) {
		case "asc":
			return option&1 == 0, nil
		case "desc":
			return option&1 != 0, nil
		case "nulls_first":
			return option&2 != 0, nil
		case "nulls_last":
			return option&2 == 0, nil
		case "orderable", "distance_orderable", "returnable", "search_array", "search_nulls":
			return yes, nil
		}
		return nil, nil
	}))
	t.Put("pg_indexam_has_property(oid,text)", function.Always(function.Loose(func(_ *function.Call, a []types.Datum) (types.Datum, error) {
		const btree = 403
		if a[0] != int64(btree) || a[1] == nil {
			return nil, nil
		}
		switch strings.ToLower(a[1].(string)) {
		case "can_order", "can_unique", "can_multi_col", "can_exclude", "can_include":
			return true, nil
		}
		return nil, nil
	})))
}
