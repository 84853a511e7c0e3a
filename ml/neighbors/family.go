package neighbors

import (
	"context"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// neighbors is the family.
type neighbors struct{}

// metric is the distance of rows. The numbers are part of models' bytes.
type metric uint8

// The metrics.
const (
	euclidean metric = iota
	cosine
	manhattan
	numMetrics
)

var metrics = []string{euclidean: "euclidean", cosine: "cosine", manhattan: "manhattan"}

const defaultNeighbors = 5

var options = []*family.Option{
	{Names: []string{"n_neighbors", "k"}, Type: "integer", Default: "5", Doc: "How many of the nearest rows decide. A row of weight 2 is two.", Read: family.Integer(1, 1e5)},
	{Names: []string{"metric", "distance_type"}, Type: "text", Default: "`euclidean`", Doc: "The distance of rows: `euclidean`, `cosine` or `manhattan`.",
		Read: family.Word("euclidean|l2|minkowski", "cosine", "manhattan|l1|cityblock")},
	{Names: []string{"weights"}, Type: "text", Default: "`uniform`", Doc: "How much each of the nearest rows counts: the same, `uniform`, or the inverse of its `distance`.", Read: family.Word("uniform", "distance")},
	family.IDColumn,
}

// Info implements family.Family.
func (neighbors) Info() family.Info {
	return family.Info{Name: "nearest_neighbors", Synonyms: []string{"knn", "k_nearest_neighbors", "k_neighbors"},
		Classifiers: []string{"k_neighbors_classifier", "knn_classifier"}, Regressors: []string{"k_neighbors_regressor", "knn_regressor"},
		Doc: "The class that most of the nearest training rows have, or their mean; without a target these rows themselves."}
}

// Options implements family.Family.
func (neighbors) Options() []*family.Option { return options }

// Plan implements family.Family.
func (neighbors) Plan(r *family.Request) (*family.Plan, error) {
	p := family.Plan{Scope: family.ByNode, Standardize: true, Recalls: true, MaxIterations: 1}
	id := r.Options.Text(family.IDColumn.Names[0], "")
	if err := r.Options.Fit(family.Unfit{Option: family.IDColumn.Names[0], Why: "Rows with a target are found to predict it, and not shown.", If: r.Target != nil},
		family.Unfit{Option: "weights", Why: "Without a target nothing is predicted of near rows.", If: r.Target == nil}); err != nil {
		return nil, err
	}
	if r.Target == nil && r.Task == "" {
		p.Task, p.Identity, p.Outputs = family.NeighborSearch, id, []family.Output{{Name: "nearest_distance", Type: types.Float8}}
		return &p, nil
	}
	return family.ByTarget(r, p)
}

// opRows collects the rows; it is the only step.
const opRows uint8 = 1

// rows are training rows.
type rows struct {
	X    []float64 // row by row
	Code []int32   // likewise
	Y, W []float64
}

// Encode implements family.Message.
func (r *rows) Encode(e *canon.E) { canon.Put(e, r) }

// fits reports whether the lists are of so many columns.
func (r *rows) fits(dense, codes int) bool {
	n := len(r.Y)
	return len(r.W) == n && len(r.X) == n*dense && len(r.Code) == n*codes
}

// DecodeStep implements family.Family.
func (neighbors) DecodeStep(_ uint8, d *canon.D) family.Message {
	d.Fail() // it has no body
	return nil
}

// DecodePartial implements family.Family.
func (neighbors) DecodePartial(op uint8, d *canon.D) family.Message {
	if op != opRows {
		d.Fail()
	}
	return canon.Get[rows](d)
}

// Merge implements family.Family.
func (neighbors) Merge(_ uint8, left, right family.Message) (family.Message, error) {
	l, r := left.(*rows), right.(*rows)
	l.X, l.Code, l.Y, l.W = append(l.X, r.X...), append(l.Code, r.Code...), append(l.Y, r.Y...), append(l.W, r.W...)
	return l, nil
}

// mostBytes bounds the rows of a model.
const mostBytes = 1 << 28

// rowBytes is the memory of a row.
func rowBytes(f *feature.Fitted) int64 { return int64(8*f.Dense + 4*f.Codes + 16) }

// driver implements family.Driver.
type driver struct {
	set   *family.Setup
	class bool
	p     *predictor // once it is done
	next  *family.Step
}

// NewDriver implements family.Family.
func (neighbors) NewDriver(s *family.Setup, n *family.Node) (family.Driver, error) {
	k := s.Options.Int("n_neighbors", defaultNeighbors)
	each := rowBytes(s.Fitted)
	own := 0
	if s.Plan.Identity != "" {
		own = 1
	}
	switch {
	case s.Fitted.Dense+s.Fitted.Codes == own || s.Fitted.Params() == 0:
		return nil, pgerr.New(pgerr.InvalidParameterValue, "the features have no values to tell rows apart")
	case s.Weight < float64(k):
		return nil, pgerr.New(pgerr.InvalidParameterValue, "%d rows are too few for %d neighbors", s.Rows, k).At(s.Options.Pos("n_neighbors")).
			WithHint("Lower n_neighbors, or train on more rows.")
	case s.Rows*each > mostBytes:
		return nil, pgerr.New(pgerr.ProgramLimitExceeded, "%d rows are too many for a model that is made of them", s.Rows).
			WithDetail("They may take %d MiB, which is %d rows of these features.", mostBytes>>20, mostBytes/each).WithHint("Train on a sample of the rows.")
	}
	d := &driver{set: s, class: s.Plan.Target == family.ClassTarget}
	charge := n.Charge()
	return d, charge.Set(5 * s.Rows * each)
}

// Next implements family.Driver.
func (d *driver) Next() *family.Step {
	if d.next == nil {
		d.next = &family.Step{Op: opRows, Set: family.Train}
	}
	return d.next
}

// Tell implements family.Driver.
func (d *driver) Tell(m family.Message) error {
	r := m.(*rows)
	f, o := d.set.Fitted, d.set.Options
	if !r.fits(f.Dense, f.Codes) {
		return pgerr.Internal("the rows of nearest neighbors do not fit")
	}
	p := &predictor{f: f, class: d.class, id: -1, k: o.Int("n_neighbors", defaultNeighbors), byDistance: o.Text("weights", "uniform") == "distance", rows: *r.sorted(f.Dense, f.Codes)}
	if d.set.Plan.Task == family.NeighborSearch {
		p.search, p.id = true, identity(f, d.set.Plan.Identity)
		if p.id >= 0 && f.Cols[p.column()].NullSlot {
			return pgerr.New(pgerr.NullValueNotAllowed, "column %q contains NULL", d.set.Plan.Identity).OnColumn(d.set.Plan.Identity).
				WithHint("Leave such rows out: WHERE … IS NOT NULL.")
		}
	}
	for k, name := range metrics {
		if o.Text("metric", metrics[euclidean]) == name {
			p.metric = metric(k)
		}
	}
	p.prepare()
	for _, list := range [][]float64{p.X, p.start, p.length} {
		for _, x := range list {
			if x-x != 0 {
				return pgerr.New(pgerr.NumericValueOutOfRange, "values of the features are too large for nearest neighbors")
			}
		}
	}
	d.p, d.next = p, nil
	return nil
}

// State implements family.Driver.
func (d *driver) State() family.State {
	st := family.State{TrainLoss: family.NoLoss(), ValidationLoss: family.NoLoss()}
	if d.p != nil {
		st.Iteration, st.Evals, st.Done, st.Converged, st.Stopped = 1, 1, true, true, "converged"
	}
	return st
}

// Predictor implements family.Driver.
func (d *driver) Predictor() (family.Predictor, error) { return d.p, nil }

// Encode implements family.Driver.
func (d *driver) Encode(e *canon.E) error {
	e.Bool(d.p != nil)
	if d.p != nil {
		d.p.Encode(e)
	}
	return nil
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (d *driver) UnmarshalBinary(b []byte) (err error) {
	r := canon.Read(b)
	var p *predictor
	if r.Bool() {
		if p, err = decode(d.set.Fitted, r); err != nil {
			return err
		}
	}
	if err := r.Done("a training's state"); err != nil {
		return err
	}
	d.p, d.next = p, nil
	return nil
}

// worker implements family.Worker; it has no state.
type worker struct{ set *family.Setup }

// NewWorker implements family.Family.
func (neighbors) NewWorker(s *family.Setup, _ *family.Node) (family.Worker, error) {
	return &worker{s}, nil
}

// Close implements family.Worker.
func (w *worker) Close() {}

// PassBytes implements family.Worker.
func (w *worker) PassBytes(*family.Step) (pass, partial int64) {
	return 0, min(w.set.Rows*rowBytes(w.set.Fitted), mostBytes) + 1024
}

// NewPass implements family.Worker.
func (w *worker) NewPass(*family.Step) (family.Pass, error) { return &pass{out: &rows{}}, nil }

// pass implements family.Pass.
type pass struct{ out *rows }

// Partial implements family.Pass.
func (p *pass) Partial() family.Message {
	o := p.out
	p.out = &rows{}
	return o
}

// Add implements family.Pass.
func (p *pass) Add(ctx context.Context, r family.Rows, b *block.Block) error {
	for i := r.From; i < min(r.To, b.Rows); i++ {
		if i&0xfff == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !(b.W[i] > 0) {
			continue
		}
		for j := range b.Dense {
			p.out.X = append(p.out.X, b.Value(i, j)+0)
		}
		for j := range b.Codes {
			p.out.Code = append(p.out.Code, b.CodeAt(i, j))
		}
		p.out.Y, p.out.W = append(p.out.Y, b.Y[i]+0), append(p.out.W, b.W[i])
	}
	return nil
}

// Families are the families of this package.
func Families() []family.Family { return []family.Family{neighbors{}} }
