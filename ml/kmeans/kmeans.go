package kmeans

import (
	"strings"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// kmeans is the family.
type kmeans struct{}

const maxClusters = 1e5

// The ways to start.
const (
	initParallel = "k-means||"
	initPlus     = "k-means++"
	initRandom   = "random"
)

// readInit reads a way to start, or the name of a relation of centroids.
func readInit(v family.Value) (any, error) {
	switch w := v.Word(); w {
	case initParallel, "kmeans||", "k-means-parallel", "kmeans_parallel":
		return initParallel, nil
	case initPlus, "kmeans++":
		return initPlus, nil
	case initRandom:
		return initRandom, nil
	case "custom": // BigQuery's
		return nil, pgerr.Unsupported("init %q is not supported", w).At(v.Pos).WithHint("init takes the name of a relation of centroids.")
	default:
		if w != "" && !strings.ContainsAny(w, "|+-") {
			return v.Value, nil
		}
	}
	return nil, v.Bad("k-means||, k-means++, random, or the name of a relation of centroids")
}

// relation is the name of the relation of centroids in the option init, "" for none.
func relation(o *family.Values) string {
	switch w := o.Text("init", initParallel); w {
	case initParallel, initPlus, initRandom:
		return ""
	default:
		return w
	}
}

func readStarts(v family.Value) (any, error) {
	if v.Word() == "auto" {
		return nil, nil
	}
	n, err := family.Integer(1, 1e6)(v)
	if err == nil && n != 1.0 {
		return nil, pgerr.Unsupported("more than one start is not supported").At(v.Pos).WithHint("Train a model a seed, and compare ml.evaluate.")
	}
	return nil, err
}

func readDistance(v family.Value) (any, error) {
	switch w := v.Word(); w {
	case "euclidean":
		return w, nil
	case "cosine":
		return nil, pgerr.Unsupported("distance_type %q is not supported", w).At(v.Pos).WithHint("Distances are euclidean; of rows brought to length 1 in the query they order as cosines do.")
	}
	return nil, v.Bad("euclidean")
}

var options = []*family.Option{
	{Names: []string{"n_clusters", "num_clusters", "k"}, Type: "integer", Default: "8, or as many as `init` has",
		Doc: "The number of clusters. There are fewer if there are fewer distinct rows.", Read: family.Integer(1, maxClusters)},
	{Names: []string{"init", "kmeans_init_method"}, Type: "text", Default: "`k-means||`",
		Doc: "What the first centroids are: `k-means||`, a few passes that draw rows far from those drawn before; `k-means++`, the same with one pass for each centroid; " +
			"`random` rows. Equal rows are drawn once. Or the name of a relation with a row for each centroid and columns named like the features.", Read: readInit},
	{Names: []string{"kmeans_init_col"}, Type: "column", Doc: "Not supported: centroids to begin with are a relation that init names."},
	{Names: []string{"init_rounds", "init_steps"}, Type: "integer", Default: "2", Doc: "The passes of `k-means||` that draw.", Read: family.Integer(1, 100)},
	{Names: []string{"oversampling_factor"}, Type: "number", Default: "2", Doc: "The rows that a pass of `k-means||` draws, as a multiple of n_clusters.",
		Read: family.Interval("(0, 100]")},
	{Names: []string{"batch_size"}, Type: "integer", Default: "all rows",
		Doc: "The rows of a mini-batch, after each of which the centroids move. An iteration is then an epoch.", Read: family.Integer(1, 1e9)},
	{Names: []string{"distance_type"}, Type: "text", Default: "`euclidean`", Doc: "Only `euclidean`.", Read: readDistance},
	{Names: []string{"n_init"}, Type: "integer", Default: "1", Doc: "Only 1, or `auto`: trainings from several starts are several models.", Read: readStarts},
	maxIterations, tolerance, family.WarmStart,
}

var (
	maxIterations = family.MaxIterations("300", "The most iterations.")
	tolerance     = family.Tolerance("0.0001", "End when the squares of the centroids' movements add up to at most this much of the features' mean variance.")
)

// Info implements family.Family.
func (kmeans) Info() family.Info {
	return family.Info{Name: "kmeans", Synonyms: []string{"k_means", "kmeans_clustering"}, Task: family.Clustering, Doc: "Clusters of rows around k centroids.",
		Instead: map[string]string{"mini_batch_kmeans": "kmeans"}}
}

// Options implements family.Family.
func (kmeans) Options() []*family.Option { return options }

// Plan implements family.Family.
func (kmeans) Plan(r *family.Request) (*family.Plan, error) {
	p := &family.Plan{Task: family.Clustering, Target: family.NoTarget, Scope: family.ByNode, Standardize: true,
		MaxIterations: r.Options.Int("max_iterations", 300),
		Outputs:       []family.Output{{Name: "cluster", Type: types.Int4}, {Name: "distance", Type: types.Float8}}}
	other := r.Options.Text("init", initParallel) != initParallel
	const why = "It is for the init k-means||."
	if err := r.Options.Fit(family.Unfit{Option: "init_rounds", Why: why, If: other}, family.Unfit{Option: "oversampling_factor", Why: why, If: other}); err != nil {
		return nil, err
	}
	if name := relation(r.Options); name != "" {
		p.Given = &family.Given{Relation: name, Most: r.Options.Int("n_clusters", maxClusters), Pos: r.Options.Pos("init")}
		if r.Options.Bool("warm_start", false) {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "only one of the options init and warm_start can say where to begin").At(r.Options.Pos("init"))
		}
	}
	if r.Options.Given("batch_size") {
		p.Distributed = true // mini-batches are parts of leaves
	}
	return p, nil
}

// Families are the families of this package.
func Families() []family.Family { return []family.Family{kmeans{}} }
