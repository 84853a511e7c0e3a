package typing

import (
	"strconv"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func Itoa(n int) string { return strconv.Itoa(n) }

// TypeNode names a type in a tree that is made, not parsed: by its OID, as PostgreSQL's
// makeTypeNameFromOid does.
func TypeNode(t types.Type) *ast.TypeName {
	return &ast.TypeName{BaseNode: ast.BaseNode{Tag: ast.T_TypeName}, TypeOid: ast.Oid(t.OID), Typemod: t.Mod}
}

func (b *Resolver) ResolveType(n *ast.TypeName) (types.Type, error) {
	if n.TypeOid != 0 {
		return Physical(types.Type{OID: types.OID(n.TypeOid), Mod: n.Typemod}), nil
	}
	var t types.Type
	schema, name, err := b.ObjectName(n.Names, b.spotType)
	if err != nil {
		return t, err
	}
	if n.PctType {
		return t, pgerr.Unsupported("%%TYPE is not supported")
	}
	if n.Setof {
		return t, pgerr.New(pgerr.InvalidFunctionDefinition, "type modifier SETOF is not allowed here")
	}
	if err := b.MayLookIn(schema); err != nil {
		return t, err
	}
	t, ok := b.NamedType(schema, name)
	if !ok {
		full := name
		if schema != "" {
			full = schema + "." + name
		}
		return t, pgerr.New(pgerr.UndefinedObject, "type \"%s\" does not exist", full).At(b.posType(name))
	}
	if t.OID == types.MoneyOID { // its values depend on a locale, and cannot be written
		return t, pgerr.Unsupported("type money is not supported").At(b.posType(name))
	}
	if mods := Items(n.Typmods); len(mods) > 0 {
		ints := make([]int32, 0, len(mods))
		for _, m := range mods {
			v, ok := intConst(m)
			if !ok {
				return t, pgerr.New(pgerr.SyntaxError, "type modifiers must be simple constants or identifiers").At(b.posType(name))
			}
			ints = append(ints, int32(v))
		}
		mod, err := types.TypmodIn(t.OID, ints)
		if err != nil {
			return t, b.At(err, b.spotType(name))
		}
		t.Mod = mod
	}
	t = Physical(t)
	if bounds := Items(n.ArrayBounds); len(bounds) > 0 {
		// PostgreSQL does not distinguish int[] from int[][].
		a, ok := b.ArrayOf(t)
		if !ok {
			return t, pgerr.New(pgerr.UndefinedObject, "could not find array type for data type %s", b.TypeName(t)).At(b.posType(name))
		}
		t = a
	}
	return t, nil
}

// NamedType finds a type by name; pg_catalog comes first.
func (b *Resolver) NamedType(schema, name string) (types.Type, bool) {
	if schema == "" || schema == "pg_catalog" {
		if o, ok := types.ByTypname(name); ok {
			return types.Type{OID: o, Mod: -1}, true
		}
		if schema != "" {
			return types.Type{}, false
		}
	}
	for _, sch := range b.Schemas(schema) {
		if e := b.State.Enum(sch.OID, name); e != nil {
			return types.Type{OID: e.OID, Mod: -1}, true
		}
		if len(name) > 1 && name[0] == '_' {
			if e := b.State.Enum(sch.OID, name[1:]); e != nil {
				return types.Type{OID: e.ArrayOID, Mod: -1}, true
			}
		}
		if r := b.State.Relation(sch.OID, name); r != nil && r.Kind != catalog.KindIndex && r.Kind != catalog.KindSequence {
			return rowType(r), true
		}
	}
	return types.Type{}, false
}

// Schemas returns the schemas to search for a name in the binder's text. A view does not read
// temporary tables of the session that uses it.
func (b *Resolver) Schemas(schema string) []*catalog.Schema {
	return b.Names.schemas(schema, b.Path, b.View == nil)
}

// MayLookIn is MayLookIn for a name in the binder's text. The names of a view's
// text were looked up when the view was made.
func (b *Resolver) MayLookIn(schema string) error {
	if b.View != nil {
		return nil
	}
	return b.At(b.Names.MayLookIn(schema), b.SpotIdent(schema))
}

// rowType returns the record type of a relation's rows.
func rowType(r *catalog.Relation) types.Type {
	rec := &types.Record{Rel: r.OID}
	for _, c := range r.Live() {
		rec.Fields = append(rec.Fields, types.Field{Name: c.Name, Type: c.Type})
	}
	t := types.RecordT
	t.Rec = rec
	return t
}

// Physical chooses how values of a declared type are represented: numeric(p,s) of up
// to 18 digits is fixed.
func Physical(t types.Type) types.Type {
	if t.OID != types.NumericOID {
		return t
	}
	if p, s, ok := number.NumericMod(t.Mod); ok && p >= 1 && p <= types.MaxFixedDigits && s >= 0 && s <= p {
		t.Prec, t.Scale = uint8(p), uint8(s)
	}
	return t
}

// PlainNumeric returns t in the variable representation if it is a numeric or an array of them.
func PlainNumeric(t types.Type) types.Type {
	t.Prec, t.Scale = 0, 0
	return t
}

func (b *Resolver) ArrayOf(t types.Type) (types.Type, bool) {
	if a, ok := types.ArrayOf(t); ok {
		return a, true
	}
	return t, false
}

// Elem returns the element type of an array.
func (b *Resolver) Elem(t types.Type) (types.Type, bool) {
	if e, ok := t.Elem(); ok {
		return e, true
	}
	return t, false
}

func (b *Resolver) IsArray(t types.Type) bool { _, ok := b.Elem(t); return ok }

func (b *Resolver) IsEnum(o types.OID) bool {
	if o < types.FirstUserOID {
		return false
	}
	e := b.State.EnumByOID(o)
	return e != nil && e.OID == o
}

// Category returns pg_type.typcategory, for users' types too.
func (b *Resolver) Category(o types.OID) byte {
	if o >= types.FirstUserOID {
		if b.IsEnum(o) {
			return 'E'
		}
		return 'A'
	}
	if (types.Type{OID: o}).IsArray() && o != types.Int2VectorOID && o != types.OIDVectorOID {
		return 'A'
	}
	return fn.Category(o)
}

// TypeName returns the name of a type in messages, without its modifier.
func (b *Resolver) TypeName(t types.Type) string {
	t.Mod = -1
	switch t.OID {
	case types.BpcharOID:
		return "character"
	case 0:
		return "unknown"
	}
	return b.State.TypeName(t)
}

// FullTypeName returns the name of a type with its modifier.
func (b *Resolver) FullTypeName(t types.Type) string {
	if t.Mod < 0 && t.OID != types.BpcharOID {
		return b.TypeName(t)
	}
	return t.String()
}

// At sets the position of err if it is ours and has none.
func (b *Resolver) At(err error, pos Position) error {
	if e := pgerr.From(err); e != nil && e.Position == 0 {
		c := *e
		c.Position = pos.At()
		return &c
	}
	return err
}

// intConst reads an integer literal node.
func intConst(n ast.Node) (int, bool) {
	switch n := n.(type) {
	case *ast.Integer:
		return n.IVal, true
	case *ast.A_Const:
		if v, ok := n.Val.(*ast.Integer); ok && !n.Isnull {
			return v.IVal, true
		}
	case *ast.ParenExpr:
		return intConst(n.Expr)
	case *ast.A_Expr:
		if n.Lexpr == nil && OpName(n.Name) == "-" {
			v, ok := intConst(n.Rexpr)
			return -v, ok
		}
	}
	return 0, false
}
