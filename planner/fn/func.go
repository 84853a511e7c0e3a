package fn

import (
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// Kind is the kind of a function.
type Kind uint8

// The kinds.
const (
	Scalar Kind = iota
	Aggregate
	Window
	SetReturning
)

// Volatility is PostgreSQL's. Immutable calls of constants are folded; Stable ones are evaluated
// once a statement, at the gateway, so that every node sees the same now(); Volatile ones for each
// row.
type Volatility uint8

// The volatilities.
const (
	Immutable Volatility = iota
	Stable
	Volatile
)

// Func is one overload. Funcs are made at start and never changed.
type Func struct {
	ID   string    // unique and stable: it is shipped between nodes, e.g. "lower(text)"
	OID  types.OID // pg_proc.oid
	Name string
	// Schema is pg_catalog. Functions of ml are bound by rules of their own: what is here
	// describes them, in pg_proc and for tools, and no call means it.
	Schema string
	Kind   Kind
	Args   []types.OID // declared types; polymorphic pseudo-types allowed
	// ArgNames name the arguments for name => value calls; may be nil.
	ArgNames []string
	// Defaults are SQL texts for the last len(Defaults) arguments.
	Defaults []string
	// Variadic is the element type of a VARIADIC last argument (Args then ends
	// with its array type); 0 for none.
	Variadic types.OID
	Ret      types.OID
	// Rec is the shape of the rows of a set-returning function that returns
	// several columns; nil where it returns one.
	Rec *types.Record
	// OutName is the name of the only column of a set-returning function that
	// names it (json_array_elements: "value"); "" means the function's name.
	OutName string
	// Ordered aggregates are called WITHIN GROUP (ORDER BY …), with the first Direct arguments before
	// it. Hypothetical ones take as many direct arguments as there are sort keys.
	Ordered, Hypothetical bool
	Direct                int
	Strict                bool // NULL in, NULL out, without being called
	Vol                   Volatility
	// CanFail: some non-NULL input raises an error; such a call must not be evaluated for rows that a
	// filter or CASE excludes.
	CanFail bool
	// Bind returns the physical argument types and the result type for the arguments' actual types
	// (already coerced to Args). With a nil Bind numerics are variable and polymorphic types follow
	// from the arguments.
	Bind func(args []types.Type) (physical []types.Type, ret types.Type)
	// User is the descriptor of a user's function; nil for those of the tables.
	User *catalog.Function
}

// Shown is the function's name in SQL.
func (f *Func) Shown() string {
	if f.User != nil {
		return f.User.Name
	}
	return f.Name
}

// Operator is a row of pg_operator.
type Operator struct {
	OID         types.OID
	Name        string
	Left, Right types.OID // Left 0 for a prefix operator
	Func        *Func
	// Commutator and Negator are operator names with the operands' types
	// swapped or kept, "" for none.
	Commutator, Negator string
}

// CastContext is the context in which a cast applies.
type CastContext byte

// The contexts of pg_cast.castcontext.
const (
	ExplicitCast   CastContext = 'e'
	AssignmentCast CastContext = 'a'
	ImplicitCast   CastContext = 'i'
)
