package feature

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// targetSpec is a text x encoded by a target y, and a weight w if there is one.
func targetSpec(y types.Type, smooth []float64, weighted bool) *Spec {
	s := &Spec{Classes: !y.IsNumber(), Cols: []Col{{Column: record.Column{Name: "x", Type: types.Text}, Role: Feature, Encoder: TargetEncode, Boundaries: smooth},
		{Column: record.Column{Name: "y", Type: y}, Role: Label}, {Column: record.Column{Name: "n", Type: types.Int8}}}}
	if weighted {
		s.Cols[2].Role = Weight
	}
	return s
}

// fitTargets fits encoders to columns in parts that are merged, and returns the view of all rows.
func fitTargets(t *testing.T, s *Spec, cols []arrow.Array, rows int) (*Fitted, *record.View) {
	t.Helper()
	if err := s.Resolve(); err != nil {
		t.Fatal(err)
	}
	v, done := viewOf(t, s, cols, rows)
	t.Cleanup(done)
	st, err := s.Collect(context.Background(), v)
	if err != nil {
		t.Fatal(err)
	}
	var e canon.E
	st.Encode(&e)
	d := canon.Read(e.B)
	st = DecodeStats(d)
	if err := d.Done("stats"); err != nil {
		t.Fatal(err)
	}
	f, err := Fit(s, st)
	if err != nil {
		t.Fatal(err)
	}
	var b canon.E
	f.Encode(&b)
	f.EncodeFolds(&b)
	d = canon.Read(b.B)
	back := DecodeFitted(d)
	back.DecodeFolds(d)
	if err := d.Done("fitted"); err != nil {
		t.Fatal(err)
	}
	return back, v
}

// cities are the rows of the tests: categories, and targets as numbers and classes.
func cities() (x []any, y []float64) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 400 {
		c := []string{"a", "b", "c", "d"}[min(r.IntN(10), 3)]
		y = append(y, float64(int(c[0])%3)+float64(r.IntN(8))/4)
		if x = append(x, c); i%17 == 0 {
			x[i] = nil
		}
	}
	return append(x, "alone"), append(y, 5)
}

// TestTargetEncode: numbers of categories are those of the formulas, whole for predictions and out of fold for
// training, in which no row sees its own target.
func TestTargetEncode(t *testing.T) {
	x, y := cities()
	number, ids := make([]any, len(y)), make([]any, len(y))
	two, three := make([]any, len(y)), make([]any, len(y))
	for i, v := range y {
		number[i], ids[i] = v, i
		two[i], three[i] = v > 1.5, []string{"low", "mid", "top"}[int(min(v, 2.5))]
	}
	for _, c := range []struct {
		name   string
		y      types.Type
		target []any
		of     func(v any) []float64 // the numbers of which means are taken
	}{
		{"number", types.Float8, number, func(v any) []float64 { return []float64{v.(float64)} }},
		{"two classes", types.Bool, two, func(v any) []float64 { return []float64{map[bool]float64{true: 1}[v.(bool)]} }},
		{"three classes", types.Text, three, func(v any) []float64 {
			out := make([]float64, 3)
			out[map[string]int{"low": 0, "mid": 1, "top": 2}[v.(string)]] = 1
			return out
		}},
	} {
		for _, smooth := range [][]float64{nil, {0}, {12.5}} {
			name := fmt.Sprint(c.name, smooth)
			s := targetSpec(c.y, smooth, false)
			f, v := fitTargets(t, s, []arrow.Array{column(types.Text, x...), column(c.y, c.target...), column(types.Int8, ids...)}, len(x))
			// slow computes the mean of a category over the rows that count.
			slow := func(category any, counts func(i int) bool, j int) float64 {
				var all, own []float64
				for i := range x {
					if counts(i) {
						all = append(all, c.of(c.target[i])[j])
						if category != nil && x[i] == category {
							own = append(own, all[len(all)-1])
						}
					}
				}
				mean, spread := meanSpread(all)
				mine, varies := meanSpread(own)
				n := float64(len(own))
				switch {
				case len(own) == 0:
					return mean
				case smooth != nil:
					return (mine*n + smooth[0]*mean) / (n + smooth[0])
				}
				share := spread * n / (spread*n + varies)
				return share*mine + (1-share)*mean
			}
			ask := []any{"a", "b", "alone", "new", nil}
			b, err := f.EncodeColumns([]arrow.Array{column(types.Text, ask...)}, len(ask))
			if err != nil {
				t.Fatal(err)
			}
			near := func(what string, got, want float64) {
				if !(math.Abs(got-want) < 1e-9) {
					t.Errorf("%s: %s is %v, want %v", name, what, got, want)
				}
			}
			for i, a := range ask {
				for j := range b.Dense {
					near(fmt.Sprintf("%v[%d]", a, j), b.Value(i, j), slow(a, func(int) bool { return true }, j))
				}
			}
			folds, done, err := v.Folds(targetFolds)
			if err != nil {
				t.Fatal(err)
			}
			defer done()
			row := make([]int, v.Rows) // rows of the view are in any order
			fold := make([]uint8, v.Rows)
			var id [1]float64
			for i := range row {
				v.Numbers(2, i, id[:])
				row[i] = int(id[0])
				fold[row[i]] = folds[i]
			}
			leaf, held := encodeLeaf(t, f, s, v, false), encodeLeaf(t, f, s, v, true)
			for i, at := range row {
				for j := range leaf.Dense {
					near(fmt.Sprintf("row %d out of fold", at), leaf.Value(i, j), slow(x[at], func(k int) bool { return fold[k] != fold[at] }, j))
					near(fmt.Sprintf("row %d held out", at), held.Value(i, j), slow(x[at], func(int) bool { return true }, j))
				}
			}
			if n := len(f.Slots()); n != f.Params() {
				t.Errorf("%s: %d slots of %d parameters", name, n, f.Params())
			}
		}
	}
}

func encodeLeaf(t *testing.T, f *Fitted, s *Spec, v *record.View, held bool) *block.Block {
	t.Helper()
	b, err := f.EncodeLeaf(s, v, held, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func meanSpread(v []float64) (mean, variance float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		variance += (x - mean) * (x - mean) / float64(len(v))
	}
	return mean, variance
}

// TestTargetEncodeFewRows: rows that are all copies of a few are divided, so that a category's mean out of fold is near that
// of all its rows. By the hash alone the rows of one target would be told the mean of those of the other.
func TestTargetEncodeFewRows(t *testing.T) {
	var x, y, n []any
	for i := range 600 {
		x, y, n = append(x, []string{"a", "b"}[i%2]), append(y, i%3 == 0 || i%2 == 0 && i%5 == 0), append(n, 1)
	}
	s := targetSpec(types.Bool, []float64{0}, false)
	f, v := fitTargets(t, s, []arrow.Array{column(types.Text, x...), column(types.Bool, y...), column(types.Int8, n...)}, len(x))
	leaf, whole := encodeLeaf(t, f, s, v, false), encodeLeaf(t, f, s, v, true)
	for i := range v.Rows {
		if a, b := leaf.Value(i, 0), whole.Value(i, 0); math.Abs(a-b) > 0.01 {
			t.Fatalf("row %d of %q is %v out of fold, %v of all rows", i, v.Bytes(0, i), a, b)
		}
	}
}

// TestTargetEncodeManyNumbers: few rows may have more pairs of a category and a class than there is memory for.
func TestTargetEncodeManyNumbers(t *testing.T) {
	var x, y, n []any
	for i := range 3000 {
		x, y, n = append(x, strconv.Itoa(i)), append(y, strconv.Itoa(i%500)), append(n, 1)
	}
	s := targetSpec(types.Text, nil, false)
	if err := s.Resolve(); err != nil {
		t.Fatal(err)
	}
	v, done := viewOf(t, s, []arrow.Array{column(types.Text, x...), column(types.Text, y...), column(types.Int8, n...)}, len(x))
	defer done()
	st, err := s.Collect(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Fit(s, st); !pgerr.Is(err, pgerr.ProgramLimitExceeded) {
		t.Errorf("%d categories of 500 classes: %v", len(x), err)
	}
}

// TestTargetEncodeWeights: a row of weight 2 counts as two, one of weight 0 as none.
func TestTargetEncodeWeights(t *testing.T) {
	x, y := cities()
	var x2, y2, w, w2 []any
	var numbers []any
	for i := range x {
		n := i % 3
		numbers, w = append(numbers, y[i]), append(w, n)
		for range n {
			x2, y2, w2 = append(x2, x[i]), append(y2, y[i]), append(w2, 1)
		}
	}
	for _, smooth := range [][]float64{nil, {3}} {
		a, _ := fitTargets(t, targetSpec(types.Float8, smooth, true), []arrow.Array{column(types.Text, x...), column(types.Float8, numbers...), column(types.Int8, w...)}, len(x))
		b, _ := fitTargets(t, targetSpec(types.Float8, smooth, false), []arrow.Array{column(types.Text, x2...), column(types.Float8, y2...), column(types.Int8, w2...)}, len(x2))
		var p, q canon.E
		a.Encode(&p)
		b.Encode(&q)
		if string(p.B) != string(q.B) {
			t.Errorf("smooth %v: weights make %v, copies %v", smooth, a.Cols[0].Bounds, b.Cols[0].Bounds)
		}
	}
}

// TestTargetEncodeOrder: statistics of parts of the rows, in whatever order they merge, fit the same encoders.
func TestTargetEncodeOrder(t *testing.T) {
	x, y := cities()
	s := targetSpec(types.Float8, nil, false)
	if err := s.Resolve(); err != nil {
		t.Fatal(err)
	}
	var want string
	for round := range 4 {
		var sum *Stats
		r := rand.New(rand.NewPCG(3, uint64(round)))
		parts := make([][3][]any, 1+round*3)
		for _, i := range r.Perm(len(x)) {
			p := &parts[r.IntN(len(parts))]
			p[0], p[1], p[2] = append(p[0], x[i]), append(p[1], y[i]), append(p[2], i)
		}
		for _, p := range parts {
			v, done := viewOf(t, s, []arrow.Array{column(types.Text, p[0]...), column(types.Float8, p[1]...), column(types.Int8, p[2]...)}, len(p[0]))
			st, err := s.Collect(context.Background(), v)
			if done(); err != nil {
				t.Fatal(err)
			}
			if sum == nil {
				sum = st
			} else if sum, err = s.MergeStats(st, sum); err != nil {
				t.Fatal(err)
			}
		}
		f, err := Fit(s, sum)
		if err != nil {
			t.Fatal(err)
		}
		var e canon.E
		f.Encode(&e)
		f.EncodeFolds(&e)
		if round == 0 {
			want = string(e.B)
		} else if string(e.B) != want {
			t.Errorf("round %d: other encoders", round)
		}
	}
}

// TestSpline: B-splines of a number have scikit-learn's values, are 1 in sum, and go on beyond the ends as they are there.
func TestSpline(t *testing.T) {
	var vals []any
	for i := range 101 {
		vals = append(vals, float64(i)*float64(i)/100)
	}
	for _, c := range []struct {
		knots, degree int
		ask           float64
		want          []float64
	}{
		{3, 1, 25, []float64{0, 1, 0}},
		{3, 1, 40, []float64{0, 0.8, 0.2}},
		{2, 0, 40, []float64{1}},
		{3, 0, 25, []float64{0, 1}},
		{3, 2, 0, []float64{0.5, 0.5, 0, 0}},
		{3, 2, 40, []float64{0, 0.48, 0.5, 0.02}},
		{3, 3, 25, []float64{0, 0.45, 18.0 / 35, 1.0 / 28, 0}},
		{3, 3, 200, []float64{0, 0, 3.0 / 14, 13.0 / 21, 1.0 / 6}},
		{3, 3, 100, []float64{0, 0, 3.0 / 14, 13.0 / 21, 1.0 / 6}},
	} {
		f, err := fitOne(t, Col{Column: record.Column{Type: types.Float8}, Encoder: Spline, Buckets: c.knots, Boundaries: []float64{float64(c.degree)}}, column(types.Float8, vals...))
		if err != nil {
			t.Fatal(err)
		}
		b, err := f.EncodeColumns([]arrow.Array{column(types.Float8, c.ask)}, 1)
		if err != nil || b.Dense != c.knots+c.degree-1 {
			t.Fatalf("%d splines: %v", b.Dense, err)
		}
		sum := 0.0
		for j, want := range c.want {
			if got := b.Value(0, j); math.Abs(got-want) > 1e-12 {
				t.Errorf("%d knots, degree %d: spline %d of %v is %v, want %v", c.knots, c.degree, j, c.ask, got, want)
			}
			sum += b.Value(0, j)
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Errorf("%d knots, degree %d: splines of %v are %v in sum", c.knots, c.degree, c.ask, sum)
		}
	}
}
