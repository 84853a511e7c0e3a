package typing

import (
	"slices"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Invocation is a function call with its arguments bound.
type Invocation struct {
	Schema, Name string
	Args         []expr.Expr
	Names        []string // per argument, "" for a positional one
	Variadic     bool     // the last argument is written VARIADIC
	Pos          Position
	// Default binds the default of a parameter of a user's function.
	Default func(text string) (expr.Expr, error)
}

// CallByName binds a call that the binder itself makes.
func (b *Resolver) CallByName(name string, args []expr.Expr, pos Position) (expr.Expr, error) {
	inv := &Invocation{Name: name, Args: args, Names: make([]string, len(args)), Pos: pos}
	c, err := b.Resolve(inv)
	if err != nil {
		return nil, err
	}
	args, ret, err := b.BindArgs(c, inv)
	if err != nil {
		return nil, err
	}
	return &expr.Call{Fn: c.Func, Args: args, Typ: ret}, nil
}

// Resolve chooses the overload of a call.
func (b *Resolver) Resolve(inv *Invocation) (Candidate, error) {
	list, err := overloads(b, inv)
	if err != nil {
		return Candidate{}, err
	}
	in := OIDsOf(inv.Args)
	var cands []Candidate
	for _, f := range list {
		if c, ok := arrange(f, inv); ok {
			cands = append(cands, c)
		}
	}
	var exact *Candidate
	for i := range cands {
		c := &cands[i]
		if oidsEqual(c.pick(in), c.Args) && (exact == nil || exact.variadic && !c.variadic) {
			exact = c
		}
	}
	if exact != nil {
		return *exact, nil
	}
	// A name of a type with one argument is a cast, before overloads are considered.
	if len(in) == 1 && inv.Names[0] == "" && in[0] == types.UnknownOID && !inv.Variadic {
		if t, ok := b.NamedType(inv.Schema, inv.Name); ok && t.OID != types.RecordOID {
			return Candidate{}, nil
		}
	}
	var ok []Candidate
	for i := range cands {
		if b.Fits(cands[i].pick(in), &cands[i]) {
			ok = append(ok, cands[i])
		}
	}
	// Without variadic expansion, and without defaults, is nearer.
	ok = nearest(ok)
	if len(ok) > 1 && !slices.ContainsFunc(ok, func(c Candidate) bool { return !slices.Equal(c.order, ok[0].order) }) {
		ok = b.Pick(ok[0].pick(in), ok)
	}
	switch len(ok) {
	case 1:
		return ok[0], nil
	case 0:
		name := inv.Name
		if inv.Schema != "" {
			name = inv.Schema + "." + name
		}
		return Candidate{}, pgerr.New(pgerr.UndefinedFunction, "function %s does not exist", b.Signature(name, inv.Args, inv.Names)).
			WithHint("No function matches the given name and argument types. You might need to add explicit type casts.").At(inv.Pos.At())
	}
	return Candidate{}, pgerr.New(pgerr.AmbiguousFunction, "function %s is not unique", b.Signature(inv.Name, inv.Args, inv.Names)).
		WithHint("Could not choose a best candidate function. You might need to add explicit type casts.").At(inv.Pos.At())
}

// pick arranges the call's types in the order of c's parameters, leaving out
// those that get their default.
func (c *Candidate) pick(in []types.OID) []types.OID {
	if c.order == nil {
		return in
	}
	out := make([]types.OID, len(c.order))
	for i, k := range c.order {
		out[i] = c.Args[i]
		if k >= 0 {
			out[i] = in[k]
		}
	}
	return out
}

// nearest drops variadic and defaulted candidates with the same parameters as a plain one.
func nearest(cands []Candidate) []Candidate {
	var out []Candidate
	for i, c := range cands {
		shadowed := false
		for k, d := range cands {
			if i != k && oidsEqual(c.Args, d.Args) && (c.variadic && !d.variadic || c.order != nil && d.order == nil) {
				shadowed = true
			}
		}
		if !shadowed {
			out = append(out, c)
		}
	}
	return out
}

// arrange fits a call's arguments to an overload's parameters.
func arrange(f *fn.Func, inv *Invocation) (Candidate, bool) {
	n := len(inv.Args)
	named := n > 0 && inv.Names[n-1] != ""
	if f.Variadic != 0 && !inv.Variadic && !named {
		if n < len(f.Args) {
			return Candidate{}, false
		}
		c := Candidate{Func: f, variadic: true}
		for i := 0; i < n; i++ {
			c.Args = append(c.Args, f.ArgType(i))
		}
		return c, true
	}
	if n > len(f.Args) || n+len(f.Defaults) < len(f.Args) {
		return Candidate{}, false
	}
	if n == len(f.Args) && !named {
		return Candidate{Func: f, Args: f.Args}, true
	}
	c := Candidate{Func: f, Args: f.Args, order: make([]int, len(f.Args))}
	for i := range c.order {
		c.order[i] = -1
	}
	for i, name := range inv.Names {
		at := i
		if name != "" {
			at = -1
			for k, an := range f.ArgNames {
				if an == name {
					at = k
				}
			}
			if at < 0 || c.order[at] >= 0 {
				return Candidate{}, false
			}
		}
		c.order[at] = i
	}
	for i, k := range c.order {
		if k < 0 && i < len(f.Args)-len(f.Defaults) {
			return Candidate{}, false
		}
	}
	return c, true
}

// BindArgs puts the arguments of a resolved call in order, with defaults, and
// coerces them.
func (b *Resolver) BindArgs(c Candidate, inv *Invocation) ([]expr.Expr, types.Type, error) {
	args := inv.Args
	if c.order != nil {
		args = make([]expr.Expr, len(c.order))
		for i, k := range c.order {
			if k >= 0 {
				args[i] = inv.Args[k]
				continue
			}
			text := c.Func.Defaults[i-(len(c.Func.Args)-len(c.Func.Defaults))]
			bind := b.defaultArg
			if c.Func.User != nil && inv.Default != nil {
				bind = inv.Default
			}
			e, err := bind(text)
			if err != nil {
				return nil, types.Type{}, err
			}
			args[i] = e
		}
	}
	if c.Func.User != nil && c.variadic {
		return gathered(b, c, args, inv.Pos)
	}
	if inv.Variadic && c.Func.Variadic == types.AnyOID {
		// concat(VARIADIC ARRAY[…]) spreads; another array's length is not known.
		elems, ok := spread(args[len(args)-1])
		if !ok {
			return nil, types.Type{}, pgerr.Unsupported("VARIADIC of an array that is no constant and not written as ARRAY[…] is not supported for %s", inv.Name).At(inv.Pos.At())
		}
		args = append(append([]expr.Expr(nil), args[:len(args)-1]...), elems...)
		for len(c.Args) < len(args) {
			c.Args = append(append([]types.OID(nil), c.Args...), types.AnyOID)
		}
		c.Args = c.Args[:len(args)]
	}
	return b.Arguments(c.Func, c.Args, args, inv.Pos)
}

// defaultArg returns the default of a function's parameter: a literal, read as the parameter's type.
func (b *Resolver) defaultArg(text string) (expr.Expr, error) {
	n, err := ParseExpr(text)
	if err != nil {
		return nil, err
	}
	if cast, ok := n.(*ast.TypeCast); ok {
		n = cast.Arg
	}
	lit, ok := n.(*ast.A_Const)
	if !ok {
		return nil, pgerr.Internal("the default %s of a parameter is no literal", text)
	}
	return b.Constant(lit)
}

// spread returns the elements of an array whose length is known.
func spread(e expr.Expr) (elems []expr.Expr, ok bool) {
	switch e := e.(type) {
	case *expr.ArrayCtor:
		return e.Elems, true
	case *expr.Const:
		a, ok := e.Val.(types.Array)
		if !ok {
			return nil, false
		}
		t, _ := e.Typ.Elem()
		for _, d := range a.Elems {
			elems = append(elems, &expr.Const{Val: d, Typ: t})
		}
		return elems, true
	}
	return nil, false
}

// OfArray binds f(…, VARIADIC array) of an array of unknown length as a
// function of the array itself; nil where there is none that does the same.
//
//	num_nonnulls(VARIADIC a)      →  cardinality(array_remove(a, NULL))
//	num_nulls(VARIADIC a)         →  cardinality(a) - cardinality(array_remove(a, NULL))
//	concat(VARIADIC a)            →  array_to_string(a, '')
//	concat_ws(sep, VARIADIC a)    →  array_to_string(a, sep)
func (b *Resolver) OfArray(c Candidate, inv *Invocation) (expr.Expr, error) {
	if !inv.Variadic || c.Func.Variadic != types.AnyOID || c.order != nil {
		return nil, nil
	}
	last := inv.Args[len(inv.Args)-1]
	elem, isArray := b.Elem(last.Type())
	if _, known := spread(last); known || !isArray {
		return nil, nil
	}
	call := func(name string, args ...expr.Expr) (expr.Expr, error) { return b.Call(name, inv.Pos, args...) }
	switch c.Func.ID {
	case "num_nonnulls(any)", "num_nulls(any)":
		some, err := call("array_remove", last, &expr.Const{Typ: elem})
		if err != nil {
			return nil, err
		}
		n, err := call("cardinality", some)
		if err != nil || c.Func.Name == "num_nonnulls" {
			return n, err
		}
		all, err := call("cardinality", last)
		if err != nil {
			return nil, err
		}
		return b.Operator("-", all, n, inv.Pos)
	case "concat(any)":
		if len(inv.Args) == 1 {
			return call("array_to_string", last, &expr.Const{Val: "", Typ: types.Text})
		}
	case "concat_ws(text,any)":
		if len(inv.Args) == 2 {
			return call("array_to_string", last, inv.Args[0])
		}
	}
	return nil, nil
}

// Call binds a call of one of the catalog's plain functions.
func (b *Resolver) Call(name string, pos Position, args ...expr.Expr) (expr.Expr, error) {
	inv := &Invocation{Schema: "pg_catalog", Name: name, Args: args, Names: make([]string, len(args)), Pos: pos}
	c, err := b.Resolve(inv)
	if err != nil {
		return nil, err
	}
	args, ret, err := b.BindArgs(c, inv)
	if err != nil {
		return nil, err
	}
	return &expr.Call{Fn: c.Func, Args: args, Typ: ret}, nil
}
