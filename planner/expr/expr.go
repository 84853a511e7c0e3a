package expr

import (
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/types"
)

// ColID names a column of one statement.
type ColID int32

// Expr is a node of a bound expression. Expressions are immutable.
type Expr interface {
	Type() types.Type
	Children() []Expr
	// With returns a copy with other children, in the order of Children.
	With(children []Expr) Expr
}

// Relation is a query plan inside an expression (planner/plan.Node); expr
// cannot import plan, and needs nothing of it but to hold it.
type Relation interface{ IsRelation() }

type (
	// Col is a column.
	Col struct {
		ID   ColID
		Typ  types.Type
		Name string // for EXPLAIN and errors
	}
	// Const is a literal; a nil Val is NULL.
	Const struct {
		Val types.Datum
		Typ types.Type
	}
	// Param is $N, N from 1; its value comes with execution.
	Param struct {
		N   int
		Typ types.Type
	}
	// Call is a call of a scalar function or operator.
	Call struct {
		Fn   *fn.Func
		Args []Expr
		Typ  types.Type
		Op   string // the operator's name where it was written as one, for EXPLAIN
		Pos  int    // position in the statement (characters from 1), 0 unknown
	}
	// Cast converts Arg to Typ. Explicit marks a written cast, which may cut
	// strings to their length.
	Cast struct {
		Arg      Expr
		Typ      types.Type
		Explicit bool
		Pos      int
	}
	// Case is CASE WHEN; a nil Else is NULL. Simple CASE is bound to this form.
	Case struct {
		Whens []When
		Else  Expr
		Typ   types.Type
	}
	// And, Or: two or more arguments, three-valued.
	And struct{ Args []Expr }
	Or  struct{ Args []Expr }
	Not struct{ Arg Expr }
	// IsNull is IS [NOT] NULL. For rows PostgreSQL looks at the fields.
	IsNull struct {
		Arg Expr
		Not bool
	}
	// BoolTest is IS [NOT] TRUE / FALSE / UNKNOWN.
	BoolTest struct {
		Arg  Expr
		Kind TruthKind
		Not  bool
	}
	// Distinct is IS [NOT] DISTINCT FROM; Eq is the equality of the operands' type.
	Distinct struct {
		L, R Expr
		Eq   *fn.Func
		Not  bool
	}
	// In is Arg [NOT] IN (constants and expressions) by equality Eq.
	In struct {
		Arg  Expr
		List []Expr
		Eq   *fn.Func
		Not  bool
	}
	// AnyAll is Arg op ANY|ALL (array).
	AnyAll struct {
		Arg, Array Expr
		Fn         *fn.Func
		All        bool
		Op         string
	}
	Coalesce struct {
		Args []Expr
		Typ  types.Type
	}
	// MinMax is GREATEST or LEAST.
	MinMax struct {
		Args     []Expr
		Greatest bool
		Typ      types.Type
	}
	// ArrayCtor is ARRAY[…].
	ArrayCtor struct {
		Elems []Expr
		Typ   types.Type
	}
	// RowCtor is ROW(…) as a value. Comparisons of rows are bound to And/Or.
	RowCtor struct {
		Elems []Expr
		Typ   types.Type
	}
	// Subscript is array[Index], or array[Index:Upper] where Slice is set (nil
	// bounds are open). JSON subscripts are calls.
	Subscript struct {
		Array, Index, Upper Expr
		Slice               bool
		Typ                 types.Type
	}
	// Field is (record).name, by ordinal.
	Field struct {
		Arg   Expr
		Index int
		Typ   types.Type
	}
	// Predict applies a model: Args in the order of the model's features.
	Predict struct {
		Model string // "schema.name" for EXPLAIN
		Ref   ModelRef
		Mode  PredictMode
		Args  []Expr
		Typ   types.Type
		// Output is the number of the model's output for PredictValue; for PredictProba the number of a
		// class from 1, or 0 for the array of all.
		Output int
		// Parts are the numbers, from 1, of the model's targets that are predicted, if it has several:
		// one, or where Typ is a row those of its fields; nil for all at once.
		Parts []int
		Rank  Rank // of PredictRanked and PredictScores
		// Given is what PredictBins needs beside the model: the description of its training rows.
		Given []byte
	}
	// Subquery stands in an expression until planner/opt turns it into a join.
	// Kind In/All compare Args (one per column) by Cmp with the columns of Plan.
	Subquery struct {
		Kind SubKind
		Plan Relation
		Args []Expr
		Cmp  []*fn.Func // per column; equality for IN
		Op   string
		Not  bool    // NOT IN, NOT EXISTS
		Cols []ColID // the output columns of Plan
		Typ  types.Type
		Pos  int
	}
)

// When is a branch of Case.
type When struct{ Cond, Then Expr }

// TruthKind is what BoolTest tests for.
type TruthKind uint8

// The truth values.
const (
	IsTrue TruthKind = iota
	IsFalse
	IsUnknown
)

// SubKind is the kind of a Subquery.
type SubKind uint8

// The kinds of subquery.
const (
	SubScalar SubKind = iota // one value; more than one row is 21000
	SubExists
	SubAny   // Args op ANY (IN is = ANY)
	SubAll   // Args op ALL
	SubArray // ARRAY(query)
)

// PredictMode is what a Predict returns.
type PredictMode uint8

// The modes.
const (
	PredictValue        PredictMode = iota // an output: the class, the number, the cluster …
	PredictProba                           // probability: of the positive class (binary), or an array in class order
	PredictAttributions                    // what each feature adds to the margin: jsonb
	PredictBaseline                        // the margin that they add to
	PredictMargin                          // their sum
	PredictTimes                           // the times of the survival function: an array
	PredictSurvival                        // the share surviving at those times: an array
	PredictRanked                          // what comes first for the row, as Rank says: an array
	PredictScores                          // the scores of these: an array
	PredictPlace                           // the place of the row's item among those that are new to its user
	PredictInteractions                    // what pairs of features contribute to the margin: jsonb
	PredictBins                            // in the first of the rows that are scored together, how many of them lie in each bin of the training rows: bytea (exec/profile)
	PredictSeries                          // what a forecasting model says of a series, whose rows Args have as arrays: an array
	PredictPercentile                      // of PredictPlace: which share of the other items comes before it
)

// Rank is what PredictRanked returns: so many, in the order of this number (ml/family.RankBy).
type Rank struct{ By, K int }

// ModelRef finds a model's bytes on any node.
type ModelRef struct {
	OID    types.OID
	Number int // version
	SHA256 [32]byte
}

// AggCall is an aggregate in an Aggregate or Window node.
type AggCall struct {
	Fn       *fn.Func
	Args     []Expr // for ordered-set aggregates: direct arguments first
	Direct   int    // how many of Args are direct
	Distinct bool
	Filter   Expr // nil for none
	OrderBy  []Order
	Star     bool // count(*)
	Typ      types.Type
	Pos      int
	Machine  *Machine // of an aggregate of a user; nil: Fn is of the tables
}

// Machine is an aggregate as expressions over columns of its own: the state, the arguments of a row, and of
// Combine another state. States have the type of State.
type Machine struct {
	State, Other *Col
	Args         []*Col
	Init         types.Datum
	Next         Expr
	First        Expr // the state after the first row, in place of Next; nil: Next of Init
	Strict       bool // a row with a NULL does not count
	Final        Expr
	Combine      Expr // nil: states cannot be merged, so rows come together
	Arrival      bool // rows are taken as they come, as something else orders them; else in the order of their values
}

// ByValue reports whether the rows of a group are sorted by their arguments: in which order rows arrive is not
// determined, and what a user's functions make of them may depend on it.
func (m *Machine) ByValue() bool { return m != nil && m.Combine == nil && !m.Arrival }

// Order is one key of ORDER BY.
type Order struct {
	Expr       Expr
	Desc       bool
	NullsFirst bool
}
