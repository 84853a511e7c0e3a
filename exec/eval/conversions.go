package eval

import (
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/types"
)

// addConversions registers the functions that are named for the type they give:
// int4(bigint), date(timestamp) …, which are casts, and those that apply a
// modifier.
func addConversions(t table) {
	for _, f := range fn.All() {
		if f.Kind != fn.Scalar || len(f.Args) != 1 || t[f.ID] != nil || f.OID == 0 {
			continue
		}
		if p, ok := types.PgTypeOf(f.Ret); !ok || p.Name != f.Name {
			continue
		}
		if f.Args[0] == types.BitOID || kindOf(types.Type{OID: f.Ret}) == kNull {
			continue
		}
		t.put(f.ID, func(_ *fn.Func, at []types.Type, ret types.Type) impl {
			conv, err := castOf(at[0], ret, true)
			if err != nil {
				return nil
			}
			if conv == nil {
				return same
			}
			return conv
		})
	}
	length := func(o types.OID) maker {
		return always(try3(func(_ *call, s string, mod int64, explicit bool) (string, error) {
			d, err := types.ApplyMod(types.Type{OID: o, Mod: int32(mod)}, s, explicit)
			if err != nil {
				return "", err
			}
			return d.(string), nil
		}))
	}
	t.put("varchar(varchar,int4,bool)", length(types.VarcharOID))
	t.put("bpchar(bpchar,int4,bool)", length(types.BpcharOID))
	for _, n := range []string{"time", "timetz", "timestamp", "timestamptz", "interval"} {
		o, _ := types.ByTypname(n)
		t.put(n+"("+n+",int4)", always(datums(func(_ *call, a []types.Datum) (types.Datum, error) {
			return types.ApplyMod(types.Type{OID: o, Mod: int32(a[1].(int64))}, a[0], true)
		})))
	}
}
