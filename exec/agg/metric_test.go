package agg

import (
	"cmp"
	"fmt"
	"math"
	"math/rand"
	"runtime"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/exec/kernel/pairs"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func int64s(v ...int64) arrow.Array {
	return batch.FromSlice(arrow.PrimitiveTypes.Int64, v, nil)
}

func float64s(v ...float64) arrow.Array {
	return batch.FromSlice(arrow.PrimitiveTypes.Float64, v, nil)
}

// measureIn adds the rows to one group, in several parts that are merged by their encoded states,
// and returns the result.
func measureIn(t *testing.T, name string, parts int, label, got arrow.Array) types.Datum {
	t.Helper()
	whole := metricOf(name, []types.Type{types.Int8, types.Int8})
	whole.Resize(1)
	for p := range parts {
		one := metricOf(name, []types.Type{types.Int8, types.Int8})
		one.Resize(1)
		from, to := int64(label.Len()*p/parts), int64(label.Len()*(p+1)/parts)
		if err := one.Update(make([]uint32, to-from), []arrow.Array{array.NewSlice(label, from, to), array.NewSlice(got, from, to)}); err != nil {
			t.Fatal(err)
		}
		st, err := one.States(0, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := whole.MergeStates([]uint32{0}, st.(*array.Binary)); err != nil {
			t.Fatal(err)
		}
	}
	res, err := whole.Results(0, 1)
	if err != nil {
		t.Fatal(err)
	}
	typ := types.Float8
	if res.DataType().ID() == arrow.LIST {
		typ, _ = types.ArrayOf(typ)
	}
	return types.DatumAt(typ, res, 0)
}

// TestMetricsOfThreeClasses: the expected values are those of scikit-learn with average='macro'.
func TestMetricsOfThreeClasses(t *testing.T) {
	label, got := int64s(0, 1, 1, 0, 1, 1, 0, 1, 2, 2), int64s(0, 1, 0, 1, 1, 1, 0, 0, 2, 0)
	for name, want := range map[string]float64{"accuracy": 0.6, "precision_score": (2.0/5 + 3.0/4 + 1) / 3, "recall_score": (2.0/3 + 3.0/5 + 1.0/2) / 3,
		"f1_score": (4.0/8 + 6.0/9 + 2.0/3) / 3} {
		for _, parts := range []int{1, 2, 5} {
			if v := measureIn(t, name, parts, label, got); math.Abs(v.(float64)-want) > 1e-15 {
				t.Errorf("%s in %d parts: %v, want %v", name, parts, v, want)
			}
		}
	}
	scores := float64s(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)
	for _, name := range []string{"roc_auc", "log_loss"} {
		for _, parts := range []int{1, 2, 5} { // two of the five have rows of one label only
			if v := measureIn(t, name, parts, label, scores); v != nil {
				t.Errorf("%s of three classes in %d parts: %v", name, parts, v)
			}
		}
	}
}

// TestRankingIsCharged: roc_auc is charged for its scores and little more, and releases them when a
// third label makes it undefined. Computing the result needs two more words per score.
func TestRankingIsCharged(t *testing.T) {
	const n = 100000
	label, score := make([]int64, n), make([]float64, n)
	for i := range label {
		label[i], score[i] = int64(i%2), float64(i)
	}
	a := metricOf("roc_auc", []types.Type{types.Int8, types.Float8})
	a.Resize(1)
	if err := a.Update(make([]uint32, n), []arrow.Array{int64s(label...), float64s(score...)}); err != nil {
		t.Fatal(err)
	}
	if b := a.Bytes(); b < 8*n || b > 16*n {
		t.Errorf("%d scores are charged as %d bytes", n, b)
	}
	if b := a.(Holistic).Need(0, 1, false); b < 16*n || b > 24*n {
		t.Errorf("a result of %d scores needs %d bytes", n, b)
	}
	if err := a.Update([]uint32{0}, []arrow.Array{int64s(2), float64s(0)}); err != nil {
		t.Fatal(err)
	}
	if b := a.Bytes(); b > 4096 {
		t.Errorf("%d bytes are charged after the scores are gone", b)
	}
}

// TestAreaOfManyShapes computes roc_auc of scores of many distributions, at once, from encoded
// states and from merged ones, and compares with a plain sum of ranks.
func TestAreaOfManyShapes(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	for k, draw := range []func() float64{r.Float64, r.NormFloat64, func() float64 { return float64(r.Intn(3)) }, func() float64 { return 7 },
		func() float64 { return math.Copysign(0, float64(r.Intn(2))-0.5) }, func() float64 { return math.Float64frombits(r.Uint64()) },
		func() float64 { return math.Ldexp(r.Float64(), r.Intn(2000)-1000) }, func() float64 { return 1 + float64(r.Intn(1<<20))*0x1p-52 }} {
		for _, n := range []int{2, 17, 33, 65, 1000, 30000, 100000} {
			rare := 2
			if n > 1000 && k%2 == 0 {
				rare = n / 7
			}
			label, score := make([]int64, n), make([]float64, n)
			for i := range score {
				if r.Intn(rare) == 0 {
					label[i] = 1
				}
				score[i] = draw() + float64(label[i])*0.1
			}
			label[0], label[1] = 1, 0
			want := slowArea(label, score)
			var sides [2]scores
			for i, l := range label {
				sides[l].add(f64.ScoreKey(score[i]))
			}
			for _, workers := range []int{1, 2, 5} {
				if got := pairs.RankSum(&sides[1].Keys, &sides[0].Keys, workers); math.Abs(got-want) > 1e-15 {
					t.Errorf("shape %d, %d scores, %d workers: %v, want %v", k, n, workers, got, want)
				}
			}
			for _, parts := range []int{1, 3} {
				if got := measureIn(t, "roc_auc", parts, int64s(label...), float64s(score...)); math.Abs(got.(float64)-want) > 1e-15 {
					t.Errorf("shape %d, %d scores in %d parts: %v, want %v", k, n, parts, got, want)
				}
			}
		}
	}
}

// slowArea is the share of pairs in the right order, by sorting.
func slowArea(label []int64, score []float64) float64 {
	order := make([]int, len(label))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(score[a], score[b]) })
	var wins, below, pos int64
	for len(order) > 0 {
		var p, n int64
		first := score[order[0]]
		for len(order) > 0 && cmp.Compare(score[order[0]], first) == 0 {
			p, n, order = p+label[order[0]], n+1-label[order[0]], order[1:]
		}
		wins += p * (2*below + n)
		below, pos = below+n, pos+p
	}
	return float64(wins) / (2 * float64(pos*below))
}

// TestMergedScoresStay merges one aggregate of scores into another while rows are added to both:
// neither changes the other.
func TestMergedScoresStay(t *testing.T) {
	r := rand.New(rand.NewSource(4))
	for _, name := range []string{"roc_auc", "log_loss"} {
		type state struct {
			a     Agg
			label []int64
			score []float64
		}
		var s [2]state
		for i := range s {
			s[i].a = metricOf(name, []types.Type{types.Int8, types.Float8})
			s[i].a.Resize(1)
		}
		add := func(s *state, n int) {
			label, score := make([]int64, n), make([]float64, n)
			for i := range label {
				label[i], score[i] = int64(r.Intn(2)), r.Float64()
			}
			s.label, s.score = append(s.label, label...), append(s.score, score...)
			if err := s.a.Update(make([]uint32, n), []arrow.Array{int64s(label...), float64s(score...)}); err != nil {
				t.Fatal(err)
			}
		}
		for round := range 6 {
			to, from := &s[round%2], &s[1-round%2]
			add(to, 1+r.Intn(3000))
			add(from, 1+r.Intn(3000))
			if err := to.a.(Merger).MergeFrom([]uint32{0}, from.a, []uint32{0}); err != nil {
				t.Fatal(err)
			}
			to.label, to.score = append(to.label, from.label...), append(to.score, from.score...)
			for i := range s {
				add(&s[i], 1+r.Intn(3000))
				res, err := s[i].a.Results(0, 1)
				if err != nil {
					t.Fatal(err)
				}
				got := types.DatumAt(types.Float8, res, 0)
				if want := measureIn(t, name, 1, int64s(s[i].label...), float64s(s[i].score...)); got != want {
					t.Errorf("%s round %d: %v, want %v", name, round, got, want)
				}
			}
		}
	}
}

// TestEvaluationsOfManyRows computes error metrics of many rows in parts of all sizes: the results
// are those of sums without rounding, whatever the parts.
func TestEvaluationsOfManyRows(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	for _, wide := range []bool{false, true} {
		const n = 5000
		y, p := make([]float64, n), make([]float64, n)
		var abs, sq, d, sum exact.Long
		for i := range y {
			y[i] = r.NormFloat64()
			if wide { // too far apart for the fixed-point partial sums
				y[i] = math.Ldexp(y[i], r.Intn(60))
			}
			p[i] = y[i] + r.NormFloat64()
			e := y[i] - p[i]
			abs.Add(math.Abs(e))
			sq.AddProduct(e, e)
			d.Add(e)
			sum.Add(y[i])
		}
		mean := sum.Value() / n
		var total float64
		for _, v := range y {
			total += (v - mean) * (v - mean)
		}
		mse := sq.Value() / n
		want := []float64{abs.Value() / n, mse, math.Sqrt(mse), 1 - sq.Value()/total, 1 - (sq.Value()-d.Value()*d.Value()/n)/total}
		var first types.Array
		for _, parts := range []int{1, 2, 7, 999} {
			got := measureIn(t, "ml_regression", parts, float64s(y...), float64s(p...)).(types.Array)
			for i, w := range want {
				if v := got.Elems[i].(float64); math.Abs(v-w) > 1e-12*math.Abs(w)+1e-15 {
					t.Errorf("%s in %d parts: %v, want %v", fn.RegressionMetrics[i], parts, v, w)
				}
			}
			if parts == 1 {
				first = got
			} else if fmt.Sprint(got.Elems) != fmt.Sprint(first.Elems) {
				t.Errorf("%d parts give %v, one %v", parts, got.Elems, first.Elems)
			}
		}
	}
}

// TestRankingsHandMemoryOn computes one roc_auc after another; each returns its memory, and the next
// reuses it without seeing the scores of the one before.
func TestRankingsHandMemoryOn(t *testing.T) {
	r := rand.New(rand.NewSource(9))
	was := map[*uint64]bool{}
	again := 0
	for round := range 4 {
		var label []int64
		var score []float64
		aggs := make([]*ranked, 3) // one per thread
		for i := range aggs {
			aggs[i] = metricOf("roc_auc", []types.Type{types.Int8, types.Float8}).(*ranked)
			aggs[i].Resize(1)
			l, s := make([]int64, 50000), make([]float64, 50000)
			for k := range l {
				l[k] = int64(r.Intn(2))
				s[k] = r.NormFloat64() + float64(l[k])*float64(round)
			}
			label, score = append(label, l...), append(score, s...)
			if err := aggs[i].Update(make([]uint32, len(l)), []arrow.Array{int64s(l...), float64s(s...)}); err != nil {
				t.Fatal(err)
			}
		}
		for _, a := range aggs {
			for i := range a.groups[0].sides {
				for _, c := range a.groups[0].sides[i].of.Chunks {
					if at := &c[0]; was[at] {
						again++
					} else {
						was[at] = true
					}
				}
			}
		}
		to := aggs[0]
		for _, a := range aggs[1:] {
			if err := to.MergeFrom([]uint32{0}, a, []uint32{0}); err != nil {
				t.Fatal(err)
			}
		}
		for step := range to.Begin(2) {
			to.Step(step, 0)
			to.Step(step, 1)
		}
		to.End()
		if b := to.Bytes(); b > 4096 {
			t.Errorf("%d bytes are charged after the pairs are counted", b)
		}
		res, err := to.Results(0, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := types.DatumAt(types.Float8, res, 0).(float64), slowArea(label, score); math.Abs(got-want) > 1e-15 {
			t.Errorf("round %d: %v, want %v", round, got, want)
		}
	}
	if again == 0 {
		t.Error("no memory was used again")
	}
	runtime.KeepAlive(was)
}

// TestScoresThatAreNoProbabilities: scikit-learn raises a ValueError too. Rows that do not count
// may have any, and rounding errors are none.
func TestScoresThatAreNoProbabilities(t *testing.T) {
	floats, _ := types.ArrayOf(types.Float8)
	texts, _ := types.ArrayOf(types.Text)
	column := func(t types.Type, list ...types.Datum) arrow.Array {
		a, err := datumColumn(t, 0, len(list), func(i int) (types.Datum, error) { return list[i], nil })
		if err != nil {
			panic(err)
		}
		return a
	}
	listOf := func(e types.Type, list ...types.Datum) types.Datum { return types.Array{Elem: e, Elems: list} }
	for _, c := range []struct {
		score types.Datum
		bad   bool
	}{{1.5, true}, {-0.25, true}, {math.Inf(1), true}, {math.Inf(-1), true}, {math.NaN(), false}, {1 + 0x1p-50, false}, {-0x1p-50, false}, {0.0, false}, {1.0, false}} {
		for _, args := range [][]arrow.Array{
			{column(types.Text, "a", "b"), column(types.Float8, 0.5, c.score)},
			{column(types.Text, "a", "b"), column(types.Float8, 0.5, c.score), column(texts, listOf(types.Text, "a", "b"), listOf(types.Text, "a", "b"))},
			{column(types.Text, "a", "b"), column(floats, listOf(types.Float8, 0.5, 0.5), listOf(types.Float8, c.score, 0.5)), column(texts, listOf(types.Text, "a", "b"), listOf(types.Text, "a", "b"))},
		} {
			ts := []types.Type{types.Text, types.Float8, texts}[:len(args)]
			if _, is := args[1].(*array.List); is {
				ts[1] = floats
			}
			for _, groups := range [][]uint32{{0, 0}, {0, 1}} {
				a := metricOf("log_loss", ts)
				a.Resize(2)
				if err := a.Update(groups, args); pgerr.Is(err, pgerr.NumericValueOutOfRange) != c.bad || !c.bad && err != nil {
					t.Errorf("%v of %d arguments in groups %v: %v", c.score, len(args), groups, err)
				}
			}
		}
	}
	a := metricOf("log_loss", []types.Type{types.Text, types.Float8})
	a.Resize(1)
	if err := a.Update([]uint32{0, 0}, []arrow.Array{column(types.Text, "a", nil), column(types.Float8, nil, 2.0)}); err != nil {
		t.Errorf("rows with NULLs: %v", err)
	}
}
