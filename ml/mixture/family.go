package mixture

import (
	"strings"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/kmeans"
	"github.com/tributarydb/tributary/sql/types"
)

// mixture is the family.
type mixture struct{}

// kind is the form of covariances. The numbers are part of models' bytes.
type kind uint8

// The kinds.
const (
	full      kind = iota // one for each component
	tied                  // one of all
	diagonal              // a variance a coordinate, for each component
	spherical             // a variance, for each component
	numKinds
)

var kinds = []string{full: "full", tied: "tied", diagonal: "diagonal", spherical: "spherical"}

func kindOf(o *family.Values) kind {
	for k, name := range kinds {
		if o.Text("covariance_type", kinds[full]) == name {
			return kind(k)
		}
	}
	return full
}

// The ways to start.
const (
	initClusters = "kmeans"
	initPlus     = "k-means++"
	initRandom   = "random"
)

func readInit(v family.Value) (any, error) {
	switch w := v.Word(); w {
	case initClusters, "k-means":
		return initClusters, nil
	case initPlus, "kmeans++":
		return initPlus, nil
	case initRandom, "random_from_data":
		return initRandom, nil
	}
	return nil, v.Bad("one of " + strings.Join([]string{initClusters, initPlus, initRandom}, ", "))
}

const defaultComponents = 2

var options = []*family.Option{
	{Names: []string{"n_components", "num_components", "k"}, Type: "integer", Default: "2",
		Doc: "The number of components. There are fewer if there are fewer distinct rows.", Read: family.Integer(1, 1e4)},
	{Names: []string{"covariance_type"}, Type: "text", Default: "`full`",
		Doc:  "The form of covariances: `full`, any for each component; `tied`, one that all share; `diagonal`, a variance of each feature; `spherical`, one variance for all features of a component.",
		Read: family.Word("full", "tied", "diagonal|diag", "spherical")},
	{Names: []string{"init", "init_params"}, Type: "text", Default: "`kmeans`",
		Doc: "The first components: the clusters of [k-means](kmeans.md); those after one iteration from rows far from each other, `k-means++`, or from `random` rows.", Read: readInit},
	{Names: []string{"reg_covar"}, Type: "number", Default: "1e-6", Doc: "What is added to the variances, so that no component collapses onto a few rows.", Read: family.NotNegative},
	maxIterations, family.Tolerance("0.001", "End when the mean log-likelihood changes by less."),
}

var maxIterations = family.MaxIterations("100", "The most iterations.")

// Info implements family.Family.
func (mixture) Info() family.Info {
	return family.Info{Name: "gaussian_mixture", Synonyms: []string{"gaussian_mixture_model", "gmm"}, Task: family.Clustering,
		Doc: "Rows as a mixture of Gaussian distributions: the most probable component of each, and its density."}
}

// Options implements family.Family.
func (mixture) Options() []*family.Option { return options }

// Plan implements family.Family.
func (mixture) Plan(r *family.Request) (*family.Plan, error) {
	return &family.Plan{Task: family.Clustering, Target: family.NoTarget, Scope: family.ByNode, Standardize: true,
		MaxIterations: r.Options.Int("max_iterations", 100),
		Outputs:       []family.Output{{Name: "component", Type: types.Int4}, {Name: "log_density", Type: types.Float8}}}, nil
}

// clusters is the family that finds the first components; its steps have numbers below opBounds.
var clusters = kmeans.Families()[0]

// clustering is the setup of the training that finds the first components.
func clustering(s *family.Setup) (*family.Setup, error) {
	args := []family.Arg{{Name: "n_clusters", Value: int64(s.Options.Int("n_components", defaultComponents))}}
	switch s.Options.Text("init", initClusters) {
	case initRandom:
		args = append(args, family.Arg{Name: "init", Value: "random"}, family.Arg{Name: "max_iterations", Value: int64(1)})
	case initPlus:
		args = append(args, family.Arg{Name: "init", Value: "k-means||"}, family.Arg{Name: "max_iterations", Value: int64(1)})
	}
	one := *s
	var err error
	if one.Options, err = family.Read(args, clusters.Options()); err != nil {
		return nil, err
	}
	one.Plan, err = clusters.Plan(&family.Request{Options: one.Options})
	one.Start, one.Given = nil, nil
	return &one, err
}

// Families are the families of this package.
func Families() []family.Family { return []family.Family{mixture{}} }
