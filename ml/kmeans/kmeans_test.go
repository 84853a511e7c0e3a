package kmeans

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/family/familytest"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// blobs returns n rows around k points in d dimensions.
func blobs(seed uint64, n, k, d int, width float64) *familytest.Data {
	r := rand.New(rand.NewPCG(seed, 1))
	at := make([][]float64, k)
	for i := range at {
		for range d {
			at[i] = append(at[i], 10*r.Float64()-5)
		}
	}
	data := &familytest.Data{Seed: seed}
	for range n {
		var x []float64
		for _, c := range at[r.IntN(k)] {
			x = append(x, c+width*r.NormFloat64())
		}
		data.X = append(data.X, x)
	}
	return data
}

func shifted(d *familytest.Data, by float64) *familytest.Data {
	for _, x := range d.X {
		for j := range x {
			x[j] += by
		}
	}
	return d
}

// mixed has categories, weights, rows held out, copies of rows, and zeros of both signs.
func mixed() *familytest.Data {
	r := rand.New(rand.NewPCG(4, 4))
	d := blobs(4, 1500, 4, 2, 2)
	d.Cats = []int{3, 40}
	for i := range d.X {
		if r.IntN(3) == 0 {
			d.X[i] = append([]float64{}, d.X[r.IntN(i+1)]...)
		}
		if r.IntN(10) == 0 {
			d.X[i][0] = math.Copysign(0, float64(r.IntN(2))-0.5)
		}
		d.Code = append(d.Code, []int32{int32(r.IntN(4)) - 1, int32(r.IntN(40))})
		d.W = append(d.W, []float64{1, 2, 0.25, 0}[r.IntN(4)])
		d.Held = append(d.Held, r.IntN(5) == 0)
	}
	return d
}

func TestSame(t *testing.T) {
	tests := []struct {
		name    string
		data    *familytest.Data
		options []any
	}{
		{"parallel", blobs(1, 2000, 6, 3, 1), []any{"n_clusters", 6}},
		{"plus", blobs(2, 1300, 5, 10, 3), []any{"k", 9, "init", "k-means++"}},
		{"random", blobs(3, 1700, 5, 2, 3), []any{"num_clusters", 20, "init", "random", "tol", 0.0}},
		{"mixed", mixed(), []any{"k", 7, "tol", 0.0, "max_iterations", 40}},
		{"mixed random", mixed(), []any{"k", 12, "init", "random", "max_iterations", 7}},
		{"marks", blobs(8, 2500, 40, 30, 2), []any{"k", 40, "init", "random", "tol", 0.0, "max_iterations", 30}},
		{"far away", shifted(blobs(9, 1500, 5, 3, 1), 1e9), []any{"k", 7, "tol", 0.0, "max_iterations", 30}},
		{"one cluster", blobs(5, 700, 3, 2, 1), []any{"k", 1}},
		{"batches", blobs(6, 3000, 6, 4, 1), []any{"k", 6, "batch_size", 300, "max_iterations", 5}},
		{"batches mixed", mixed(), []any{"k", 5, "batch_size", 200, "max_iterations", 3}},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			m := familytest.Same(t, kmeans{}, c.data, c.options...)
			if m.State.Stopped == "" || m.State.Iteration == 0 || !(m.State.TrainLoss >= 0) {
				t.Errorf("state %+v", m.State)
			}
			if c.data.Held != nil && !(m.State.ValidationLoss > 0) {
				t.Errorf("validation loss %v", m.State.ValidationLoss)
			}
			got, err := familytest.Train(t, noMemory{kmeans{}}, c.data, familytest.Spread{Nodes: 2}, c.options...)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes, m.Bytes) {
				t.Error("another model without memory for the rows' state")
			}
		})
	}
}

// noMemory refuses all memory for state kept per row.
type noMemory struct{ family.Family }

func (f noMemory) NewWorker(s *family.Setup, n *family.Node) (family.Worker, error) {
	return f.Family.NewWorker(s, &family.Node{Threads: n.Threads, Grow: func(b int64) error {
		if b < 0 {
			panic("memory that was never granted is given back")
		}
		return errors.New("no memory")
	}})
}

func nearestOf(x []float64, at [][]float64) (int, float64) {
	best, who := math.Inf(1), 0
	for k, c := range at {
		z := 0.0
		for j := range c {
			z += (x[j] - c[j]) * (x[j] - c[j])
		}
		if z < best {
			best, who = z, k
		}
	}
	return who, best
}

func centroids(r *familytest.Result) (out [][]float64) {
	p := r.Predictor.(*predictor)
	n := p.fitted.Params()
	for k := range p.p.k {
		out = append(out, p.at[k*n:(k+1)*n])
	}
	return out
}

// TestLloydAgainstPlainLoops computes one more iteration of Lloyd's algorithm from the model of n
// iterations by plain loops, and compares with the model of n+1.
func TestLloydAgainstPlainLoops(t *testing.T) {
	for name, d := range map[string]*familytest.Data{"blobs": blobs(7, 1200, 5, 4, 3), "mixed": mixed()} {
		var at [][]float64
		for n := 1; n < 12; n++ {
			m, err := familytest.Train(t, kmeans{}, d, familytest.Spread{Nodes: 1}, "k", 8, "tol", 0.0, "max_iterations", n)
			if err != nil {
				t.Fatal(err)
			}
			got := centroids(m)
			if at != nil {
				sums, mass := make([][]float64, len(at)), make([]float64, len(at))
				for i := range d.X {
					x := d.Coords(i)
					k, _ := nearestOf(x, at)
					if sums[k] == nil {
						sums[k] = make([]float64, len(x))
					}
					for j, v := range x {
						sums[k][j] += d.Weight(i) * v
					}
					mass[k] += d.Weight(i)
				}
				for k := range at {
					for j, v := range sums[k] {
						if want := v / mass[k]; mass[k] > 0 && math.Abs(got[k][j]-want) > 1e-9 {
							t.Fatalf("%s, iteration %d: centroid %d is %v, want %v", name, n, k, got[k], want)
						}
					}
				}
			}
			at = got
			inertia, mass := 0.0, 0.0
			for i := range d.X {
				_, z := nearestOf(d.Coords(i), at)
				inertia += d.Weight(i) * z
				mass += d.Weight(i)
			}
			if math.Abs(m.State.TrainLoss-inertia/mass) > 1e-9*inertia/mass || math.Abs(m.State.Metrics[0].Value-inertia) > 1e-9*inertia {
				t.Fatalf("%s, iteration %d: loss %v and metrics %v, want %v and %v", name, n, m.State.TrainLoss, m.State.Metrics, inertia/mass, inertia)
			}
		}
	}
}

// TestBlobsAreFound: k-means|| and k-means++ choose an initial centroid in every blob.
func TestBlobsAreFound(t *testing.T) {
	d := blobs(11, 3000, 10, 5, 0.05)
	for _, options := range [][]any{{"k", 10}, {"k", 10, "batch_size", 256}} {
		m, err := familytest.Train(t, kmeans{}, d, familytest.Spread{Nodes: 2}, options...)
		if err != nil {
			t.Fatal(err)
		}
		if !m.State.Converged || m.State.TrainLoss > 5*0.05*0.05*1.2 {
			t.Errorf("%v: %+v", options, m.State)
		}
		s := m.Score(d.All(false))
		for i := range d.X {
			k, z := nearestOf(d.X[i], centroids(m))
			if int(s.Label[i]) != k+1 || math.Abs(s.Extra[0][i]-math.Sqrt(z)) > 1e-9 {
				t.Fatalf("row %d is in cluster %d at %v, want %d at %v", i, s.Label[i], s.Extra[0][i], k+1, math.Sqrt(z))
			}
		}
		rows, ok := m.Predictor.(family.Describer).Describe("centroids")
		if !ok || len(rows) != 50 || fmt.Sprint(rows[49][:3]) != "[10 x4 <nil>]" || rows[49][3] != centroids(m)[9][4] {
			t.Errorf("centroids: %v", rows)
		}
	}
}

func TestWeightTwoIsTheRowTwice(t *testing.T) {
	d := blobs(12, 600, 4, 3, 2)
	twice := &familytest.Data{Seed: d.Seed}
	r := rand.New(rand.NewPCG(1, 1))
	for i := range d.X {
		n := 1 + r.IntN(2)
		d.W = append(d.W, float64(n))
		for range n {
			twice.X = append(twice.X, d.X[i])
		}
	}
	a, err := familytest.Train(t, kmeans{}, d, familytest.Spread{Nodes: 1}, "k", 6)
	if err != nil {
		t.Fatal(err)
	}
	b, err := familytest.Train(t, kmeans{}, twice, familytest.Spread{Nodes: 1}, "k", 6)
	if err != nil {
		t.Fatal(err)
	}
	ca, cb := centroids(a), centroids(b)
	for k := range ca {
		for j := range ca[k] {
			if math.Abs(ca[k][j]-cb[k][j]) > 1e-12 {
				t.Fatalf("centroid %d is %v with weights, %v with copies", k, ca[k], cb[k])
			}
		}
	}
}

// TestFewDistinctRows: with as many clusters as distinct rows each row is a cluster, however many
// copies it has.
func TestFewDistinctRows(t *testing.T) {
	for _, init := range []string{"k-means||", "k-means++", "random"} {
		d := &familytest.Data{}
		for i := range 5000 {
			d.X = append(d.X, []float64{float64(i * i % 10)}) // 0 1 4 5 6 9
		}
		for _, k := range []int{3, 6, 10} {
			m := familytest.Same(t, kmeans{}, d, "k", k, "init", init)
			if got := len(centroids(m)); got != min(k, 6) || k >= 6 && m.State.TrainLoss != 0 {
				t.Errorf("%s: %d clusters of %d, loss %v", init, got, k, m.State.TrainLoss)
			}
		}
	}
}

// TestEmptyClustersMove begins with centroids that lose all their rows; such centroids must be
// moved.
func TestEmptyClustersMove(t *testing.T) {
	f := kmeans{}
	data := blobs(13, 200, 2, 1, 0.1)
	opts, err := familytest.Options(f, "k", 3)
	if err != nil {
		t.Fatal(err)
	}
	set := &family.Setup{Options: opts, Fitted: data.Fitted(false), Rows: 200}
	drv, err := f.NewDriver(set, familytest.Home)
	if err != nil {
		t.Fatal(err)
	}
	w, err := f.NewWorker(set, &family.Node{Threads: 1, Grow: func(int64) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	b := data.All(false)
	far := false
	for !drv.State().Done {
		s := drv.Next()
		if s.Op == opAssign && drv.(*driver).s.Iter == 0 {
			copy(drv.(*driver).s.Points, []float64{0, 1e6, 2e6})
		}
		far = far || s.Op == opFar
		p, err := w.NewPass(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Add(t.Context(), family.Rows{To: b.Padded()}, b); err != nil {
			t.Fatal(err)
		}
		if err := drv.Tell(p.Partial()); err != nil {
			t.Fatal(err)
		}
	}
	if !far || drv.State().TrainLoss > 0.1*0.1 {
		t.Errorf("empty clusters looked for rows: %v; loss %v", far, drv.State().TrainLoss)
	}
}

func TestOptionsAndErrors(t *testing.T) {
	d := blobs(14, 20, 2, 2, 1)
	for _, c := range []struct {
		code    pgerr.Code
		options []any
	}{
		{pgerr.InvalidParameterValue, []any{"k", 21}},
		{pgerr.InvalidParameterValue, []any{"k", 0}},
		{pgerr.InvalidParameterValue, []any{"init", 3}},
		{pgerr.InvalidParameterValue, []any{"clusters", 3}},
		{pgerr.InvalidParameterValue, []any{"init", "k-means+"}},
		{pgerr.FeatureNotSupported, []any{"kmeans_init_col", "seed"}},
		{pgerr.FeatureNotSupported, []any{"distance_type", "cosine"}},
	} {
		_, err := familytest.Train(t, kmeans{}, d, familytest.Spread{}, c.options...)
		if pgerr.From(err).Code != c.code {
			t.Errorf("%v: %v", c.options, err)
		}
	}
	d.X[3][1] = 1e200
	if _, err := familytest.Train(t, kmeans{}, d, familytest.Spread{}, "k", 2); pgerr.From(err).Code != pgerr.NumericValueOutOfRange {
		t.Errorf("a huge value: %v", err)
	}
}

func TestHostileBytes(t *testing.T) {
	familytest.Hostile(t, kmeans{}, blobs(15, 100, 2, 2, 1), 5000, 20, "k", 3)
}

// TestStaleState: workers keep bounds from earlier steps. A worker may get a step twice or miss
// some, as when a node fails and returns. The model must be the same.
func TestStaleState(t *testing.T) {
	for _, dims := range []int{3, 30} { // few and many columns, for which state is kept differently
		trainWithStaleWorkers(t, blobs(16, 2000, 6, dims, 1.5), "k", 36, "init", "random", "tol", 0.0, "max_iterations", 60)
	}
}

func trainWithStaleWorkers(t *testing.T, d *familytest.Data, options ...any) {
	want, err := familytest.Train(t, kmeans{}, d, familytest.Spread{}, options...)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 5 {
		drv, err := kmeans{}.NewDriver(want.Setup, familytest.Home)
		if err != nil {
			t.Fatal(err)
		}
		var workers []family.Worker
		for range 2 {
			w, err := kmeans{}.NewWorker(want.Setup, &family.Node{Grow: func(int64) error { return nil }})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			workers = append(workers, w)
		}
		b, at := d.All(false), 0
		var old []byte
		for !drv.State().Done {
			if r.IntN(8) == 0 {
				at = 1 - at
			}
			if r.IntN(8) == 0 && old != nil { // resume from a checkpoint
				if err := drv.UnmarshalBinary(old); err != nil {
					t.Fatal(err)
				}
			}
			if r.IntN(4) == 0 {
				if old, err = familytest.Saved(drv); err != nil {
					t.Fatal(err)
				}
			}
			var p family.Pass
			for range 1 + r.IntN(2) {
				s := *drv.Next()
				if p, err = workers[at].NewPass(&s); err != nil {
					t.Fatal(err)
				}
				if err := p.Add(t.Context(), family.Rows{To: b.Padded()}, b); err != nil {
					t.Fatal(err)
				}
			}
			if err := drv.Tell(p.Partial()); err != nil {
				t.Fatal(err)
			}
		}
		m, err := drv.Predictor()
		if err != nil {
			t.Fatal(err)
		}
		var e canon.E
		m.Encode(&e)
		if !bytes.Equal(e.B, want.Bytes) {
			t.Fatal("another model")
		}
	}
}

// TestHeaviest tests how the root chooses initial centroids where there are too many clusters for
// k-means++.
func TestHeaviest(t *testing.T) {
	if got := fmt.Sprint(heaviest([]float64{0, 0, 1, 1, 2, 2, 3, 3}, []int64{1, 5, 5, 2}, 3, 2)); got != "[1 1 2 2 3 3]" {
		t.Errorf("the heaviest are %v", got)
	}
}
