package typing

import (
	"strings"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Candidate is an overload that a call may mean: its argument types, as many as the
// call has arguments.
type Candidate struct {
	Args     []types.OID
	Func     *fn.Func
	op       *fn.Operator
	variadic bool  // the last arguments are elements of the variadic array
	order    []int // argument of the call for each parameter, -1 for a default; nil: as written
}

// Pick chooses among overloads whose arguments can all be coerced, by the
// rules of the manual's sections 10.2 and 10.3. It returns what is left: one
// is the choice, more are ambiguous.
func (b *Resolver) Pick(in []types.OID, cands []Candidate) []Candidate {
	if len(cands) < 2 {
		return cands
	}
	best := func(score func(c *Candidate) int) {
		top := -1
		var out []Candidate
		for i := range cands {
			n := score(&cands[i])
			if n > top {
				top, out = n, out[:0:0]
			}
			if n == top {
				out = append(out, cands[i])
			}
		}
		cands = out
	}
	known := func(i int) bool { return in[i] != types.UnknownOID }
	best(func(c *Candidate) (n int) {
		for i, a := range c.Args {
			if known(i) && a == in[i] {
				n++
			}
		}
		return n
	})
	if len(cands) == 1 {
		return cands
	}
	best(func(c *Candidate) (n int) {
		for i, a := range c.Args {
			if known(i) && (a == in[i] || b.Category(a) == b.Category(in[i]) && fn.Preferred(a)) {
				n++
			}
		}
		return n
	})
	if len(cands) == 1 {
		return cands
	}
	unknowns := 0
	for i := range in {
		if !known(i) {
			unknowns++
		}
	}
	if unknowns == 0 {
		return cands
	}
	if left := b.pickByCategory(in, cands); len(left) > 0 {
		cands = left
	}
	if len(cands) == 1 || unknowns == len(in) {
		return cands
	}
	// All known arguments are of one type: assume it for the others, too.
	var same types.OID
	for i := range in {
		if !known(i) {
			continue
		}
		if same != 0 && in[i] != same {
			return cands
		}
		same = in[i]
	}
	var fits []Candidate
	for _, c := range cands {
		all := make([]types.OID, len(in))
		for i := range all {
			all[i] = same
		}
		if b.Fits(all, &c) {
			fits = append(fits, c)
		}
	}
	if len(fits) == 1 {
		return fits
	}
	return cands
}

// pickByCategory considers the positions of unknown literals: string is preferred where some
// overload takes one, else all must agree on a category.
func (b *Resolver) pickByCategory(in []types.OID, cands []Candidate) []Candidate {
	cat := make([]byte, len(in))
	preferred := make([]bool, len(in))
	for i := range in {
		if in[i] != types.UnknownOID {
			continue
		}
		conflict := false
		for _, c := range cands {
			k, p := b.Category(c.Args[i]), fn.Preferred(c.Args[i])
			switch {
			case cat[i] == 0:
				cat[i], preferred[i] = k, p
			case k == cat[i]:
				preferred[i] = preferred[i] || p
			case k == 'S':
				cat[i], preferred[i] = k, p
			case cat[i] != 'S':
				conflict = true
			}
		}
		if conflict && cat[i] != 'S' {
			return nil
		}
	}
	var out []Candidate
	for _, c := range cands {
		ok := true
		for i := range in {
			if in[i] != types.UnknownOID {
				continue
			}
			if b.Category(c.Args[i]) != cat[i] || preferred[i] && !fn.Preferred(c.Args[i]) {
				ok = false
			}
		}
		if ok {
			out = append(out, c)
		}
	}
	return out
}

// Fits reports whether a call with these argument types can be coerced to c's.
func (b *Resolver) Fits(in []types.OID, c *Candidate) bool {
	for i, a := range c.Args {
		if !b.CanCoerce(in[i], a, fn.ImplicitCast) {
			return false
		}
	}
	return b.polyAgrees(in, c.Args)
}

// polyAgrees reports whether arguments for anyelement, anyarray and the like have one element type.
func (b *Resolver) polyAgrees(in, decl []types.OID) bool {
	var elem types.OID
	var compat []types.Type
	for i, d := range decl {
		t := in[i]
		if t == types.UnknownOID {
			continue
		}
		switch d.Class() {
		case types.ClassAnyArray:
			e, _ := b.Elem(types.Type{OID: t})
			t = e.OID
		case types.ClassAnyElement:
			if d == types.AnyNonArrayOID && b.IsArray(types.Type{OID: t}) {
				return false
			}
		case types.ClassAnyCompatibleArray:
			e, ok := b.Elem(types.Type{OID: t})
			if !ok {
				return false
			}
			compat = append(compat, e)
			continue
		case types.ClassAnyCompatible:
			compat = append(compat, types.Type{OID: t})
			continue
		default:
			continue
		}
		if elem != 0 && elem != t {
			return false
		}
		elem = t
	}
	if len(compat) > 1 {
		common, err := b.CommonType("", compat, Position{})
		if err != nil {
			return false
		}
		for _, t := range compat {
			if !b.CanCoerce(t.OID, common.OID, fn.ImplicitCast) {
				return false
			}
		}
	}
	return true
}

func OIDsOf(args []expr.Expr) []types.OID {
	out := make([]types.OID, len(args))
	for i, a := range args {
		out[i] = a.Type().OID
		if out[i] == 0 {
			out[i] = types.UnknownOID
		}
	}
	return out
}

// operatorFor resolves a binary operator; with l nil a prefix one.
func (b *Resolver) operatorFor(name string, l, r expr.Expr, pos Position) (*fn.Operator, error) {
	var in []types.OID
	var list []*fn.Operator
	if l == nil {
		in, list = OIDsOf([]expr.Expr{r}), fn.Prefix(name)
	} else {
		in, list = OIDsOf([]expr.Expr{l, r}), fn.Operators(name)
	}
	exact := append([]types.OID(nil), in...)
	if l != nil {
		// An unknown operand is first assumed to be of the other's type.
		if exact[0] == types.UnknownOID {
			exact[0] = exact[1]
		} else if exact[1] == types.UnknownOID {
			exact[1] = exact[0]
		}
	}
	var cands []Candidate
	for _, op := range list {
		c := Candidate{Args: []types.OID{op.Left, op.Right}, op: op, Func: op.Func}
		if l == nil {
			c.Args = c.Args[1:]
		} else if op.Left == 0 {
			continue
		}
		if oidsEqual(exact, c.Args) {
			return op, nil
		}
		cands = append(cands, c)
	}
	var ok []Candidate
	for i := range cands {
		if b.Fits(in, &cands[i]) {
			ok = append(ok, cands[i])
		}
	}
	switch ok = b.Pick(in, ok); len(ok) {
	case 1:
		return ok[0].op, nil
	case 0:
		return nil, pgerr.New(pgerr.UndefinedFunction, "operator does not exist: %s", b.opText(name, l, r)).
			WithHint("No operator matches the given name and argument types. You might need to add explicit type casts.").At(pos.At())
	}
	return nil, pgerr.New(pgerr.AmbiguousFunction, "operator is not unique: %s", b.opText(name, l, r)).
		WithHint("Could not choose a best candidate operator. You might need to add explicit type casts.").At(pos.At())
}

func (b *Resolver) opText(name string, l, r expr.Expr) string {
	s := name + " " + b.TypeName(r.Type())
	if l != nil {
		s = b.TypeName(l.Type()) + " " + s
	}
	return s
}

func oidsEqual(a, c []types.OID) bool {
	if len(a) != len(c) {
		return false
	}
	for i := range a {
		if a[i] != c[i] {
			return false
		}
	}
	return true
}

// Operator binds l op r, or op r where l is nil.
func (b *Resolver) Operator(name string, l, r expr.Expr, pos Position) (expr.Expr, error) {
	if pos.b == nil {
		pos = b.SpotOp(name)
	}
	op, err := b.operatorFor(name, l, r, pos)
	if err != nil {
		return nil, err
	}
	decl, args := []types.OID{op.Left, op.Right}, []expr.Expr{l, r}
	if l == nil {
		decl, args = decl[1:], args[1:]
	}
	args, ret, err := b.Arguments(op.Func, decl, args, pos)
	if err != nil {
		return nil, err
	}
	if err := b.comparesParts(name, args, pos); err != nil {
		return nil, err
	}
	return &expr.Call{Fn: op.Func, Args: args, Typ: ret, Op: name}, nil
}

// Equality returns the function of = for two operands, and the operands coerced to its types.
func (b *Resolver) Equality(l, r expr.Expr, pos Position) (*fn.Func, expr.Expr, expr.Expr, error) {
	e, err := b.Operator("=", l, r, pos)
	if err != nil {
		return nil, nil, nil, err
	}
	c := e.(*expr.Call)
	return c.Fn, c.Args[0], c.Args[1], nil
}

// Comparable refuses types that GROUP BY, DISTINCT and set operations cannot
// compare (json), or that cannot be sorted.
func (b *Resolver) Comparable(t types.Type, order bool, pos Position) error {
	op, what := "=", "an equality"
	if order {
		op, what = "<", "an ordering"
	}
	if part, lacks := b.Lacks(op, t); lacks {
		if t.OID == types.RecordOID {
			t = part
		}
		e := pgerr.New(pgerr.UndefinedFunction, "could not identify %s operator for type %s", what, b.TypeName(t)).At(pos.At())
		if order {
			e = e.WithHint("Use an explicit ordering operator or modify the query.")
		}
		return e
	}
	return nil
}

// Lacks finds the type, t itself or one of its elements or fields, that has no such operator.
func (b *Resolver) Lacks(op string, t types.Type) (types.Type, bool) {
	if t.OID == types.UnknownOID {
		return t, false
	}
	if el, ok := b.Elem(t); ok {
		return b.Lacks(op, el)
	}
	if t.OID == types.RecordOID {
		if t.Rec != nil {
			for _, f := range t.Rec.Fields {
				if part, lacks := b.Lacks(op, f.Type); lacks {
					return part, true
				}
			}
		}
		return t, false
	}
	probe := &expr.Const{Typ: t}
	_, err := b.operatorFor(op, probe, probe, Position{})
	return t, err != nil
}

// comparesParts refuses the operators that compare the elements of arrays and fields of rows where
// these cannot be compared.
func (b *Resolver) comparesParts(name string, args []expr.Expr, pos Position) error {
	op, what := "=", "an equality operator"
	switch name {
	case "=", "<>", "@>", "<@", "&&":
	case "<", "<=", ">", ">=":
		op, what = "<", "a comparison function"
	default:
		return nil
	}
	for _, a := range args {
		if t := a.Type(); t.OID == types.RecordOID || b.IsArray(t) {
			if part, lacks := b.Lacks(op, t); lacks {
				return pgerr.New(pgerr.UndefinedFunction, "could not identify %s for type %s", what, b.TypeName(part)).At(pos.At())
			}
		}
	}
	return nil
}

// Arguments coerces a call's arguments to the overload's types, resolves its polymorphic types, and
// chooses how numerics are represented.
func (b *Resolver) Arguments(f *fn.Func, decl []types.OID, args []expr.Expr, pos Position) ([]expr.Expr, types.Type, error) {
	want, ret, err := b.polymorph(f, decl, args, pos)
	if err != nil {
		return nil, ret, err
	}
	out := make([]expr.Expr, len(args))
	ts := make([]types.Type, len(args))
	for i, a := range args {
		if want[i].OID == types.AnyOID && f.Name != "pg_typeof" {
			if c, ok := a.(*expr.Const); ok && IsUnknown(c) {
				a = &expr.Const{Val: c.Val, Typ: types.Text}
			}
		}
		if TextLike(a.Type().OID) && TextLike(want[i].OID) {
			out[i] = a
		} else if out[i], err = b.Coerce(a, want[i], fn.ImplicitCast, Position{}); err != nil {
			return nil, ret, err
		}
		ts[i] = out[i].Type()
	}
	physical, r := f.BindArgs(ts)
	for i := range out {
		if i < len(physical) {
			out[i] = b.AsPhysical(out[i], physical[i])
		}
	}
	if r.OID.IsPolymorphic() || ret.OID >= types.FirstUserOID {
		r = ret
	}
	if r.OID == types.RecordOID && r.Rec == nil {
		r.Rec = ret.Rec
	}
	return out, r, nil
}

// polymorph returns the types that declared ones stand for in this call, and the
// type of the result.
func (b *Resolver) polymorph(f *fn.Func, decl []types.OID, args []expr.Expr, pos Position) ([]types.Type, types.Type, error) {
	want := make([]types.Type, len(decl))
	var elem types.Type
	var compat []types.Type
	anyPoly := f.Ret.IsPolymorphic()
	for i, d := range decl {
		want[i] = types.Type{OID: d, Mod: -1}
		if !d.IsPolymorphic() {
			continue
		}
		anyPoly = true
		t := args[i].Type()
		if t.OID == types.UnknownOID || t.OID == 0 {
			continue
		}
		t.Mod = -1
		class := d.Class()
		if class == types.ClassAnyArray || class == types.ClassAnyCompatibleArray {
			t, _ = b.Elem(t)
		}
		if class == types.ClassAnyCompatible || class == types.ClassAnyCompatibleArray {
			compat = append(compat, t)
		} else if elem.OID == 0 || elem.OID == types.RecordOID && elem.Rec == nil {
			elem = t
		}
	}
	ret := types.Type{OID: f.Ret, Mod: -1}
	if !anyPoly {
		return want, ret, nil
	}
	var common types.Type
	if len(compat) > 0 {
		var err error
		if common, err = b.CommonType(f.Name, compat, pos); err != nil {
			return nil, ret, err
		}
	} else {
		common = types.Text
	}
	for i := range want {
		t, err := b.concrete(want[i].OID, elem, common, pos)
		if err != nil {
			return nil, ret, err
		}
		if t.OID == 0 {
			continue
		}
		want[i] = t
		// The vector types of the catalogs are kept: their subscripts begin at 0.
		if a := args[i].Type(); a.OID == types.Int2VectorOID || a.OID == types.OIDVectorOID {
			ae, _ := a.Elem()
			if te, ok := t.Elem(); ok && ae.OID == te.OID {
				want[i] = a
			}
		}
	}
	t, err := b.concrete(f.Ret, elem, common, pos)
	if err != nil {
		return nil, ret, err
	}
	if t.OID != 0 {
		ret = PlainNumeric(t)
	}
	return want, ret, nil
}

// concrete returns the type that a pseudo-type stands for; OID 0 for other types.
func (b *Resolver) concrete(o types.OID, elem, common types.Type, pos Position) (types.Type, error) {
	switch class := o.Class(); class {
	case types.ClassAnyElement, types.ClassAnyArray:
		if elem.OID == 0 {
			return elem, pgerr.New(pgerr.DatatypeMismatch, "could not determine polymorphic type because input has type unknown").At(pos.At())
		}
		if class == types.ClassAnyElement {
			return elem, nil
		}
	case types.ClassAnyCompatibleArray:
		elem = common
	case types.ClassAnyCompatible:
		return common, nil
	default:
		return types.Type{}, nil
	}
	a, ok := b.ArrayOf(elem)
	if !ok {
		return a, pgerr.New(pgerr.UndefinedObject, "could not find array type for data type %s", b.TypeName(elem)).At(pos.At())
	}
	return a, nil
}

// Signature returns name(type, type) for messages.
func (b *Resolver) Signature(name string, args []expr.Expr, names []string) string {
	parts := make([]string, len(args))
	for i, a := range args {
		parts[i] = b.TypeName(a.Type())
		if i < len(names) && names[i] != "" {
			parts[i] = names[i] + " => " + parts[i]
		}
	}
	return name + "(" + strings.Join(parts, ", ") + ")"
}
