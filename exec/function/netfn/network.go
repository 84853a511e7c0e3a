package netfn

import (
	"bytes"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/inet"
)

// Register registers the functions of network addresses.
func Register(t function.Table) {
	put := func(id string, i function.Impl) { t.Put(id, function.Always(i)) }
	for _, of := range []string{"inet", "cidr"} {
		put("set_masklen("+of+",int4)", function.Try2(func(_ *function.Call, v []byte, bits int64) ([]byte, error) {
			return inet.WithMaskLen(v, bits, of == "cidr")
		}))
	}
	put("abbrev(inet)", text(func(dst, v []byte) []byte { return inet.Append(dst, v, false) }))
	put("abbrev(cidr)", text(inet.AppendAbbrev))
	put("host(inet)", text(inet.AppendHost))
	put("family(inet)", function.Strict1(inet.Family))
	put("masklen(inet)", function.Strict1(inet.MaskLen))
	for name, f := range map[string]func([]byte) []byte{
		"broadcast": inet.Broadcast, "network": inet.Network, "netmask": inet.Netmask, "hostmask": inet.Hostmask, "inetnot": inet.Not,
	} {
		put(name+"(inet)", function.Strict1(f))
	}
	for name, f := range map[string]func(a, b []byte) bool{
		"network_sub": inet.Inside, "network_subeq": inet.Within, "network_overlap": inet.Overlap, "inet_same_family": inet.SameFamily,
		"network_sup": func(a, b []byte) bool { return inet.Inside(b, a) }, "network_supeq": func(a, b []byte) bool { return inet.Within(b, a) },
	} {
		put(name+"(inet,inet)", function.Strict2(f))
	}
	for name, f := range map[string]func(a, b []byte) ([]byte, error){"inetand": inet.And, "inetor": inet.Or, "inet_merge": inet.Merge} {
		put(name+"(inet,inet)", function.Try2(func(_ *function.Call, a, b []byte) ([]byte, error) { return f(a, b) }))
	}
	for name, sign := range map[string]int{"network_larger": 1, "network_smaller": -1} {
		put(name+"(inet,inet)", function.Strict2(func(a, b []byte) []byte {
			if bytes.Compare(a, b)*sign > 0 {
				return a
			}
			return b
		}))
	}
	t["network_cmp(inet,inet)"] = function.Always(function.Strict2(inet.Compare)) // in place of that for all types, which is ±1
	put("inetpl(inet,int8)", function.Try2(func(_ *function.Call, v []byte, n int64) ([]byte, error) { return inet.Add(v, n) }))
	put("int8pl_inet(int8,inet)", function.Try2(func(_ *function.Call, n int64, v []byte) ([]byte, error) { return inet.Add(v, n) }))
	put("inetmi_int8(inet,int8)", function.Try2(func(_ *function.Call, v []byte, n int64) ([]byte, error) { return inet.Subtract(v, n) }))
	put("inetmi(inet,inet)", function.Try2(func(_ *function.Call, a, b []byte) (int64, error) { return inet.Distance(a, b) }))
}

// text makes a function of an address's text, which is copied into the column that is made.
func text(f func(dst, v []byte) []byte) function.Impl {
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		v := function.Arg[[]byte](c, args, 0)
		var room [50]byte // as long as a text may be
		return function.Each(c, func(i int) (string, error) { return vector.BytesString(f(room[:0], v(i))), nil })
	}
}
