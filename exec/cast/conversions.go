package cast

import (
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/function/mathfn"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/types"
)

// Register registers the functions that are named for their result type: int4(bigint),
// date(timestamp) …, which are casts, and those that apply a modifier.
func Register(t function.Table) {
	t.Puts(try, "try_cast(any)", "try_cast_stable(any)")
	for _, f := range fn.All() {
		if f.Kind != fn.Scalar || len(f.Args) != 1 || t[f.ID] != nil || f.OID == 0 {
			continue
		}
		if p, ok := types.PgTypeOf(f.Ret); !ok || p.Name != f.Name {
			continue
		}
		if f.Args[0] == types.BitOID || (types.Type{OID: f.Ret}).Form() == vector.Null {
			continue
		}
		t.Put(f.ID, func(_ *fn.Func, at []types.Type, ret types.Type) function.Impl {
			conv, err := Between(at[0], ret, true)
			if err != nil {
				return nil
			}
			if conv == nil {
				return mathfn.Same
			}
			return conv
		})
	}
	length := func(o types.OID) function.Maker {
		return function.Always(function.Try3(func(_ *function.Call, s string, mod int64, explicit bool) (string, error) {
			d, err := types.ApplyMod(types.Type{OID: o, Mod: int32(mod)}, s, explicit)
			if err != nil {
				return "", err
			}
			return d.(string), nil
		}))
	}
	t.Put("varchar(varchar,int4,bool)", length(types.VarcharOID))
	t.Put("bpchar(bpchar,int4,bool)", length(types.BpcharOID))
	for _, n := range []string{"time", "timetz", "timestamp", "timestamptz", "interval"} {
		o, _ := types.ByTypname(n)
		t.Put(n+"("+n+",int4)", function.Always(function.Datums(func(_ *function.Call, a []types.Datum) (types.Datum, error) {
			return types.ApplyMod(types.Type{OID: o, Mod: int32(a[1].(int64))}, a[0], true)
		})))
	}
}
