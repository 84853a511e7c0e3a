package typing

import (
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func IsUnknown(e expr.Expr) bool { return e.Type().OID == types.UnknownOID }

// CanCoerce reports whether a value of one type may become one of another in a context: implicit in
// expressions, assignment when stored, explicit in a cast.
func (b *Resolver) CanCoerce(from, to types.OID, ctx fn.CastContext) bool {
	if from == to || from == types.UnknownOID || from == 0 {
		return true
	}
	if takes, is := fn.Polymorphic(to, b.IsArray(types.Type{OID: from}), b.IsEnum(from)); is {
		return takes
	}
	if to == types.Int2VectorOID || to == types.OIDVectorOID {
		return ctx == fn.ExplicitCast && b.Category(from) == 'S'
	}
	if c, ok := fn.Cast(from, to); ok {
		return ctx == fn.ExplicitCast || c == fn.ImplicitCast || ctx == fn.AssignmentCast && c == fn.AssignmentCast
	}
	fe, ok1 := b.Elem(types.Type{OID: from})
	te, ok2 := b.Elem(types.Type{OID: to})
	if ok1 && ok2 && to != types.Int2VectorOID && to != types.OIDVectorOID {
		return b.CanCoerce(fe.OID, te.OID, ctx)
	}
	if ctx == fn.ImplicitCast {
		return false
	}
	// Through text: to a string on assignment, from one explicitly.
	if b.Category(to) == 'S' && from != types.VoidOID {
		return true
	}
	return ctx == fn.ExplicitCast && b.Category(from) == 'S' && to != types.RecordOID && to != types.VoidOID
}

// TextLike reports whether a function over text reads values of the type unchanged. That is not so for
// bpchar, whose values lose their trailing blanks.
func TextLike(o types.OID) bool {
	return o.Class() == types.ClassText && o != types.BpcharOID
}

// Coerce makes e a value of type to, which CanCoerce allows. A modifier is
// applied where to has one. pos is for errors, 0 to look for the literal.
func (b *Resolver) Coerce(e expr.Expr, to types.Type, ctx fn.CastContext, pos Position) (expr.Expr, error) {
	from := e.Type()
	if to.OID == types.AnyOID {
		return e, nil
	}
	if from.OID == types.UnknownOID {
		return b.coerceUnknown(e, to, ctx, pos)
	}
	if from.OID == to.OID {
		return b.CoerceMod(e, to, ctx, pos)
	}
	switch x := e.(type) {
	case *expr.Const:
		if x.Val == nil {
			return &expr.Const{Typ: to}, nil
		}
		if c := foldConst(x, to); c != nil {
			return b.CoerceMod(c, to, ctx, pos)
		}
	case *expr.ArrayCtor:
		if el, ok := b.Elem(to); ok {
			n := &expr.ArrayCtor{Elems: make([]expr.Expr, len(x.Elems)), Typ: PlainNumeric(to)}
			for i, a := range x.Elems {
				a, err := b.Coerce(a, el, ctx, pos)
				if err != nil {
					return nil, err
				}
				n.Elems[i] = b.AsPhysical(a, PlainNumeric(el))
			}
			return n, nil
		}
	}
	if !b.CanCoerce(from.OID, to.OID, ctx) {
		return nil, pgerr.New(pgerr.CannotCoerce, "cannot cast type %s to %s", b.TypeName(from), b.TypeName(to)).At(pos.At())
	}
	t := to
	if t.OID == types.NumericOID && t.Prec == 0 && t.Mod < 0 && from.IsInteger() && from.Form() != types.FormInt64 {
		t = types.FixedNumeric(map[types.Form]uint8{types.FormInt16: 5, types.FormInt32: 10}[from.Form()], 0, false)
	}
	return &expr.Cast{Arg: e, Typ: t, Explicit: ctx == fn.ExplicitCast}, nil
}

// CoerceMod applies the modifier of a type that e already has.
func (b *Resolver) CoerceMod(e expr.Expr, to types.Type, ctx fn.CastContext, pos Position) (expr.Expr, error) {
	from := e.Type()
	if to.OID == types.RecordOID {
		return b.coerceRow(e, to, ctx, pos)
	}
	if to.Mod < 0 || to.Mod == from.Mod && to.Prec == from.Prec && to.Scale == from.Scale {
		return e, nil
	}
	if c, ok := e.(*expr.Const); ok {
		// A literal that does not fit is left for execution to refuse: it may
		// stand in a branch that is never taken.
		if d, err := types.ApplyMod(to, c.Val, ctx == fn.ExplicitCast); err == nil {
			return &expr.Const{Val: d, Typ: to}, nil
		}
	}
	return &expr.Cast{Arg: e, Typ: to, Explicit: ctx == fn.ExplicitCast}, nil
}

// coerceRow converts a record field by field.
func (b *Resolver) coerceRow(e expr.Expr, to types.Type, ctx fn.CastContext, pos Position) (expr.Expr, error) {
	from := e.Type()
	if to.Rec == nil || to.Rec == from.Rec {
		return e, nil
	}
	if c, ok := e.(*expr.Const); ok && c.Val == nil {
		return &expr.Const{Typ: to}, nil
	}
	n := -1
	if from.Rec != nil {
		n = len(from.Rec.Fields)
	}
	if n != len(to.Rec.Fields) {
		e := pgerr.New(pgerr.CannotCoerce, "cannot cast type record to %s", b.TypeName(to)).At(pos.At())
		if n > len(to.Rec.Fields) {
			return nil, e.WithDetail("Input has too many columns.")
		}
		return nil, e.WithDetail("Input has too few columns.")
	}
	row := &expr.RowCtor{Typ: to}
	for i, f := range to.Rec.Fields {
		var x expr.Expr = &expr.Field{Arg: e, Index: i, Typ: from.Rec.Fields[i].Type}
		if r, ok := e.(*expr.RowCtor); ok {
			x = r.Elems[i]
		}
		if !b.CanCoerce(x.Type().OID, f.Type.OID, ctx) {
			return nil, pgerr.New(pgerr.CannotCoerce, "cannot cast type record to %s", b.TypeName(to)).
				WithDetail("Cannot cast type %s to %s in column %d.", b.TypeName(x.Type()), b.TypeName(f.Type), i+1).At(pos.At())
		}
		x, err := b.Coerce(x, f.Type, ctx, pos)
		if err != nil {
			return nil, err
		}
		row.Elems = append(row.Elems, b.AsPhysical(x, f.Type))
	}
	return row, nil
}

// coerceUnknown reads a literal as the type that its context requires.
func (b *Resolver) coerceUnknown(e expr.Expr, to types.Type, ctx fn.CastContext, pos Position) (expr.Expr, error) {
	switch x := e.(type) {
	case *expr.Param:
		p, err := b.setParam(x, to)
		if err != nil {
			return nil, err
		}
		return b.CoerceMod(p, to, ctx, pos)
	case *expr.Const:
		if x.Val == nil {
			return &expr.Const{Typ: to}, nil
		}
		s, _ := x.Val.(string)
		if pos.b == nil {
			pos = b.spotLit(s)
		}
		c, err := b.literal(s, to, ctx == fn.ExplicitCast, pos)
		if c == nil && err == nil {
			break
		}
		return c, err
	}
	return &expr.Cast{Arg: e, Typ: to, Explicit: ctx == fn.ExplicitCast}, nil
}

// literal returns the constant of type t that text denotes; nil for types that only execution can
// read.
func (b *Resolver) literal(s string, t types.Type, explicit bool, pos Position) (expr.Expr, error) {
	if t.OID >= types.FirstUserOID {
		en := b.State.EnumByOID(t.OID)
		if en == nil {
			return nil, nil
		}
		if t.IsArray() {
			d, err := types.ParseText(t, s, b.Env)
			if err != nil {
				return nil, b.At(err, pos)
			}
			if l, ok := en.Stranger(d); ok {
				return nil, en.ErrLabel(l).At(pos.At())
			}
			return &expr.Const{Val: d, Typ: t}, nil
		}
		if slices.Contains(en.Labels, s) {
			return &expr.Const{Val: s, Typ: t}, nil
		}
		return nil, en.ErrLabel(s).At(pos.At())
	}
	if t.OID == types.RecordOID && t.Rec == nil {
		return nil, pgerr.Unsupported("input of anonymous composite types is not implemented").At(pos.At())
	}
	bare := PlainNumeric(t)
	if t.OID != types.IntervalOID { // an interval's modifier says what its digits mean
		bare.Mod = -1
	}
	d, err := types.ParseText(bare, s, b.Env)
	if err == nil && t.Mod >= 0 {
		d, err = types.ApplyMod(t, d, explicit)
	}
	if err != nil {
		return nil, b.At(err, pos)
	}
	if dec, ok := d.(number.Decimal); ok && t.Mod < 0 {
		t = fixedFor(dec)
	}
	return &expr.Const{Val: d, Typ: t}, nil
}

// fixedFor returns the tightest fixed numeric type that can represent d, or the variable one.
func fixedFor(d number.Decimal) types.Type {
	scale := d.Scale()
	if !d.IsFinite() || scale < 0 || scale > types.MaxFixedDigits {
		return types.Numeric
	}
	v, ok := d.Coefficient(scale)
	if !ok {
		return types.Numeric
	}
	digits := uint8(1)
	for v /= 10; v != 0; v /= 10 {
		digits++
	}
	if digits > types.MaxFixedDigits {
		return types.Numeric
	}
	return types.FixedNumeric(max(digits, uint8(scale)), uint8(scale), false)
}

// foldConst converts number literals between number types where nothing can go
// wrong; nil for others.
func foldConst(c *expr.Const, to types.Type) *expr.Const {
	switch v := c.Val.(type) {
	case int64:
		lo, hi, toInt := to.IntRange()
		switch {
		case !c.Typ.IsInteger():
		case toInt && lo <= v && v <= hi:
			return &expr.Const{Val: v, Typ: types.Type{OID: to.OID, Mod: -1}}
		case to.OID == types.Float8OID:
			return &expr.Const{Val: float64(v), Typ: types.Float8}
		case to.OID == types.NumericOID:
			d := number.DecimalFromInt64(v, 0)
			return &expr.Const{Val: d, Typ: fixedFor(d)}
		}
	case number.Decimal:
		if to.OID == types.Float8OID && v.IsFinite() {
			return &expr.Const{Val: v.Float64(), Typ: types.Float8}
		}
	}
	return nil
}

// AsPhysical makes a numeric e represented as t is.
func (b *Resolver) AsPhysical(e expr.Expr, t types.Type) expr.Expr {
	from := e.Type()
	if from.OID != t.OID || from.SamePhysical(t) {
		return e
	}
	to := from
	to.Prec, to.Scale = t.Prec, t.Scale
	if c, ok := e.(*expr.Const); ok {
		if c.Val == nil {
			return &expr.Const{Typ: to}
		}
		if d, ok := c.Val.(number.Decimal); ok && (t.Prec == 0 || d.Scale() <= int32(t.Scale)) {
			if t.Prec > 0 {
				d = d.Rescale(int32(t.Scale))
			}
			return &expr.Const{Val: d, Typ: to}
		}
	}
	to.Mod = -1
	return &expr.Cast{Arg: e, Typ: to}
}

// ResolveUnknown coerces an expression that is still of type unknown to text.
func (b *Resolver) ResolveUnknown(e expr.Expr) (expr.Expr, error) {
	if !IsUnknown(e) {
		return e, nil
	}
	return b.coerceUnknown(e, types.Text, fn.ImplicitCast, Position{})
}

// Boolean makes e a condition of the named clause.
func (b *Resolver) Boolean(e expr.Expr, clause string, pos Position) (expr.Expr, error) {
	t := e.Type()
	if t.OID == types.BoolOID {
		return e, nil
	}
	if !b.CanCoerce(t.OID, types.BoolOID, fn.AssignmentCast) {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "argument of %s must be type boolean, not type %s", clause, b.TypeName(t)).At(pos.At())
	}
	return b.Coerce(e, types.Bool, fn.AssignmentCast, pos)
}

// Assign makes e fit a table's column.
func (b *Resolver) Assign(e expr.Expr, name string, t types.Type, pos Position) (expr.Expr, error) {
	from := e.Type()
	if !b.CanCoerce(from.OID, t.OID, fn.AssignmentCast) {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "column \"%s\" is of type %s but expression is of type %s", name, b.TypeName(t), b.TypeName(from)).
			WithHint("You will need to rewrite or cast the expression.").At(pos.At())
	}
	e, err := b.Coerce(e, t, fn.AssignmentCast, pos)
	if err != nil {
		return nil, err
	}
	return b.AsPhysical(e, t), nil
}

// CommonType returns PostgreSQL's choice of one type for the branches of a CASE, a UNION, an array
// (manual, section 10.5). what names the construct in errors.
func (b *Resolver) CommonType(what string, ts []types.Type, pos Position) (types.Type, error) {
	pick := types.Type{OID: types.UnknownOID, Mod: -1}
	for _, t := range ts {
		if t.OID == types.UnknownOID || t.OID == 0 || t.OID == pick.OID {
			continue
		}
		if pick.OID == types.UnknownOID {
			pick = t
			continue
		}
		if b.Category(t.OID) != b.Category(pick.OID) {
			return pick, pgerr.New(pgerr.DatatypeMismatch, "%s types %s and %s cannot be matched", what, b.TypeName(pick), b.TypeName(t)).At(pos.At())
		}
		if !fn.Preferred(pick.OID) && b.CanCoerce(pick.OID, t.OID, fn.ImplicitCast) && !b.CanCoerce(t.OID, pick.OID, fn.ImplicitCast) {
			pick = t
		}
	}
	if pick.OID == types.UnknownOID {
		return types.Text, nil
	}
	for _, t := range ts {
		if t.OID != pick.OID || t.Mod != pick.Mod {
			pick.Mod = -1
			break
		}
	}
	return PlainNumeric(pick), nil
}

// Unify coerces expressions to their common type, with one physical representation.
func (b *Resolver) Unify(what string, es []expr.Expr, pos Position) ([]expr.Expr, types.Type, error) {
	ts := make([]types.Type, len(es))
	for i, e := range es {
		ts[i] = e.Type()
	}
	t, err := b.CommonType(what, ts, pos)
	if err != nil {
		return nil, t, err
	}
	return b.UnifyTo(what, es, t, pos)
}

// UnifyTo coerces expressions to type t, whose physical representation it chooses.
func (b *Resolver) UnifyTo(what string, es []expr.Expr, t types.Type, pos Position) ([]expr.Expr, types.Type, error) {
	if rows, rt, ok, err := b.unifyRows(what, es, t, pos); ok || err != nil {
		return rows, rt, err
	}
	out := make([]expr.Expr, len(es))
	physical := make([]types.Type, 0, len(es))
	for i, e := range es {
		if !b.CanCoerce(e.Type().OID, t.OID, fn.ImplicitCast) {
			return nil, t, pgerr.New(pgerr.CannotCoerce, "%s could not convert type %s to %s", what, b.TypeName(e.Type()), b.TypeName(t)).At(pos.At())
		}
		bare := t
		bare.Mod = -1
		x, err := b.Coerce(e, bare, fn.ImplicitCast, Position{})
		if err != nil {
			return nil, t, err
		}
		out[i] = x
		if c, ok := x.(*expr.Const); !ok || c.Val != nil {
			physical = append(physical, x.Type())
		} else if t.Rec == nil {
			t.Rec = x.Type().Rec
		}
	}
	t = CommonPhysical(t, physical)
	for i := range out {
		out[i] = b.AsPhysical(out[i], t)
		if c, ok := out[i].(*expr.Const); ok && (c.Val == nil || t.OID == types.NumericOID) {
			out[i] = &expr.Const{Val: c.Val, Typ: t}
		}
	}
	return out, t, nil
}

// unifyRows coerces row constructors of one width to a common type field by field: PostgreSQL's
// rows need not agree, but a column's values must.
func (b *Resolver) unifyRows(what string, es []expr.Expr, t types.Type, pos Position) ([]expr.Expr, types.Type, bool, error) {
	if t.OID != types.RecordOID {
		return nil, t, false, nil
	}
	width := -1
	var rows []*expr.RowCtor
	for _, e := range es {
		if IsNullConst(e) {
			continue
		}
		r, ok := e.(*expr.RowCtor)
		if !ok || width >= 0 && len(r.Elems) != width {
			return nil, t, false, nil
		}
		width = len(r.Elems)
		rows = append(rows, r)
	}
	if len(rows) < 2 {
		return nil, t, false, nil
	}
	rec := &types.Record{}
	cells := make([][]expr.Expr, len(rows))
	for i := 0; i < width; i++ {
		column := make([]expr.Expr, len(rows))
		for k, r := range rows {
			column[k] = r.Elems[i]
		}
		column, ct, err := b.Unify(what, column, pos)
		if err != nil {
			return nil, t, true, err
		}
		for k := range rows {
			cells[k] = append(cells[k], column[k])
		}
		rec.Fields = append(rec.Fields, types.Field{Name: rows[0].Typ.Rec.Fields[i].Name, Type: ct})
	}
	t.Rec = rec
	out := make([]expr.Expr, 0, len(es))
	for _, e := range es {
		if IsNullConst(e) {
			out = append(out, &expr.Const{Typ: t})
			continue
		}
		out = append(out, &expr.RowCtor{Elems: cells[0], Typ: t})
		cells = cells[1:]
	}
	return out, t, true, nil
}

// CommonPhysical returns t in the physical representation that all of ts have, or variable where they differ.
func CommonPhysical(t types.Type, ts []types.Type) types.Type {
	t.Prec, t.Scale = 0, 0
	for i, x := range ts {
		if x.OID != t.OID {
			continue
		}
		if i == 0 {
			t.Prec, t.Scale = x.Prec, x.Scale
			if t.OID == types.RecordOID {
				t.Rec = x.Rec
			}
			continue
		}
		if x.Prec == 0 || t.Prec == 0 || x.Scale != t.Scale {
			t.Prec, t.Scale = 0, 0
			break
		}
		t.Prec = max(t.Prec, x.Prec)
	}
	return t
}

func IsNullConst(e expr.Expr) bool {
	c, ok := e.(*expr.Const)
	return ok && c.Val == nil
}
