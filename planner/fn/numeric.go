package fn

import "github.com/tributarydb/tributary/sql/types"

// How numerics are represented through calls. A fixed numeric of Prec p and Scale s holds |x| <
// 10^(p-s); the rules below return the least Prec that is proved by those of the arguments, and
// fall back to variable where it exceeds 18. Calls whose result is variable still take fixed
// arguments: the evaluator reads both, and an encoding of every argument would cost more than the
// operation.
var binds = map[string]func([]types.Type) ([]types.Type, types.Type){
	"numeric_add(numeric,numeric)": addRule,
	"numeric_sub(numeric,numeric)": addRule,
	"numeric_mul(numeric,numeric)": mulRule,
	"numeric_mod(numeric,numeric)": modRule,
	"mod(numeric,numeric)":         modRule,
	"numeric_uminus(numeric)":      sameRule,
	"numeric_uplus(numeric)":       sameRule,
	"numeric_abs(numeric)":         sameRule,
	"abs(numeric)":                 sameRule,
	"ceil(numeric)":                integralRule,
	"ceiling(numeric)":             integralRule,
	"floor(numeric)":               integralRule,
	"round(numeric)":               integralRule,
	"trunc(numeric)":               integralRule,
	"sign(numeric)":                signRule,
	"numeric_eq(numeric,numeric)":  compareRule(types.Bool),
	"numeric_ne(numeric,numeric)":  compareRule(types.Bool),
	"numeric_lt(numeric,numeric)":  compareRule(types.Bool),
	"numeric_le(numeric,numeric)":  compareRule(types.Bool),
	"numeric_gt(numeric,numeric)":  compareRule(types.Bool),
	"numeric_ge(numeric,numeric)":  compareRule(types.Bool),
	"numeric_cmp(numeric,numeric)": compareRule(types.Int4),

	"sum(numeric)": keepRule(types.Numeric),
	"avg(numeric)": keepRule(types.Numeric),
	"min(numeric)": sameRule,
	"max(numeric)": sameRule,
	"count(any)":   keepRule(types.Int8),

	"variance(numeric)":    keepRule(types.Numeric),
	"var_samp(numeric)":    keepRule(types.Numeric),
	"var_pop(numeric)":     keepRule(types.Numeric),
	"stddev(numeric)":      keepRule(types.Numeric),
	"stddev_samp(numeric)": keepRule(types.Numeric),
	"stddev_pop(numeric)":  keepRule(types.Numeric),

	"mode(anyelement)":                     lastRule,
	"percentile_disc(float8,anyelement)":   lastRule,
	"percentile_disc(float8[],anyelement)": listRule,

	"first_value(anyelement)":          sameRule,
	"last_value(anyelement)":           sameRule,
	"nth_value(anyelement,int4)":       sameRule,
	"ml_windows(anyelement,int4,int4)": sameRule,
	"lag(anyelement)":                  sameRule,
	"lag(anyelement,int4)":             sameRule,
	"lead(anyelement)":                 sameRule,
	"lead(anyelement,int4)":            sameRule,
}

const maxFixed = types.MaxFixedDigits

func fixed(prec, scale int) types.Type {
	return types.FixedNumeric(uint8(max(prec, 1)), uint8(scale), false)
}

func bothFixed(args []types.Type) bool {
	return len(args) == 2 && args[0].IsFixed() && args[1].IsFixed()
}

// mixed is for one variable operand: both keep their representations.
func mixed(args []types.Type) ([]types.Type, types.Type) { return args, types.Numeric }

// addRule: scale is the larger one, and one digit may be carried over.
func addRule(args []types.Type) ([]types.Type, types.Type) {
	if !bothFixed(args) {
		return mixed(args)
	}
	a, b := args[0], args[1]
	s := max(int(a.Scale), int(b.Scale))
	p := max(int(a.Prec)-int(a.Scale), int(b.Prec)-int(b.Scale)) + 1 + s
	if p > maxFixed {
		return mixed(args)
	}
	return args, fixed(p, s)
}

// mulRule: digits and scales add up.
func mulRule(args []types.Type) ([]types.Type, types.Type) {
	if !bothFixed(args) {
		return mixed(args)
	}
	p, s := int(args[0].Prec)+int(args[1].Prec), int(args[0].Scale)+int(args[1].Scale)
	if p > maxFixed {
		return mixed(args)
	}
	return args, fixed(p, s)
}

// modRule: |a % b| is at most |a| and less than |b|.
func modRule(args []types.Type) ([]types.Type, types.Type) {
	if !bothFixed(args) {
		return mixed(args)
	}
	a, b := args[0], args[1]
	s := max(int(a.Scale), int(b.Scale))
	pa, pb := int(a.Prec)+s-int(a.Scale), int(b.Prec)+s-int(b.Scale)
	if max(pa, pb) > maxFixed {
		return mixed(args)
	}
	return args, fixed(min(pa, pb), s)
}

func sameRule(args []types.Type) ([]types.Type, types.Type) { return args, plain(args[0]) }

// lastRule is for an aggregate that returns one of the values that it orders.
func lastRule(args []types.Type) ([]types.Type, types.Type) { return args, plain(args[len(args)-1]) }

// listRule is for one that returns several of them: an array's numerics are variable.
func listRule(args []types.Type) ([]types.Type, types.Type) {
	a, _ := types.ArrayOf(variable(plain(args[len(args)-1])))
	return args, a
}

// keepRule keeps the representation of arguments.
func keepRule(ret types.Type) func([]types.Type) ([]types.Type, types.Type) {
	return func(args []types.Type) ([]types.Type, types.Type) { return args, ret }
}

// integralRule: the digits before the point, and one more that rounding makes.
func integralRule(args []types.Type) ([]types.Type, types.Type) {
	a := args[0]
	if !a.IsFixed() {
		return args, types.Numeric
	}
	p := int(a.Prec) - int(a.Scale) + 1
	if p > maxFixed {
		return args, types.Numeric
	}
	return args, fixed(p, 0)
}

func signRule(args []types.Type) ([]types.Type, types.Type) {
	if args[0].IsFixed() {
		return args, fixed(1, 0)
	}
	return args, types.Numeric
}

// compareRule converts both operands to one scale, so that int64s compare.
func compareRule(ret types.Type) func([]types.Type) ([]types.Type, types.Type) {
	return func(args []types.Type) ([]types.Type, types.Type) {
		if !bothFixed(args) {
			return args, ret
		}
		a, b := args[0], args[1]
		s := max(a.Scale, b.Scale)
		pa, pb := a.Prec+s-a.Scale, b.Prec+s-b.Scale
		if max(pa, pb) > maxFixed {
			return args, ret
		}
		out := []types.Type{a, b}
		if a.Scale != s {
			out[0] = fixed(int(pa), int(s))
		}
		if b.Scale != s {
			out[1] = fixed(int(pb), int(s))
		}
		return out, ret
	}
}

// defaultBind is for scalar functions with numeric arguments that have no rule: they are read in
// their representation. Polymorphic and VARIADIC "any" ones are treated as with a nil Bind.
func defaultBind(f *Func) func([]types.Type) ([]types.Type, types.Type) {
	has := false
	for _, a := range f.Args {
		if a.IsPolymorphic() || a == types.AnyOID || a == types.RecordOID {
			return nil
		}
		has = has || a == types.NumericOID
	}
	if !has || f.Ret.IsPolymorphic() || f.Rec != nil {
		return nil
	}
	ret := types.Type{OID: f.Ret, Mod: -1}
	return keepRule(ret)
}
