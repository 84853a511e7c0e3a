package sysview

import (
	"strings"
	"sync"

	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

func pgType(v *view, put put) error {
	p := procedures()
	for _, t := range types.PgTypes() {
		array := t.Array
		if _, ok := types.PgTypeOf(array); !ok {
			array = 0
		}
		err := put(t.OID, t.Name, catalog.PgCatalogOID, catalog.BootstrapRoleOID, t.Len, t.ByVal, t.Kind, t.Category, t.Preferred, true, ",",
			0, p.oid(t.Subscript), t.Elem, array, p.oid(t.Input), p.oid(t.Output), p.oid(t.Receive), p.oid(t.Send), p.oid(t.ModIn), p.oid(t.ModOut), 0,
			t.Align, t.Storage, false, 0, -1, 0, t.Collation, nil, nil, nil)
		if err != nil {
			return err
		}
	}
	for _, t := range v.st.Enums() {
		err := put(t.OID, t.Name, t.Schema, t.Owner, 4, true, "e", "E", false, true, ",",
			0, 0, 0, t.ArrayOID, p.oid("enum_in"), p.oid("enum_out"), p.oid("enum_recv"), p.oid("enum_send"), 0, 0, 0,
			"i", "p", false, 0, -1, 0, 0, nil, nil, v.aclText(t.Object()))
		if err != nil {
			return err
		}
		if t.ArrayOID == 0 {
			continue
		}
		err = put(t.ArrayOID, "_"+t.Name, t.Schema, t.Owner, -1, false, "b", "A", false, true, ",",
			0, p.oid("array_subscript_handler"), t.OID, 0, p.oid("array_in"), p.oid("array_out"), p.oid("array_recv"), p.oid("array_send"), 0, 0, 0,
			"i", "x", false, 0, -1, 0, 0, nil, nil, nil)
		if err != nil {
			return err
		}
	}
	for _, r := range v.st.Relations() {
		if !r.HasRowType() {
			continue
		}
		err := put(types.RowType(r.OID), r.Name, r.Schema, r.Owner, -1, false, "c", "C", false, true, ",",
			r.OID, 0, 0, types.RowArray(r.OID), p.oid("record_in"), p.oid("record_out"), p.oid("record_recv"), p.oid("record_send"), 0, 0, 0,
			"d", "x", false, 0, -1, 0, 0, nil, nil, nil)
		if err != nil {
			return err
		}
		err = put(types.RowArray(r.OID), "_"+r.Name, r.Schema, r.Owner, -1, false, "b", "A", false, true, ",",
			0, p.oid("array_subscript_handler"), types.RowType(r.OID), 0, p.oid("array_in"), p.oid("array_out"), p.oid("array_recv"), p.oid("array_send"), 0, 0, 0,
			"d", "x", false, 0, -1, 0, 0, nil, nil, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

func pgEnum(v *view, put put) error {
	for _, t := range v.st.Enums() {
		for i, l := range t.Labels {
			if err := put(derived('e', t.OID, i), t.OID, float64(i+1), l); err != nil {
				return err
			}
		}
	}
	return nil
}

// proc is a procedure that exists only by name, since pg_type and pg_am refer to it. It cannot be
// called.
type proc struct {
	oid  types.OID
	name string
	ret  types.OID
	vol  string
	args []types.OID
}

type procTable struct {
	list   []proc
	byName map[string]types.OID
	byOID  map[types.OID]string
	args   map[types.OID][]types.OID
}

func (t *procTable) oid(name string) types.OID { return t.byName[name] }

var procedures = sync.OnceValue(func() *procTable {
	t := &procTable{byName: map[string]types.OID{}, byOID: map[types.OID]string{}, args: map[types.OID][]types.OID{}}
	for _, f := range objects(5) {
		p := proc{oid: types.OID(parseNumber(f[0])), name: f[1], ret: types.OID(parseNumber(f[2])), vol: f[3], args: []types.OID{}}
		if f[4] != "-" {
			for _, a := range strings.Split(f[4], ",") {
				p.args = append(p.args, types.OID(parseNumber(a)))
			}
		}
		t.byName[p.name], t.byOID[p.oid], t.args[p.oid] = p.oid, p.name, p.args
		if fn.ByOID(p.oid) == nil {
			t.list = append(t.list, p)
		}
	}
	return t
})

// ProcOID finds a procedure that no statement can call but regproc values may
// name, such as array_in.
func ProcOID(name string) (types.OID, bool) {
	o, ok := procedures().byName[name]
	return o, ok
}

// ProcName is the inverse of ProcOID.
func ProcName(oid types.OID) (string, bool) {
	n, ok := procedures().byOID[oid]
	return n, ok
}

// ProcArgs returns the types of a procedure's arguments.
func ProcArgs(oid types.OID) []types.OID { return procedures().args[oid] }

const internalLanguage types.OID = 12

func pgProc(v *view, put put) error {
	for _, p := range procedures().list {
		err := put(p.oid, p.name, catalog.PgCatalogOID, catalog.BootstrapRoleOID, internalLanguage, 1.0, 0.0, 0, 0, "f", false, false, true, false,
			p.vol, "s", len(p.args), 0, p.ret, p.args, nil, nil, nil, nil, nil, p.name, nil, nil, nil, nil)
		if err != nil {
			return err
		}
	}
	for _, f := range fn.Described() {
		kind, rows := "f", 0.0
		switch f.Kind {
		case fn.Aggregate:
			kind = "a"
		case fn.Window:
			kind = "w"
		case fn.SetReturning:
			rows = 1000
		}
		vol := "i"
		switch f.Vol {
		case fn.Stable:
			vol = "s"
		case fn.Volatile:
			vol = "v"
		}
		args := append([]types.OID{}, f.Args...)
		var all []types.OID
		var modes []byte
		names := f.ArgNames
		if f.Rec != nil || f.Variadic != 0 {
			all = append(all, args...)
			names = append([]string(nil), f.ArgNames...)
			for i := range args {
				m := byte('i')
				if f.Variadic != 0 && i == len(args)-1 {
					m = 'v'
				}
				modes = append(modes, m)
			}
		}
		if f.Rec != nil {
			for len(names) < len(args) {
				names = append(names, "")
			}
			for _, c := range f.Rec.Fields {
				all, modes, names = append(all, c.Type.OID), append(modes, 't'), append(names, c.Name)
			}
		}
		if len(names) == 0 {
			names = nil
		}
		err := put(f.OID, f.Name, v.st.SchemaByName(f.Schema).OID, catalog.BootstrapRoleOID, internalLanguage, 1.0, rows, f.Variadic, 0, kind, false, false,
			f.Strict, f.Kind == fn.SetReturning, vol, "s", len(args), len(f.Defaults), f.Ret, args, all, modes, names, text(strings.Join(f.Defaults, ", ")),
			nil, f.Name, nil, nil, nil, nil)
		if err != nil {
			return err
		}
	}
	return userProcs(v, put)
}

func pgAggregate(v *view, put put) error {
	for _, f := range fn.All() {
		if f.Kind != fn.Aggregate {
			continue
		}
		kind := "n"
		switch {
		case f.Hypothetical:
			kind = "h"
		case f.Ordered:
			kind = "o"
		}
		if err := put(f.OID, kind, f.Direct, 0, 0, 0, 0, 0, 0, 0, 0, false, false, "r", "r", 0, 0, 0, 0, 0, nil, nil); err != nil {
			return err
		}
	}
	return userAggregates(v, put)
}

func pgOperator(_ *view, put put) error {
	other := func(name string, l, r types.OID) types.OID {
		if name == "" {
			return 0
		}
		if o := fn.FindOperator(name, l, r); o != nil {
			return o.OID
		}
		return 0
	}
	for _, o := range fn.AllOperators() {
		kind, com := "b", types.OID(0)
		if o.Left == 0 {
			kind = "l"
		} else {
			com = other(o.Commutator, o.Right, o.Left)
		}
		eq := o.Name == "="
		err := put(o.OID, o.Name, catalog.PgCatalogOID, catalog.BootstrapRoleOID, kind, eq, eq, o.Left, o.Right, o.Func.Ret,
			com, other(o.Negator, o.Left, o.Right), o.Func.OID, 0, 0)
		if err != nil {
			return err
		}
	}
	return nil
}

// equalityOf returns the = operator of a type with itself.
func equalityOf(t types.OID) types.OID {
	t = t.General()
	if o := fn.FindOperator("=", t, t); o != nil {
		return o.OID
	}
	return 0
}

func pgCast(_ *view, put put) error {
	for i, c := range fn.AllCasts() {
		if err := put(10000+i, c.From, c.To, c.Func, string(rune(c.Context)), string(rune(c.Method))); err != nil {
			return err
		}
	}
	return nil
}
