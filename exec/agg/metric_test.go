package agg

import (
	"math"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/types"
)

func int64s(v ...int64) arrow.Array {
	return batch.FromSlice(arrow.PrimitiveTypes.Int64, v, nil)
}

func float64s(v ...float64) arrow.Array {
	return batch.FromSlice(arrow.PrimitiveTypes.Float64, v, nil)
}

// measureIn adds the rows to one group in as many parts, each merged by its
// state, and gives the group's value.
func measureIn(t *testing.T, name string, parts int, label, got arrow.Array) types.Datum {
	t.Helper()
	whole := metric(name, []types.Type{types.Int8, types.Int8})
	whole.Resize(1)
	for p := range parts {
		one := metric(name, []types.Type{types.Int8, types.Int8})
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
	return types.DatumAt(types.Float8, res, 0)
}

// The expected values are scikit-learn's, average='macro'.
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
		for _, parts := range []int{1, 2, 5} { // two of the five are of one label
			if v := measureIn(t, name, parts, label, scores); v != nil {
				t.Errorf("%s of three classes in %d parts: %v", name, parts, v)
			}
		}
	}
}

// A ranking keeps its scores and little beside them, and lets go of them when a
// third label makes them useless.
func TestRankingIsCharged(t *testing.T) {
	const n = 100000
	label, score := make([]int64, n), make([]float64, n)
	for i := range label {
		label[i], score[i] = int64(i%2), float64(i)
	}
	a := metric("roc_auc", []types.Type{types.Int8, types.Float8})
	a.Resize(1)
	if err := a.Update(make([]uint32, n), []arrow.Array{int64s(label...), float64s(score...)}); err != nil {
		t.Fatal(err)
	}
	if b := a.Bytes(); b < 8*n || b > 16*n {
		t.Errorf("%d scores are charged as %d bytes", n, b)
	}
	if err := a.Update([]uint32{0}, []arrow.Array{int64s(2), float64s(0)}); err != nil {
		t.Fatal(err)
	}
	if b := a.Bytes(); b > 4096 {
		t.Errorf("%d bytes are charged after the scores are gone", b)
	}
}
