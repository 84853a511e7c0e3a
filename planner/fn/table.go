package fn

import (
	"embed"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/tributarydb/tributary/sql/types"
)

// The tables are text, one overload a line:
//
//	oid name([variadic] [argname] type [= default], …) result [flags]
//
// with typnames as in pg_type, arrays as type[], a result of several columns
// as (name type, …). Functions are strict and immutable and cannot fail unless
// the flags say otherwise: !strict, stable, volatile, fails, ordered,
// hypothetical. Operators are
//
//	oid left name right function(args) commutator negator
//
// with - for missing fields, and casts: source target context and, of the function that makes it, the
// OID: b for none where the values are the same, i for their text. A table of functions may hold all of one type:
// there lines of aggregates, operators and casts begin with the word. In the table of ml, which
// describes functions that are known elsewhere, a line of a relation begins with "set".
//
//go:embed tables/*.txt
var tables embed.FS

var files = []struct {
	name string
	kind Kind
}{
	{"comparisons", Scalar}, {"numbers", Scalar}, {"strings", Scalar}, {"datetime", Scalar}, {"arrays", Scalar},
	{"json", Scalar}, {"enums", Scalar}, {"system", Scalar}, {"network", Scalar}, {"aggregates", Aggregate}, {"metrics", Aggregate},
	{"window", Window}, {"sets", SetReturning},
}

type registry struct {
	funcs []*Func
	// described are functions that are known by name elsewhere.
	described []*Func
	byName    map[string][]*Func
	byID      map[string]*Func
	byOID     map[types.OID]*Func
	ops       []*Operator
	infix     map[string][]*Operator
	prefix    map[string][]*Operator
	casts     []CastEntry
	context   map[[2]types.OID]CastContext
}

var reg = sync.OnceValue(load)

func load() *registry {
	r := &registry{
		byName: map[string][]*Func{}, byID: map[string]*Func{}, byOID: map[types.OID]*Func{},
		infix: map[string][]*Operator{}, prefix: map[string][]*Operator{}, context: map[[2]types.OID]CastContext{},
	}
	operators, casts := lines("operators"), lines("casts")
	for _, f := range files {
		for _, l := range lines(f.name) {
			switch word, rest, _ := strings.Cut(l, " "); word {
			case "aggregate":
				r.add(parseFunc(rest, Aggregate))
			case "operator":
				operators = append(operators, rest)
			case "cast":
				casts = append(casts, rest)
			default:
				r.add(parseFunc(l, f.kind))
			}
		}
	}
	for _, l := range lines("ml") {
		l, set := strings.CutPrefix(l, "set ")
		f := parseFunc(l, map[bool]Kind{true: SetReturning}[set])
		f.Schema, f.ID = "ml", "ml."+f.ID
		r.add(f)
	}
	for _, l := range operators {
		f := strings.Fields(l)
		op := &Operator{OID: oid(f[0]), Name: f[2], Right: typ(f[3]), Func: r.byID[f[4]]}
		if op.Func == nil {
			panic("BUG: no function for operator " + l)
		}
		if f[1] != "-" {
			op.Left = typ(f[1])
		}
		if f[5] != "-" {
			op.Commutator = f[5]
		}
		if f[6] != "-" {
			op.Negator = f[6]
		}
		r.ops = append(r.ops, op)
		if op.Left == 0 {
			r.prefix[op.Name] = append(r.prefix[op.Name], op)
		} else {
			r.infix[op.Name] = append(r.infix[op.Name], op)
		}
	}
	for _, l := range casts {
		f := strings.Fields(l)
		e := CastEntry{From: typ(f[0]), To: typ(f[1]), Context: CastContext(f[2][0]), Method: f[3][0]}
		if n, err := strconv.Atoi(f[3]); err == nil {
			e.Method, e.Func = 'f', types.OID(n)
		}
		r.casts = append(r.casts, e)
		r.context[[2]types.OID{e.From, e.To}] = e.Context
	}
	return r
}

func (r *registry) add(f *Func) {
	if r.byID[f.ID] != nil || r.byOID[f.OID] != nil {
		panic("BUG: function " + f.ID + " is listed twice")
	}
	f.Bind = binds[f.ID]
	if f.Bind == nil && f.Kind == Scalar {
		f.Bind = defaultBind(f)
	}
	r.byID[f.ID], r.byOID[f.OID] = f, f
	if f.Schema != "pg_catalog" {
		r.described = append(r.described, f)
		return
	}
	r.funcs = append(r.funcs, f)
	r.byName[f.Name] = append(r.byName[f.Name], f)
}

func lines(name string) []string {
	b, err := tables.ReadFile("tables/" + name + ".txt")
	if err != nil {
		panic(err)
	}
	var out []string
	for _, l := range strings.Split(string(b), "\n") {
		if l = strings.TrimSpace(l); l != "" && l[0] != '#' {
			out = append(out, l)
		}
	}
	return out
}

func oid(s string) types.OID {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return types.OID(n)
}

// pseudo are the pseudo-types that types does not list.
var pseudo = map[string]types.OID{
	"any": types.AnyOID, "anyarray": types.AnyArrayOID, "anyelement": types.AnyElementOID,
	"anynonarray": types.AnyNonArrayOID, "anyenum": types.AnyEnumOID, "anycompatible": types.AnyCompatibleOID,
	"anycompatiblearray": types.AnyCompatibleArrayOID, "anycompatiblenonarray": types.AnyCompatibleNonArrayOID,
	"record": types.RecordOID, "void": types.VoidOID, "cstring": types.CstringOID,
}

func typ(s string) types.OID {
	if o, ok := pseudo[s]; ok {
		return o
	}
	if e, ok := strings.CutSuffix(s, "[]"); ok {
		a, ok := types.ArrayOf(types.Type{OID: typ(e)})
		if !ok {
			panic("BUG: no array of " + e)
		}
		return a.OID
	}
	o, ok := types.ByTypname(s)
	if !ok {
		panic("BUG: no type " + s)
	}
	return o
}

func parseFunc(l string, kind Kind) *Func {
	head, rest, ok := strings.Cut(l, "(")
	num, name, ok2 := strings.Cut(head, " ")
	args, rest, ok3 := strings.Cut(rest, ") ")
	if !ok || !ok2 || !ok3 {
		panic("BUG: bad function line " + l)
	}
	f := &Func{OID: oid(num), Schema: "pg_catalog", Name: name, Kind: kind, Strict: true}
	var ids []string
	if args != "" {
		for _, a := range strings.Split(args, ", ") {
			a, def, hasDef := strings.Cut(a, " = ")
			if hasDef {
				f.Defaults = append(f.Defaults, def)
			}
			w := strings.Fields(a)
			last := w[len(w)-1]
			f.Args = append(f.Args, typ(last))
			ids = append(ids, last)
			if w[0] == "variadic" {
				w = w[1:]
				f.Variadic = types.AnyOID
				if e, ok := (types.Type{OID: typ(last)}).Elem(); ok {
					f.Variadic = e.OID
				}
			}
			if len(w) == 2 {
				for len(f.ArgNames) < len(f.Args)-1 {
					f.ArgNames = append(f.ArgNames, "")
				}
				f.ArgNames = append(f.ArgNames, w[0])
			}
		}
		for f.ArgNames != nil && len(f.ArgNames) < len(f.Args) {
			f.ArgNames = append(f.ArgNames, "")
		}
	}
	f.ID = name + "(" + strings.Join(ids, ",") + ")"
	var flags []string
	if out, ok := strings.CutPrefix(rest, "("); ok {
		cols, tail, _ := strings.Cut(out, ")")
		flags = strings.Fields(tail)
		rec := &types.Record{}
		for _, c := range strings.Split(cols, ", ") {
			n, t, _ := strings.Cut(c, " ")
			rec.Fields = append(rec.Fields, types.Field{Name: n, Type: types.Type{OID: typ(t), Mod: -1}})
		}
		if len(rec.Fields) == 1 {
			f.Ret, f.OutName = rec.Fields[0].Type.OID, rec.Fields[0].Name
		} else {
			f.Ret, f.Rec = types.RecordOID, rec
		}
	} else {
		w := strings.Fields(rest)
		f.Ret, flags = typ(w[0]), w[1:]
	}
	for _, fl := range flags {
		switch fl {
		case "!strict":
			f.Strict = false
		case "stable":
			f.Vol = Stable
		case "volatile":
			f.Vol = Volatile
		case "fails":
			f.CanFail = true
		case "ordered":
			f.Ordered, f.Direct = true, len(f.Args)-1
		case "hypothetical":
			f.Ordered, f.Hypothetical, f.Direct = true, true, 1
		default:
			panic(fmt.Sprintf("BUG: flag %q of %s", fl, l))
		}
	}
	return f
}
