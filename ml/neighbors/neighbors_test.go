package neighbors

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/family/familytest"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// places are n rows of two numbers, far from the origin, and two categories; copies of rows are of other classes.
func places(seed uint64, n, classes int) *familytest.Data {
	r := rand.New(rand.NewPCG(seed, 1))
	d := &familytest.Data{Cats: []int{3, 2}, Classes: classes}
	for i := range n {
		x := []float64{1000 + math.Round(4*r.NormFloat64())/2, 2 + r.NormFloat64()}
		if i > 0 && r.IntN(9) == 0 {
			x = d.X[r.IntN(i)]
		}
		y := x[0] - 1000 + r.NormFloat64()
		if classes > 0 {
			y = float64(r.IntN(classes))
		}
		d.X, d.Y = append(d.X, x), append(d.Y, y)
		d.Code = append(d.Code, []int32{int32(r.IntN(4)) - 1, int32(r.IntN(2))})
	}
	return d
}

// TestSameModel: on any nodes, from any checkpoint.
func TestSameModel(t *testing.T) {
	d := places(1, 700, 3)
	for i := range d.X {
		d.W, d.Held = append(d.W, []float64{1, 2, 0.25, 0}[i%4]), append(d.Held, i%7 == 0)
	}
	familytest.Same(t, neighbors{}, d)
	familytest.Same(t, neighbors{}, places(2, 600, 0), "weights", "distance", "metric", "cosine")
}

// TestAgainstDefinitions compares predictions with those of plain loops over all rows.
func TestAgainstDefinitions(t *testing.T) {
	for _, classes := range []int{0, 3} {
		d := places(3, 400, classes)
		for i := range d.X {
			d.W = append(d.W, []float64{1, 2, 0.5, 0}[i%4])
		}
		ask := places(4, 100, classes)
		ask.X[0], ask.Code[0] = d.X[1], d.Code[1] // a row that is known
		for _, metric := range metrics {
			for _, weights := range []string{"uniform", "distance"} {
				m, err := familytest.Train(t, neighbors{}, d, familytest.Spread{Nodes: 2}, "metric", metric, "weights", weights, "n_neighbors", 4)
				if err != nil {
					t.Fatal(err)
				}
				s := m.Score(ask.All(false))
				for i := range ask.X {
					type near struct{ distance, y, w float64 }
					var list []near
					for k := range d.X {
						if d.W[k] > 0 {
							list = append(list, near{apartBy(metric, ask.Coords(i), d.Coords(k)), d.Y[k], d.W[k]})
						}
					}
					slices.SortStableFunc(list, func(a, b near) int { return cmp.Compare(a.distance, b.distance) })
					left, all := 4.0, 0.0
					last := -1.0
					sums := make([]float64, max(classes, 1))
					exact := list[0].distance == 0
					for _, n := range list {
						w := min(left, n.w)
						if left -= w; w <= 0 {
							if n.distance-last < 1e-9 { // which of equally near rows counts is not for this test
								sums = nil
							}
							break
						}
						if w < n.w && n.distance-last < 1e-9 {
							sums = nil
							break
						}
						last = n.distance
						if weights == "distance" && !exact {
							w /= n.distance
						} else if weights == "distance" && n.distance > 0 {
							w = 0
						}
						all += w
						if classes == 0 {
							sums[0] += w * n.y
						} else {
							sums[int(n.y)] += w
						}
					}
					for k, v := range sums {
						got := 0.0
						if classes == 0 {
							got = s.Value[i]
						} else {
							got = s.Prob(k, i)
						}
						if math.Abs(got-v/all) > 1e-7 {
							t.Fatalf("%s %s %d: row %d is %v, want %v", metric, weights, classes, i, got, v/all)
						}
					}
				}
			}
		}
	}
}

func apartBy(metric string, a, b []float64) float64 {
	sum, la, lb := 0.0, 0.0, 0.0
	for j, x := range a {
		switch metric {
		case "euclidean":
			sum += (x - b[j]) * (x - b[j])
		case "manhattan":
			sum += math.Abs(x - b[j])
		default:
			la, lb = la+x*x, lb+b[j]*b[j]
		}
	}
	switch metric {
	case "euclidean":
		return math.Sqrt(sum)
	case "manhattan":
		return sum
	}
	for j, x := range a {
		u := x/math.Sqrt(la) - b[j]/math.Sqrt(lb)
		sum += u * u
	}
	return sum / 2
}

// TestManyRows: more rows than are compared at once; each is nearest to itself.
func TestManyRows(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	d := &familytest.Data{}
	for i := range 3000 {
		d.X, d.Y = append(d.X, []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}), append(d.Y, float64(i))
	}
	for _, narrow := range []bool{false, true} {
		m, err := familytest.Train(t, neighbors{}, d, familytest.Spread{Narrow: narrow}, "k", 1)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range m.Score(d.All(narrow)).Value {
			if v != d.Y[i] {
				t.Fatalf("row %d is %v", i, v)
			}
		}
	}
}

// TestOddRows: infinite numbers, and rows of zeros, have a prediction.
func TestOddRows(t *testing.T) {
	d := places(6, 50, 2)
	odd := &familytest.Data{Cats: d.Cats, X: [][]float64{{math.Inf(1), 0}, {math.Inf(-1), math.Inf(1)}, {0, 0}}, Code: [][]int32{{-1, -1}, {0, 0}, {-1, -1}}, Y: []float64{0, 0, 0}, Classes: 2}
	for _, metric := range metrics {
		for _, weights := range []string{"uniform", "distance"} {
			m, err := familytest.Train(t, neighbors{}, d, familytest.Spread{}, "metric", metric, "weights", weights)
			if err != nil {
				t.Fatal(err)
			}
			s := m.Score(odd.All(false))
			for i := range odd.X {
				if sum := s.Prob(0, i) + s.Prob(1, i); math.Abs(sum-1) > 1e-12 {
					t.Errorf("%s %s: probabilities of row %d add up to %v", metric, weights, i, sum)
				}
			}
		}
	}
}

func TestOptionsAndErrors(t *testing.T) {
	d := places(7, 20, 2)
	for _, c := range []struct {
		code    pgerr.Code
		options []any
	}{
		{pgerr.InvalidParameterValue, []any{"n_neighbors", 21}},
		{pgerr.InvalidParameterValue, []any{"n_neighbors", 0}},
		{pgerr.InvalidParameterValue, []any{"metric", "hamming"}},
		{pgerr.InvalidParameterValue, []any{"weights", "rank"}},
	} {
		if _, err := familytest.Train(t, neighbors{}, d, familytest.Spread{}, c.options...); pgerr.CodeOf(err) != c.code {
			t.Errorf("%v: %v", c.options, err)
		}
	}
	huge := places(7, 20, 2)
	huge.X[3][1], huge.X[4][1] = 1.5e308, -1.5e308
	for _, metric := range []string{"euclidean", "cosine"} { // squares of finite numbers
		if _, err := familytest.Train(t, neighbors{}, huge, familytest.Spread{}, "metric", metric); pgerr.CodeOf(err) != pgerr.NumericValueOutOfRange {
			t.Errorf("%s: %v", metric, err)
		}
	}
	m, err := familytest.Train(t, neighbors{}, d, familytest.Spread{})
	if err != nil {
		t.Fatal(err)
	}
	m.Setup.Rows = 1 << 40
	if _, err := (neighbors{}).NewDriver(m.Setup, familytest.Home); pgerr.CodeOf(err) != pgerr.ProgramLimitExceeded {
		t.Error(err)
	}
}

func TestHostileBytes(t *testing.T) {
	familytest.Hostile(t, neighbors{}, places(8, 60, 2), 5000, 4)
}

// TestNearRows compares the rows that are found, by their names, with those of plain loops.
func TestNearRows(t *testing.T) {
	d := places(9, 300, 0)
	d.Y, d.Cats = nil, []int{3, 300, 2}
	for i, c := range d.Code {
		d.Code[i] = []int32{c[0], int32(i * 7 % 300), c[1]} // the second names the row
	}
	ask := places(10, 20, 0)
	for i, c := range ask.Code {
		ask.Code[i] = []int32{c[0], -1, c[1]}
	}
	ask.Cats, ask.Y = d.Cats, nil
	for _, metric := range metrics {
		m, err := familytest.Train(t, neighbors{}, d, familytest.Spread{Nodes: 2, Bytes: true}, "metric", metric, "id_col", "c1")
		if err != nil {
			t.Fatal(err)
		}
		got := m.Predictor.(family.Ranker).Rank(ask.All(false), family.RankNearest, 4)
		if got.Column != 3 {
			t.Fatalf("values are of column %d", got.Column)
		}
		bare := func(d *familytest.Data, i int) []float64 { // the coordinates without the name
			x := d.Coords(i)
			return append(slices.Clone(x[:5]), x[305:]...)
		}
		for i := range ask.X {
			var all []float64
			of := map[int32]float64{}
			for k := range d.X {
				v := apartBy(metric, bare(ask, i), bare(d, k))
				all, of[d.Code[k][1]] = append(all, v), v
			}
			slices.Sort(all)
			for k, s := range got.Score[4*i : 4*i+4] {
				if n := got.Number[4*i+k]; math.Abs(s-all[k]) > 1e-7 || math.Abs(of[n]-s) > 1e-7 {
					t.Fatalf("%s: row %d has as number %d %v, which is %v away, want %v", metric, i, k, n, of[n], all[k])
				}
			}
			if v := m.Score(ask.All(false)).Value[i]; math.Abs(v-all[0]) > 1e-7 {
				t.Fatalf("row %d is %v from the nearest", i, v)
			}
		}
	}
	familytest.Same(t, neighbors{}, d, "id_col", "c1")
	familytest.Hostile(t, neighbors{}, d, 500, 4, "id_col", "c1")
}
