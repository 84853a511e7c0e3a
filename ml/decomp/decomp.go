package decomp

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// pca and svd are the families.
var (
	pca family.Family = decomp{"pca", true}
	svd family.Family = decomp{"svd", false}
)

type decomp struct {
	name   string
	center bool
}

// The solvers.
const (
	auto       = "auto"
	full       = "full"
	tsqr       = "tsqr"
	randomized = "randomized"
	davidson   = "davidson"
)

var options = []*family.Option{
	{Names: []string{"n_components", "num_principal_components", "pca_explained_variance_ratio"}, Type: "number", Default: "all",
		Doc:  "The number of components, at most that of the encoded features and that of rows; or, below 1, the share of the variance of which the first ones explain more, by the solvers `full` and `tsqr`.",
		Read: family.Number("an integer from 1 to 1000000, or a share of the variance below 1", 0, 1e6, func(f float64) bool { return f > 0 && (f < 1 || f == math.Trunc(f)) })},
	{Names: []string{"solver", "svd_solver", "pca_solver"}, Type: "text", Default: "`auto`",
		Doc: "`full`: eigenvectors of the exact Gram matrix; `tsqr`: a tall and skinny QR decomposition, which is slower but accurate for singular values below 1e-8 of the greatest too; " +
			"`randomized`: a few passes over the rows for a few components of many features; `davidson`: as accurate as `full` and faster for few components, by an approximate Gram matrix whose error further passes correct; " +
			"if that would take many passes, `full` is used instead. `auto`: `randomized` for less than a quarter of more than 2048 features, `davidson` for about a fortieth of at least 256 numbers, else `full`.",
		Read: family.Word(auto, full+"|covariance_eigh", tsqr, randomized, davidson)},
	{Names: []string{"power_iterations", "n_iter", "iterated_power"}, Type: "integer", Default: "5", Doc: "For `randomized`: the passes after the first.", Read: family.Integer(0, 100)},
	{Names: []string{"n_oversamples"}, Type: "integer", Default: "10", Doc: "For `randomized`: how many more directions than components are computed.", Read: family.Integer(0, 1000)},
	{Names: []string{"whiten"}, Type: "boolean", Default: "false", Doc: "Divide each component by its standard deviation.", Read: family.Boolean},
}

// Info implements family.Family.
func (f decomp) Info() family.Info {
	if f.center {
		return family.Info{Name: f.name, Synonyms: []string{"principal_component_analysis"}, Task: family.Decomposition, Doc: "Principal components: the directions along which rows vary most."}
	}
	return family.Info{Name: f.name, Synonyms: []string{"truncated_svd"}, Task: family.Decomposition, Doc: "Truncated singular value decomposition, without centring."}
}

// Options implements family.Family.
func (decomp) Options() []*family.Option { return options }

// grain is the number of rows in a thread's unit of work: a leaf of 500 columns takes
// 20 ms, and the other threads would wait that long for the last one.
const grain = 4 * f64.FixedRows

// Plan implements family.Family.
func (f decomp) Plan(r *family.Request) (*family.Plan, error) {
	if err := fit(r.Options, r.Options.Text("solver", auto)); err != nil {
		return nil, err
	}
	vector, _ := types.ArrayOf(types.Float8)
	p := &family.Plan{Task: family.Decomposition, Target: family.NoTarget, Scope: family.ByNode, Grain: grain,
		Outputs: []family.Output{{Name: "components", Type: vector}}}
	if r.Options.Text("solver", auto) == tsqr {
		p.Scope, p.Grain = family.ByLeaf, 0 // its sums are floats, which depend on the order: one leaf after the other
	}
	return p, nil
}

// fit returns an error for options that this solver does not read; auto may become one
// that does.
func fit(o *family.Values, solver string) error {
	other := solver != randomized && solver != auto
	const why = "It is for the solver randomized."
	if share := o.Float("n_components", 1); share < 1 && (solver == randomized || solver == davidson) {
		return pgerr.New(pgerr.InvalidParameterValue, "the solver %s needs the number of components, and not their share of the variance", solver).At(o.Pos("n_components")).
			WithHint("Leave the solver out, or name a number.")
	}
	return o.Fit(family.Unfit{Option: "power_iterations", Why: why, If: other}, family.Unfit{Option: "n_oversamples", Why: why, If: other})
}

// Families are the families of this package.
func Families() []family.Family { return []family.Family{pca, svd} }
