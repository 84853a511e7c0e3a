package tree

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/family/familytest"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

var one = familytest.Spread{Nodes: 1, Threads: 1}

// run trains on one worker, and returns the driver, the worker, and two blocks: the training rows
// and those held out.
func run(t testing.TB, f family.Family, d *familytest.Data, options ...any) (*driver, *worker, [2]*block.Block) {
	t.Helper()
	return runWith(t, f, d, func(*problem) {}, options...)
}

func runWith(t testing.TB, f family.Family, d *familytest.Data, change func(*problem), options ...any) (*driver, *worker, [2]*block.Block) {
	t.Helper()
	o, err := familytest.Options(f, options...)
	if err != nil {
		t.Fatal(err)
	}
	fitted := d.Fitted(false)
	plan, err := f.Plan(&family.Request{Options: o, Target: &fitted.Label, Columns: d.Columns()})
	if err != nil {
		t.Fatal(err)
	}
	set := &family.Setup{Options: o, Plan: plan, Fitted: fitted, Seed: d.Seed}
	var rows [2][]int
	for i := range d.X {
		if d.Held != nil && d.Held[i] {
			rows[1] = append(rows[1], i)
			set.Held++
			continue
		}
		rows[0] = append(rows[0], i)
		set.Rows++
		if set.Weight++; d.W != nil {
			set.Weight += d.W[i] - 1
		}
	}
	blocks := [2]*block.Block{d.Block(rows[0], false), d.Block(rows[1], false)}
	drv, err := f.NewDriver(set, familytest.Home)
	if err != nil {
		t.Fatal(err)
	}
	w, err := f.NewWorker(set, &family.Node{Threads: 1, Grow: func(int64) error { return nil }, Space: familytest.Space})
	if err != nil {
		t.Fatal(err)
	}
	change(drv.(*driver).p)
	for !drv.State().Done {
		s := drv.Next()
		p, err := w.NewPass(s)
		if err != nil {
			t.Fatal(err)
		}
		for k, b := range blocks {
			if s.Set&(family.Train<<k) == 0 || b.Rows == 0 {
				continue
			}
			if err := p.Add(context.Background(), family.Rows{Held: k == 1, To: b.Padded()}, b); err != nil {
				t.Fatal(err)
			}
		}
		if err := drv.Tell(p.Partial()); err != nil {
			t.Fatal(err)
		}
	}
	return drv.(*driver), w.(*worker), blocks
}

// trainTrees returns the trees of a training over the bins of the training.
func trainTrees(t testing.TB, d *familytest.Data, options ...any) []tree {
	drv, w, _ := run(t, boosted, d, options...)
	w.Close()
	return drv.trees
}

// TestCategoriesSplitByManyRows: with many categories of few rows each, both sides of a categorical
// split must have as many rows as LightGBM requires (min_data_per_group), however large the second
// derivatives are.
func TestCategoriesSplitByManyRows(t *testing.T) {
	for _, classes := range []int{0, 2} {
		d := someRows(71, 6000, 1, []int{60}, classes)
		drv, w, _ := run(t, boosted, d, "n_estimators", 4)
		w.Close()
		splits := 0
		for i := range drv.trees {
			nodes := drv.trees[i].nodes
			perRow := nodes[0].cover / 6000
			for _, n := range nodes {
				if n.col != 1 {
					continue
				}
				splits++
				for _, child := range nodes[n.left : n.left+2] {
					if rows := child.cover / perRow; rows < categoryGroup-1e-6 {
						t.Errorf("%d classes: a side of %.1f rows", classes, rows)
					}
				}
			}
		}
		if splits == 0 {
			t.Errorf("%d classes: no split by category", classes)
		}
	}
}

// TestLossOfNumbers: the reported loss of a regression is the mean squared error, as for other
// families, on training rows and on those held out.
func TestLossOfNumbers(t *testing.T) {
	drv, w, blocks := run(t, boosted, holdOut(someRows(72, 500, 3, nil, 0), 4), "n_estimators", 5)
	w.Close()
	p, err := drv.Predictor()
	if err != nil {
		t.Fatal(err)
	}
	for k, got := range []float64{drv.State().TrainLoss, drv.State().ValidationLoss} {
		want := 0.0
		for i, v := range p.Score(blocks[k]).Value {
			want += (v - blocks[k].Y[i]) * (v - blocks[k].Y[i]) / float64(blocks[k].Rows)
		}
		if math.Abs(got-want) > 1e-9*want {
			t.Errorf("loss %v of rows %d, the mean squared error is %v", got, k, want)
		}
	}
}

// TestSmallNodes: nodes with few rows are grown by the root, which fetches the rows themselves
// instead of histograms: the trees are the same.
func TestSmallNodes(t *testing.T) {
	for name, c := range map[string]struct {
		f       family.Family
		classes int
		weight  int // the greatest weight
		options []any
	}{
		"forest":          {forest, 2, 1, []any{"n_estimators", 5, "max_depth", 9}},
		"forest votes":    {forest, 4, 3, []any{"n_estimators", 3, "max_depth", 9}},
		"forest means":    {forest, 0, 16, []any{"n_estimators", 3, "max_depth", 9, "max_features", 3}},
		"heavy":           {forest, 0, 500, []any{"n_estimators", 3, "max_depth", 9, "bootstrap", false}},
		"boosted":         {boosted, 2, 16, []any{"n_estimators", 5, "max_depth", 8}},
		"best first":      {boosted, 0, 3, []any{"n_estimators", 5, "max_leaves", 40}},
		"best first, few": {boosted, 2, 1, []any{"n_estimators", 5, "max_leaves", 2}},
		"wide":            {boosted, 0, 500, []any{"n_estimators", 5, "max_depth", 8, "l1", 0.1}},
		"boosted, bounds": {boosted, 0, 1, []any{"n_estimators", 5, "max_depth", 8, "colsample_bytree", 0.5, "subsample", 0.5}},
	} {
		r := rand.New(rand.NewPCG(70, 1))
		d := weigh(someRows(70, 3000, 70, []int{9, 3}, c.classes), func(int) float64 { return float64(1 + r.IntN(c.weight)) })
		var got [3][]byte
		for i, few := range []int64{0, 200, maxTakenRows} {
			drv, w, _ := runWith(t, c.f, d, func(p *problem) { p.fewRows = few }, c.options...)
			w.Close()
			var e canon.E
			encodeTrees(&e, drv.trees)
			got[i] = e.B
		}
		if !bytes.Equal(got[0], got[1]) || !bytes.Equal(got[0], got[2]) {
			t.Errorf("%s: other trees", name)
		}
	}
}

// TestKeptScoresAreThePredictors: the scores kept by the training have the same bits as those of
// the predictor, so that rows need not be scored again for metrics.
func TestKeptScoresAreThePredictors(t *testing.T) {
	for _, classes := range []int{0, 2, 3} {
		d := holdOut(someRows(50, 900, 5, []int{7}, classes), 4)
		drv, w, blocks := run(t, boosted, d, "n_estimators", 5, "max_leaves", 9, "subsample", 0.6)
		p, err := drv.Predictor()
		if err != nil {
			t.Fatal(err)
		}
		for k, b := range blocks {
			kept, want := w.Kept(family.Rows{Held: k == 1}), p.Score(b)
			if kept == nil {
				t.Fatal("no scores were kept")
			}
			for i := range b.Rows {
				same := true
				if classes == 0 {
					same = kept.Value[i] == want.Value[i]
				}
				for c := range kept.Probs {
					same = same && math.Abs(kept.Prob(c, i)-want.Prob(c, i)) == 0
				}
				if !same {
					t.Fatalf("%d classes, row %d: kept and scored differ", classes, i)
				}
			}
		}
		w.Close()
	}
}

// TestWeightIsRepetition: a row of weight two counts like two copies, with random samples of rows
// too.
func TestWeightIsRepetition(t *testing.T) {
	for name, c := range map[string]struct {
		f       family.Family
		classes int
		options []any
	}{
		"boosted":       {boosted, 2, []any{"n_estimators", 4}},
		"boosted means": {boosted, 0, []any{"n_estimators", 4, "subsample", 0.6, "max_leaves", 8}},
		"forest":        {forest, 2, []any{"n_estimators", 4}},
		"forest votes":  {forest, 4, []any{"n_estimators", 4}},
		"forest means":  {forest, 0, []any{"n_estimators", 4}},
	} {
		for _, most := range []int{3, 40} { // sums of weights up to 40 do not fit in one integer with the gradients
			r := rand.New(rand.NewPCG(51, uint64(most)))
			weighed := weigh(someRows(51, 300, 4, []int{3}, c.classes), func(int) float64 { return float64(r.IntN(most)) })
			var twice familytest.Data = *weighed
			twice.X, twice.Code, twice.Y, twice.W = nil, nil, nil, nil
			for i := range weighed.X {
				for range int(weighed.W[i]) {
					twice.X, twice.Code, twice.Y = append(twice.X, weighed.X[i]), append(twice.Code, weighed.Code[i]), append(twice.Y, weighed.Y[i])
				}
			}
			a, err := familytest.Train(t, c.f, weighed, one, c.options...)
			if err != nil {
				t.Fatal(err)
			}
			b, err := familytest.Train(t, c.f, &twice, familytest.Spread{Nodes: 2, Threads: 1, Shuffle: 4}, c.options...)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(a.Bytes, b.Bytes) {
				t.Errorf("%s, weights below %d: not the model of the rows repeated", name, most)
			}
		}
	}
}

func TestMonotone(t *testing.T) {
	for _, classes := range []int{0, 2} {
		d := someRows(52, 1500, 4, nil, classes)
		b := d.All(false)
		for _, options := range [][]any{{"max_depth", 5}, {"max_leaves", 20}} {
			options = append(options, "n_estimators", 15, "learning_rate", 0.3, "monotone_constraints", numbers(1, -1, 0, 0))
			got, err := familytest.Train(t, boosted, d, one, options...)
			if err != nil {
				t.Fatal(err)
			}
			for j, dir := range []float64{1, -1} {
				last := got.Predictor.(*model).margins(with(b, j, -10))[0]
				moved := false
				for x := -9.5; x < 10; x += 0.25 {
					next := got.Predictor.(*model).margins(with(b, j, x))[0]
					for i := range next {
						if dir*next[i] < dir*last[i]-1e-12 {
							t.Fatalf("%d classes: row %d goes from %v to %v where x%d grows", classes, i, last[i], next[i], j)
						}
						moved = moved || next[i] != last[i]
					}
					last = next
				}
				if !moved {
					t.Errorf("x%d has no effect", j)
				}
			}
		}
	}
}

// TestMonotoneByName: constraints given by column name equal those of a list, with none for the
// other columns.
func TestMonotoneByName(t *testing.T) {
	d := someRows(52, 600, 4, nil, 0)
	train := func(constraints any) ([]byte, error) {
		r, err := familytest.Train(t, boosted, d, one, "n_estimators", 5, "monotone_constraints", constraints)
		if err != nil {
			return nil, err
		}
		return r.Bytes, nil
	}
	want, err := train(numbers(0, -1, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	pair := func(name string, c int64) types.Datum {
		return types.Array{Elem: types.Text, Elems: []types.Datum{name, c}}
	}
	for _, given := range []any{`{"x1": -1, "x3": 1}`, `{"x3": 1, "x0": 0, "x1": -1}`, "(0, -1,0,1)",
		types.Array{Elem: types.Text, Elems: []types.Datum{pair("x1", -1), pair("x3", 1)}}} {
		if got, err := train(given); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%v: another model than that of a list, error %v", given, err)
		}
	}
	for given, code := range map[string]pgerr.Code{`{"x9": 1}`: pgerr.UndefinedColumn, `{"x1": 2}`: pgerr.InvalidParameterValue, `{"x1": 1, "x1": 1}`: pgerr.InvalidParameterValue,
		`{"x1": "up"}`: pgerr.InvalidParameterValue, "(1, 0)": pgerr.InvalidParameterValue, "(1, 0, x, 0)": pgerr.InvalidParameterValue, "x1": pgerr.InvalidParameterValue} {
		if _, err := train(given); !pgerr.Is(err, code) {
			t.Errorf("%s: %v, not %s", given, err, code)
		}
	}
}

func TestEarlyStoppingKeepsTheBest(t *testing.T) {
	d := holdOut(someRows(53, 500, 4, nil, 2), 3)
	options := []any{"learning_rate", 0.7}
	got, err := familytest.Train(t, boosted, d, one, append(options, "n_estimators", 100, "early_stopping_rounds", 4)...)
	if err != nil {
		t.Fatal(err)
	}
	n := len(got.Predictor.(*model).trees)
	if !got.State.Converged || got.State.Stopped != "early_stopping_rounds" || got.State.Iteration != n+4 {
		t.Errorf("%d trees, state %+v", n, got.State)
	}
	short, err := familytest.Train(t, boosted, d, one, append(options, "n_estimators", n)...)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(short.Bytes, got.Bytes) || short.State.ValidationLoss != got.State.ValidationLoss || short.State.TrainLoss != got.State.TrainLoss {
		t.Errorf("not the model of %d trees: losses %v and %v", n, got.State.ValidationLoss, short.State.ValidationLoss)
	}
	// The reported loss is that of the predictor.
	var rows []int
	for i, h := range d.Held {
		if h {
			rows = append(rows, i)
		}
	}
	s, loss := got.Score(d.Block(rows, false)), 0.0
	for i, r := range rows {
		loss -= math.Log(s.Prob(int(d.Y[r]), i)) / float64(len(rows))
	}
	if math.Abs(loss-got.State.ValidationLoss) > 1e-9 {
		t.Errorf("a loss of %v is told, it is %v", got.State.ValidationLoss, loss)
	}
	if _, w, _ := run(t, boosted, d, append(options, "n_estimators", 100, "early_stopping_rounds", 4)...); w.Kept(family.Rows{}) != nil {
		t.Error("scores of trees that the model has not were kept")
	}
}

// TestOddData trains on data with little or nothing to learn.
func TestOddData(t *testing.T) {
	nan := math.NaN()
	for name, d := range map[string]*familytest.Data{
		"one row":         {X: [][]float64{{1}}, Y: []float64{3}},
		"constants":       {X: [][]float64{{1, nan}, {1, nan}, {1, nan}, {1, nan}}, Y: []float64{1, 2, 3, 4}},
		"constant label":  {X: [][]float64{{1}, {2}, {3}, {4}}, Y: []float64{5, 5, 5, 5}},
		"missing or not":  {X: [][]float64{{1}, {nan}, {1}, {nan}, {1}, {nan}}, Y: []float64{1, 2, 1, 2, 1, 2}},
		"far apart":       {X: [][]float64{{-1e308}, {1e308}, {1e-308}, {0}}, Y: []float64{-1e139, 1e139, 0, 1}},
		"tiny":            {X: [][]float64{{0}, {5e-324}}, Y: []float64{0, 1e-300}},
		"one weighs":      {X: [][]float64{{1}, {2}, {3}}, Y: []float64{1, 2, 3}, W: []float64{0, 1e-9, 0}},
		"one class seen":  {X: [][]float64{{1}, {2}, {3}}, Y: []float64{1, 1, 1}, Classes: 2},
		"no category":     {X: [][]float64{{1}, {1}}, Code: [][]int32{{-1}, {-1}}, Cats: []int{1}, Y: []float64{1, 2}},
		"class by number": {X: [][]float64{{1}, {2}, {3}, {4}, {5}, {6}}, Y: []float64{0, 1, 2, 0, 1, 2}, Classes: 3},
	} {
		for _, f := range []family.Family{boosted, forest} {
			got := familytest.Same(t, f, d, "n_estimators", 3)
			s := got.Score(d.All(false))
			for i := range d.X {
				if s.Value != nil && s.Value[i]-s.Value[i] != 0 {
					t.Errorf("%s: the prediction is %v", name, s.Value[i])
				}
				sum := 0.0
				for k := range s.Probs {
					sum += s.Prob(k, i)
				}
				if s.Probs != nil && math.Abs(sum-1) > 1e-12 {
					t.Errorf("%s: probabilities add up to %v", name, sum)
				}
			}
		}
	}
	bad := &familytest.Data{X: [][]float64{{1}}, Y: []float64{1}, W: []float64{0}}
	if _, err := familytest.Train(t, boosted, bad, one); err == nil {
		t.Error("rows that weigh nothing were trained on")
	}
	for _, f := range []family.Family{boosted, forest} {
		great := &familytest.Data{X: [][]float64{{1}, {2}, {3}}, Y: []float64{1, 2e150, -1e160}}
		if _, err := familytest.Train(t, f, great, one); !pgerr.Is(err, pgerr.NumericValueOutOfRange) {
			t.Errorf("%s of a target whose square is no number: %v", f.Info().Name, err)
		}
	}
}

// TestStateIsChecked damages the saved states of a training: each is refused, or gives a driver
// that can continue.
func TestStateIsChecked(t *testing.T) {
	d := someRows(55, 300, 3, []int{4}, 2)
	o, err := familytest.Options(boosted, "n_estimators", 3, "max_leaves", 6)
	if err != nil {
		t.Fatal(err)
	}
	set := &family.Setup{Options: o, Plan: &family.Plan{}, Fitted: d.Fitted(false), Rows: 300, Weight: 300}
	drv, b := newDriver(newProblem(set, false), familytest.Home), d.All(false)
	w := newWorker(newProblem(set, false), &family.Node{Space: familytest.Space})
	r := rand.New(rand.NewPCG(55, 2))
	refused := 0
	for !drv.State().Done {
		s := drv.Next()
		p, err := w.NewPass(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Add(context.Background(), family.Rows{To: b.Padded()}, b); err != nil {
			t.Fatal(err)
		}
		if err := drv.Tell(p.Partial()); err != nil {
			t.Fatal(err)
		}
		state, err := familytest.Saved(drv)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 300 {
			bad := bytes.Clone(state)
			if i%2 == 0 {
				bad = bad[:r.IntN(len(bad))]
			} else {
				bad[r.IntN(len(bad))] ^= 1 << r.IntN(8)
			}
			other := newDriver(newProblem(set, false), familytest.Home)
			if other.UnmarshalBinary(bad) != nil {
				refused++
			} else if !other.State().Done {
				other.Next()
			}
		}
	}
	if refused < 1000 {
		t.Errorf("only %d broken states were refused", refused)
	}
}

// TestNoMemory: memory that the node does not grant is not used.
func TestNoMemory(t *testing.T) {
	d := someRows(56, 300, 3, nil, 2)
	o, err := familytest.Options(boosted)
	if err != nil {
		t.Fatal(err)
	}
	set := &family.Setup{Options: o, Plan: &family.Plan{}, Fitted: d.Fitted(false), Rows: 300, Weight: 300}
	full, b := pgerr.New(pgerr.OutOfMemory, "no more"), d.All(false)
	for limit := 0; limit < 40000; limit += 500 {
		held := 0
		w := newWorker(newProblem(set, false), &family.Node{Space: func(n int) ([]byte, error) {
			if held += n; held > limit {
				return nil, full
			}
			return make([]byte, n), nil
		}})
		drv := newDriver(newProblem(set, false), familytest.Home)
		var stopped error
		for n := 0; n < 6 && stopped == nil; n++ {
			p, err := w.NewPass(drv.Next())
			if err != nil {
				t.Fatal(err)
			}
			if stopped = p.Add(context.Background(), family.Rows{To: b.Padded()}, b); stopped == nil {
				if err := drv.Tell(p.Partial()); err != nil {
					t.Fatal(err)
				}
			}
		}
		if want := limit < 300*(3+8+12); (stopped == full) != want {
			t.Errorf("with %d bytes: %v", limit, stopped)
		}
		w.Close()
	}
}

// TestThreadsAtOnce processes blocks in several goroutines.
func TestThreadsAtOnce(t *testing.T) {
	d := someRows(57, 4000, 4, nil, 2)
	var raw []float32
	for i, x := range d.X {
		for _, v := range x {
			raw = append(raw, float32(v))
		}
		raw = append(raw, float32(d.Y[i]))
	}
	for _, f := range Families() {
		var want []byte
		for _, threads := range []int{1, 4} {
			var e canon.E
			tb := newTable(raw, 4, 300)
			tb.train(t, f, threads, "n_estimators", 4, "max_depth", 4).Encode(&e)
			if want == nil {
				want = e.B
			} else if !bytes.Equal(want, e.B) {
				t.Errorf("%s: another model on %d threads", f.Info().Name, threads)
			}
		}
	}
}

// with returns a copy of the block with one numeric column set to x.
func with(b *block.Block, j int, x float64) *block.Block {
	c := *b
	c.X64 = append([]float64(nil), b.X64...)
	for i := range c.X64 {
		if i/8%b.Dense == j {
			c.X64[i] = x
		}
	}
	return &c
}

// FuzzDecode decodes arbitrary bytes: what is accepted as a model can score and explain.
func FuzzDecode(f *testing.F) {
	d := someRows(54, 200, 3, []int{4}, 3)
	for _, fam := range []family.Family{boosted, forest} {
		got, err := familytest.Train(f, fam, d, one, "n_estimators", 2, "max_depth", 3)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(got.Bytes)
		r := rand.New(rand.NewPCG(1, 2))
		for range 200 {
			b := bytes.Clone(got.Bytes)
			for range 1 + r.IntN(3) {
				b[r.IntN(len(b))] = byte(r.IntN(256))
			}
			f.Add(b[:r.IntN(len(b)+1)])
			f.Add(b)
		}
	}
	fitted, block := d.Fitted(false), d.All(false)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, fam := range []family.Family{boosted, forest} {
			r := canon.Read(data)
			p, err := fam.Decode(fitted, r)
			if err != nil || r.Done("a model") != nil {
				continue
			}
			s := p.Score(block)
			p.(family.Explainer).Explain(block, s)
			p.(family.Describer).Describe("feature_importance")
		}
		for op := range uint8(6) {
			if b, ok := boosted.DecodeStep(op, canon.Read(data)).(*body); ok && b != nil {
				b.Encode(new(canon.E))
			}
			boosted.DecodePartial(op, canon.Read(data))
		}
		drv := newDriver(newProblem(&family.Setup{Options: mustOptions(t), Plan: &family.Plan{}, Fitted: fitted, Rows: 10, Weight: 10}, false), familytest.Home)
		if drv.UnmarshalBinary(data) == nil && !drv.State().Done {
			drv.Next()
		}
	})
}

func mustOptions(t *testing.T) *family.Values {
	o, err := familytest.Options(boosted)
	if err != nil {
		t.Fatal(err)
	}
	return o
}
