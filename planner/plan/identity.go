package plan

import (
	"encoding/binary"
	"math"
	"reflect"
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/types"
)

// Identity is what the rows of a query are a function of.
type Identity struct {
	Plan   []byte      // equal for equal plans, wherever their parts stood in a text
	Tables []types.OID // whose rows they read, in order
	Types  []types.OID // users' types that they know
}

// Identity returns what the rows of an optimised query depend on. ok is false where
// that is more than the plan and its tables: files, system relations, the session,
// the time, chance. pure marks sources whose rows are a function of their arguments.
func (q *Query) Identity(pure func(*Source) bool) (id Identity, ok bool) {
	w := &identifier{pure: pure, ok: len(q.Locks) == 0}
	for _, b := range q.Buffers {
		if b.DML != nil {
			return id, false
		}
		w.value(reflect.ValueOf(b))
	}
	w.value(reflect.ValueOf(&q.Root).Elem())
	w.value(reflect.ValueOf(q.Cols))
	for _, list := range []*[]types.OID{&w.id.Tables, &w.id.Types} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return w.id, w.ok
}

// Chooses reports whether an optimised query leaves rows beyond a limit out, by an order that may be settled or not.
func (q *Query) Chooses() bool {
	return ChoosesRows(q.Root) || slices.ContainsFunc(q.Buffers, func(b BufferDef) bool { return b.Root != nil && ChoosesRows(b.Root) })
}

// ChoosesRows reports whether a relation may have other rows when it is read again: which of equal
// ones LIMIT or DISTINCT ON keeps is not defined.
func ChoosesRows(n Node) bool {
	switch n := n.(type) {
	case *Limit, *DistinctOn:
		return true
	case *Sort:
		if n.Limit >= 0 {
			return true
		}
	}
	return slices.ContainsFunc(n.Children(), ChoosesRows)
}

// identifier writes plans as bytes: every field that affects the rows, each value with its length
// or kind before it.
type identifier struct {
	pure func(*Source) bool
	id   Identity
	ok   bool
}

var (
	datumType  = reflect.TypeFor[types.Datum]()
	funcType   = reflect.TypeFor[*fn.Func]()
	scanType   = reflect.TypeFor[Scan]()
	sourceType = reflect.TypeFor[Source]()
)

func (w *identifier) text(s string) {
	w.id.Plan = append(binary.AppendUvarint(w.id.Plan, uint64(len(s))), s...)
}

func (w *identifier) int(n int64) { w.id.Plan = binary.AppendVarint(w.id.Plan, n) }

func (w *identifier) value(v reflect.Value) {
	switch t := v.Type(); {
	case t == datumType:
		w.id.Plan = codec.AppendDatum(w.id.Plan, v.Interface())
		return
	case t == funcType:
		w.call(v.Interface().(*fn.Func))
		return
	}
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			w.text("")
			return
		}
		w.known(v.Interface())
		w.text(v.Elem().Type().String())
		w.value(v.Elem())
	case reflect.Pointer:
		w.int(int64(boolInt(!v.IsNil())))
		if !v.IsNil() {
			w.value(v.Elem())
		}
	case reflect.Struct:
		w.fields(v)
	case reflect.Slice:
		w.int(int64(v.Len()))
		for i := range v.Len() {
			w.value(v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			w.value(v.Index(i))
		}
	case reflect.String:
		w.text(v.String())
	case reflect.Bool:
		w.int(int64(boolInt(v.Bool())))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		w.int(v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		w.id.Plan = binary.AppendUvarint(w.id.Plan, v.Uint())
	case reflect.Float64:
		w.id.Plan = binary.LittleEndian.AppendUint64(w.id.Plan, math.Float64bits(v.Float()))
	default:
		w.ok = false
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// fields writes a struct. Positions in a text, names of tables there and estimates of rows do not
// affect the rows.
func (w *identifier) fields(v reflect.Value) {
	t := v.Type()
	if typ, ok := v.Interface().(types.Type); ok && typ.OID >= types.FirstUserOID {
		w.id.Types = append(w.id.Types, typ.OID)
	}
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case f.Name == "Pos" || f.Name == "Rows" && f.Type.Kind() == reflect.Float64 || t == scanType && (f.Name == "Name" || f.Name == "Alias"):
		case f.IsExported():
			w.value(v.Field(i))
		case f.Type != reflect.TypeFor[relation]() && (t != sourceType || f.Name != "found"):
			w.ok = false
		}
	}
}

// call writes a function, which its name and the types of its arguments identify.
func (w *identifier) call(f *fn.Func) {
	if f == nil {
		w.text("")
		return
	}
	w.ok = w.ok && f.Vol == fn.Immutable
	w.text(f.ID)
}

// known inspects a node or an expression.
func (w *identifier) known(n any) {
	switch n := n.(type) {
	case *Scan:
		w.id.Tables = append(w.id.Tables, n.Table)
	case *Source:
		w.ok = w.ok && w.pure(n)
	case *expr.Cast:
		w.ok = w.ok && fn.CastVolatility(n.Arg.Type().OID, n.Typ.OID) == fn.Immutable
	case Node: // of files, of the system, of a plan's stages
		w.ok = w.ok && !n.Traits().Outside
	}
}
