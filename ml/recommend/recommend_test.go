package recommend

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/family/familytest"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// tastes are n ratings of users and items whose vectors have two factors; some pairs have several.
func tastes(seed uint64, n, users, items int) *familytest.Data {
	r := rand.New(rand.NewPCG(seed, 1))
	d := &familytest.Data{Cats: []int{users, items}, Seed: seed}
	for range n {
		u, i := r.IntN(users), r.IntN(items)
		y := 3 + math.Sin(float64(u))*math.Cos(float64(3*i)) + math.Cos(float64(2*u))*math.Sin(float64(i)) + 0.2*r.NormFloat64() + float64(i%3)/2
		d.X, d.Code, d.Y = append(d.X, []float64{}), append(d.Code, []int32{int32(u), int32(i)}), append(d.Y, math.Round(4*y)/4)
	}
	return d
}

// counts are implicit feedback of the same kind, some of it 0.
func counts(seed uint64, n, users, items int) *familytest.Data {
	d := tastes(seed, n, users, items)
	for i, y := range d.Y {
		d.Y[i] = math.Max(math.Round(y-2), 0)
	}
	return d
}

var columns = []any{"user_col", "c0", "item_col", "c1"}

func train(t *testing.T, d *familytest.Data, s familytest.Spread, options ...any) (*familytest.Result, error) {
	t.Helper()
	return familytest.Train(t, factorization{}, d, s, slices.Concat(columns, options)...)
}

// TestSameModel: on any nodes, from any checkpoint.
func TestSameModel(t *testing.T) {
	d := tastes(1, 900, 40, 25)
	for i := range d.X {
		d.W, d.Held = append(d.W, []float64{1, 2, 0.25, 0}[i%4]), append(d.Held, i%7 == 0)
	}
	for _, d := range []*familytest.Data{d, tastes(2, 700, 30, 30)} {
		m := familytest.Same(t, factorization{}, d, slices.Concat(columns, []any{"num_factors", 5, "max_iter", 4, "l2", 0.5})...)
		if m.State.Iteration == 0 || !(m.State.TrainLoss > 0) {
			t.Errorf("state %+v", m.State)
		}
	}
	familytest.Same(t, factorization{}, counts(3, 900, 40, 25), "user_col", "c1", "item_col", "c0", "num_factors", 9, "implicit_prefs", true, "alpha", 3, "max_iter", 4)
}

// objective is a model's objective by its definition, with its predictions of all pairs.
func objective(d *familytest.Data, p *predictor, l2, alpha float64) (sum float64) {
	w, rated := map[[2]int32]float64{}, map[[2]int32]float64{}
	for i, c := range d.Code {
		pair := [2]int32{c[p.user], c[p.item]}
		w[pair]++
		rated[pair] += d.Y[i]
	}
	dot := func(u, i int) float64 {
		x, y := p.of[0][u*p.width():], p.of[1][i*p.width():]
		s := 0.0
		for j := range p.factors {
			s += float64(x[j]) * float64(y[j])
		}
		if !p.implicit {
			s += float64(x[p.factors]) + float64(y[p.factors]) + p.mean
		}
		return s
	}
	if p.implicit {
		for u := range p.users {
			for i := range p.items {
				r := rated[[2]int32{int32(u), int32(i)}]
				want := 0.0
				if r > 0 {
					want = 1
				}
				sum += (1 + alpha*r) * math.Pow(want-dot(u, i), 2)
			}
		}
	} else {
		for i, c := range d.Code {
			sum += math.Pow(d.Y[i]-dot(int(c[p.user]), int(c[p.item])), 2)
		}
	}
	for _, v := range p.of {
		for _, x := range v {
			sum += l2 * float64(x) * float64(x)
		}
	}
	return sum
}

// TestMinimum: what is found is a minimum of the objective: no small change of a number makes it smaller.
func TestMinimum(t *testing.T) {
	for _, c := range []struct {
		d       *familytest.Data
		alpha   float64
		options []any
	}{
		{tastes(4, 600, 25, 20), 0, nil},
		{counts(5, 500, 20, 25), 2, []any{"feedback_type", "implicit", "wals_alpha", 2}},
	} {
		m, err := train(t, c.d, familytest.Spread{Nodes: 2, Threads: 2}, slices.Concat(c.options, []any{"num_factors", 3, "l2_reg", 0.7, "max_iter", 400, "tolerance", 0.0})...)
		if err != nil {
			t.Fatal(err)
		}
		p := m.Predictor.(*predictor)
		at := objective(c.d, p, 0.7, c.alpha)
		if !p.implicit {
			if got := m.State.TrainLoss * float64(len(c.d.Y)); math.Abs(got-(at-penalty(p, 0.7))) > 1e-3 {
				t.Errorf("the loss is %v in all, the objective %v", got, at)
			}
		}
		for side := range p.of {
			for k := range p.of[side] {
				for _, by := range []float32{0.02, -0.02} {
					was := p.of[side][k]
					p.of[side][k] += by
					if now := objective(c.d, p, 0.7, c.alpha); now < at-1e-4 {
						t.Fatalf("number %d of side %d: %v is smaller than %v", k, side, now, at)
					}
					p.of[side][k] = was
				}
			}
		}
	}
}

func penalty(p *predictor, l2 float64) (sum float64) {
	for _, v := range p.of {
		for _, x := range v {
			sum += l2 * float64(x) * float64(x)
		}
	}
	return sum
}

// TestRanks compares what is ranked with all predictions, sorted.
func TestRanks(t *testing.T) {
	for _, options := range [][]any{{"max_iter", 5}, {"feedback_type", "implicit", "max_iter", 5}} {
		d := counts(6, 700, 30, 50)
		m, err := train(t, d, familytest.Spread{}, append(options, "num_factors", 6)...)
		if err != nil {
			t.Fatal(err)
		}
		file := slices.Clone(m.Bytes)
		again, err := factorization{}.Decode(d.Fitted(false), canon.Read(file))
		if err != nil {
			t.Fatal(err)
		}
		p := again.(*predictor)
		clear(file) // which may be gone when the model is used
		had := map[[2]int32]bool{}
		for i, c := range d.Code {
			had[[2]int32{c[0], c[1]}] = had[[2]int32{c[0], c[1]}] || !p.implicit || d.Y[i] != 0
		}
		all := &familytest.Data{Cats: d.Cats}
		for u := range 30 {
			for i := range 50 {
				all.X, all.Code = append(all.X, nil), append(all.Code, []int32{int32(u), int32(i)})
			}
		}
		scores := m.Score(all.All(false)).Value
		ask := &familytest.Data{Cats: d.Cats, X: [][]float64{nil, nil, nil, nil, nil, nil}, Code: [][]int32{{3, -1}, {7, -1}, {-1, -1}, {29, -1}, {0, -1}, {7, -1}}}
		for _, by := range []family.RankBy{family.RankAll, family.RankUnseen} {
			got := p.Rank(ask.All(false), by, 60)
			from := int32(0)
			for r, c := range ask.Code {
				var want []int32
				for i := range int32(50) {
					if c[0] >= 0 && !(by == family.RankUnseen && had[[2]int32{c[0], i}]) {
						want = append(want, i)
					}
				}
				slices.SortStableFunc(want, func(a, b int32) int { return cmp.Compare(scores[c[0]*50+b], scores[c[0]*50+a]) })
				if list := got.Number[from:got.Ends[r]]; !slices.Equal(list, want) {
					t.Fatalf("%v, order %d: row %d has %v, want %v", options, by, r, list, want)
				}
				for i, n := range got.Number[from:got.Ends[r]] {
					if s := got.Score[int(from)+i]; s != scores[c[0]*50+n] {
						t.Fatalf("a score is %v, and predicted is %v", s, scores[c[0]*50+n])
					}
				}
				from = got.Ends[r]
			}
		}
		places, _ := p.Places(all.All(false))
		for k, c := range all.Code {
			want := 1
			for i := range int32(50) {
				a, b := scores[c[0]*50+i], scores[k]
				if i != c[1] && !had[[2]int32{c[0], i}] && (a > b || a == b && i < c[1]) {
					want++
				}
			}
			if places[k] != float64(want) {
				t.Fatalf("pair %v has place %v, want %v", c, places[k], want)
			}
		}
		items := &familytest.Data{Cats: d.Cats, X: [][]float64{nil, nil}, Code: [][]int32{{-1, 4}, {-1, -1}}}
		similar := p.Rank(items.All(false), family.RankSimilar, 50)
		if n := similar.Ends[0]; n != 49 || similar.Ends[1] != n || slices.Contains(similar.Number, 4) {
			t.Fatalf("similar items end at %v", similar.Ends)
		}
		for k, i := range similar.Number {
			a, b := p.of[1][4*p.width():][:p.factors], p.of[1][int(i)*p.width():][:p.factors]
			ab, aa, bb := 0.0, 0.0, 0.0
			for j := range a {
				ab, aa, bb = ab+float64(a[j])*float64(b[j]), aa+float64(a[j])*float64(a[j]), bb+float64(b[j])*float64(b[j])
			}
			if want := ab / math.Sqrt(aa*bb); math.Abs(similar.Score[k]-want) > 1e-12 || k > 0 && similar.Score[k] > similar.Score[k-1] {
				t.Fatalf("item %d is similar by %v, want %v", i, similar.Score[k], want)
			}
		}
		if top := p.Rank(ask.All(false), family.RankAll, 3); !slices.Equal(top.Ends, []int32{3, 6, 6, 9, 12, 15}) {
			t.Errorf("lists of 3 end at %v", top.Ends)
		}
	}
}

// TestLearns: of ratings with structure those that are held out are predicted better than by means.
func TestLearns(t *testing.T) {
	d := tastes(7, 6000, 150, 100)
	for i := range d.X {
		d.Held = append(d.Held, i%10 == 0)
	}
	m, err := train(t, d, familytest.Spread{}, "num_factors", 4)
	if err != nil {
		t.Fatal(err)
	}
	scores, sum, n := m.Score(d.All(false)).Value, 0.0, 0.0
	for i, held := range d.Held {
		if held {
			sum, n = sum+math.Pow(scores[i]-d.Y[i], 2), n+1
		}
	}
	if rmse := math.Sqrt(sum / n); rmse > 0.4 {
		t.Errorf("the error of ratings held out is %v", rmse)
	}
}

func TestOptionsAndErrors(t *testing.T) {
	d := tastes(8, 100, 10, 10)
	for _, c := range []struct {
		code    pgerr.Code
		options []any
	}{
		{pgerr.InvalidParameterValue, []any{"user_col", "c0"}},
		{pgerr.InvalidParameterValue, []any{"user_col", "c0", "item_col", "c0"}},
		{pgerr.InvalidParameterValue, []any{"user_col", "y", "item_col", "c0"}},
		{pgerr.InvalidParameterValue, append(slices.Clone(columns), "feedback_type", "loud")},
		{pgerr.InvalidParameterValue, append(slices.Clone(columns), "feedback_type", "implicit", "implicit_prefs", true)},
		{pgerr.InvalidParameterValue, append(slices.Clone(columns), "wals_alpha", 2)},
		{pgerr.InvalidParameterValue, append(slices.Clone(columns), "num_factors", 0)},
	} {
		if _, err := familytest.Train(t, factorization{}, d, familytest.Spread{}, c.options...); pgerr.CodeOf(err) != c.code {
			t.Errorf("%v: %v", c.options, err)
		}
	}
	none := counts(8, 100, 10, 10)
	for i := range none.Y {
		none.Y[i] = 0
	}
	if _, err := train(t, none, familytest.Spread{}, "feedback_type", "implicit"); pgerr.CodeOf(err) != pgerr.InvalidParameterValue {
		t.Error(err)
	}
	d.Y[3] = 1e200
	if _, err := train(t, d, familytest.Spread{}); pgerr.CodeOf(err) != pgerr.NumericValueOutOfRange {
		t.Error(err)
	}
}

func TestHostileBytes(t *testing.T) {
	familytest.Hostile(t, factorization{}, tastes(9, 200, 12, 10), 3000, 4, slices.Concat(columns, []any{"num_factors", 3, "max_iter", 2})...)
}

// TestCharged: what driver and worker hold is charged.
func TestCharged(t *testing.T) {
	d := tastes(10, 200000, 3000, 2000)
	if _, err := train(t, d, familytest.Spread{Nodes: 2, Threads: 2, Charged: true}, "num_factors", 20, "max_iter", 2); err != nil {
		t.Fatal(err)
	}
}
