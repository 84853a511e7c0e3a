package formats

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/graph"
	"github.com/tributarydb/tributary/ml/interchange"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/ml/shape"
	"github.com/tributarydb/tributary/sql/types"
)

// expected is what the system that wrote a file predicts.
type expected struct {
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
	// Predict is a number a row, or a row's probabilities.
	Predict []json.RawMessage `json:"predict"`
}

func readExpected(t testing.TB, file string) map[string]expected {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]expected
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// columnsOf makes the model's columns of rows.
func columnsOf(t testing.TB, m *model.Model, names []string, rows [][]any) []arrow.Array {
	t.Helper()
	var out []arrow.Array
	for _, c := range m.Fitted.Cols {
		at := -1
		for i, n := range names {
			if n == c.Name {
				at = i
			}
		}
		if at < 0 {
			t.Fatalf("the model's feature %q is none of %v", c.Name, names)
		}
		b := array.NewBuilder(memory.DefaultAllocator, c.Type.Arrow())
		for _, r := range rows {
			v := r[at]
			if f, ok := v.(float64); ok && c.Type.IsInteger() {
				v = int64(f)
			}
			if err := types.AppendDatum(b, c.Type, v); err != nil {
				t.Fatal(err)
			}
		}
		out = append(out, b.NewArray())
	}
	return out
}

// scores are the numbers that a model predicts, or its probabilities: of two classes the second one's.
func scores(t testing.TB, m *model.Model, cols []arrow.Array, n int) [][]float64 {
	t.Helper()
	s, err := model.NewScorer(m)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Score(cols, n, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := make([][]float64, n)
	for i := range out {
		switch {
		case got.Value != nil:
			out[i] = []float64{got.Value[i]}
		case got.Probs != nil:
			for k := range got.Probs {
				out[i] = append(out[i], got.Prob(k, i))
			}
		case got.Vector != nil:
			for k := range got.Vector {
				out[i] = append(out[i], got.Vector[k][i])
			}
		default:
			out[i] = []float64{float64(got.Label[i])}
		}
	}
	return out
}

func near(a, b, tolerance float64) bool {
	return math.Abs(a-b) <= tolerance*max(1, math.Abs(a), math.Abs(b))
}

// numbers are an expected prediction.
func numbers(t testing.TB, raw json.RawMessage) []float64 {
	t.Helper()
	var one float64
	var list []float64
	if json.Unmarshal(raw, &one) == nil {
		return []float64{one}
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// compare compares predictions with what is expected; one number of two classes is the second one's.
func compare(t testing.TB, got [][]float64, want expected, tolerance float64) {
	t.Helper()
	bad := 0
	for i, g := range got {
		w := numbers(t, want.Predict[i])
		if len(w) == 1 && len(g) == 2 {
			g = g[1:]
		}
		if len(g) != len(w) {
			t.Fatalf("row %d: %v, want %v", i, g, w)
		}
		for k := range g {
			if !near(g[k], w[k], tolerance) {
				if bad++; bad < 5 {
					t.Errorf("row %d %v: %v, want %v", i, want.Rows[i], g, w)
				}
				break
			}
		}
	}
	if bad > 0 {
		t.Errorf("%d of %d rows differ", bad, len(got))
	}
}

// readFile reads a file with its format found by its bytes.
func readFile(t testing.TB, b []byte) *interchange.File {
	t.Helper()
	f, err := Read(b, &family.Values{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// decoded is the model again, by its canonical bytes.
func decoded(t testing.TB, m *model.Model) *model.Model {
	t.Helper()
	out, err := model.Decode(m.Encode())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// explained checks that the parts of an explanation add up to the margin.
func explained(t testing.TB, m *model.Model, cols []arrow.Array, rows int) {
	t.Helper()
	s, err := model.NewScorer(m)
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.Explain(cols, rows)
	if err != nil {
		t.Fatal(err)
	}
	for i := range e.Prediction {
		sum := e.Baseline[i]
		for _, p := range e.Parts {
			sum += p[i]
		}
		if !near(sum, e.Prediction[i], 1e-9) {
			t.Fatalf("row %d: the parts add up to %v, not %v", i, sum, e.Prediction[i])
		}
	}
}

// TestForeignTrees: files of XGBoost and LightGBM predict as there, also after they were written by us and
// read again, and their explanations add up to the margin.
func TestForeignTrees(t *testing.T) {
	for file, want := range readExpected(t, "expected.json") {
		t.Run(file, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join("testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			tolerance := 1e-14
			if file[:3] == "xgb" {
				tolerance = 1e-6
			}
			f := readFile(t, b)
			m := decoded(t, f.Model)
			cols := columnsOf(t, m, want.Columns, want.Rows)
			got := scores(t, m, cols, len(want.Rows))
			compare(t, got, want, tolerance)

			f.Canonical, f.Version = m.Encode(), interchange.Describe(m)
			for _, format := range []string{"xgboost_json", "lightgbm_text"} {
				b, err := find(format).Write(f)
				if err != nil {
					if file == "lgb_ova.txt" || file == "lgb_zero.txt" {
						continue // XGBoost has no such thing
					}
					t.Fatal(err)
				}
				again := readFile(t, b).Model
				compare(t, scores(t, again, cols, len(want.Rows)), want, 1e-6)
			}

			explained(t, m, cols, len(want.Rows))
		})
	}
}

// shapes are the files that are read as trees or weights with encoders, which are explained; all others are
// graphs.
var shapes = []string{"skl_linear.onnx", "skl_ridge_std.onnx", "skl_logistic.onnx", "skl_logistic_three.onnx", "skl_tree.onnx", "skl_tree_three.onnx", "skl_forest.onnx",
	"skl_forest_three.onnx", "skl_extra_two.onnx", "skl_gb.onnx", "skl_gb_two.onnx", "skl_gb_three.onnx", "skl_lda.onnx", "skl_columns_ridge.onnx", "skl_columns_logistic.onnx"}

func shapeOf(t testing.TB, m *model.Model) shape.Shape {
	t.Helper()
	s, err := interchange.ShapeOf(m)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestScikitLearn: what scikit-learn wrote by skl2onnx predicts as there.
func TestScikitLearn(t *testing.T) {
	for file, want := range readExpected(t, "sklearn.json") {
		t.Run(file, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join("testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			m := decoded(t, readFile(t, b).Model)
			cols := columnsOf(t, m, want.Columns, want.Rows)
			compare(t, scores(t, m, cols, len(want.Rows)), want, 2e-5)
			if _, graph := shapeOf(t, m).(*graph.Graph); graph == slices.Contains(shapes, file) {
				t.Error("is it a graph?", graph)
			} else if !graph {
				explained(t, m, cols, len(want.Rows))
			}
		})
	}
}
