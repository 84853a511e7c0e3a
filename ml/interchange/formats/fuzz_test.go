package formats

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/ml/interchange"
	"github.com/tributarydb/tributary/ml/model"
)

// fuzz reads any bytes as a format: they make an error, or a model that its bytes make again, that
// predicts a row of NULLs and numbers, and that each format writes or refuses.
func fuzz(f *testing.F, format, pattern string, seeds ...[]byte) {
	files, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)/2])
		for _, at := range []int{len(b) / 3, len(b) / 2, len(b) - len(b)/5} {
			broken := bytes.Clone(b)
			broken[at] ^= 0x15
			f.Add(broken)
		}
	}
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		out, err := find(format).Read(b, &interchange.Options{})
		if err != nil {
			return
		}
		enc := out.Model.Encode()
		m, err := model.Decode(enc)
		if err != nil {
			t.Fatal("a model that was read cannot be decoded:", err)
		}
		if !bytes.Equal(m.Encode(), enc) {
			t.Fatal("a model changes by its bytes")
		}
		s, err := model.NewScorer(m)
		if err != nil {
			return // classes that their type does not have
		}
		var cols []arrow.Array
		for _, c := range m.Fitted.Cols {
			b := array.NewBuilder(memory.DefaultAllocator, c.Type.Arrow())
			b.AppendNull()
			b.AppendEmptyValue()
			cols = append(cols, b.NewArray())
		}
		if _, err := s.Score(cols, 2, nil); err != nil {
			t.Fatal(err)
		}
		_, _ = s.Explain(cols, 2)
		for _, w := range All {
			_, _ = w.Write(&interchange.File{Name: "m", Model: m, Canonical: enc, Version: interchange.Describe(m)})
		}
	})
}

func FuzzXGBoost(f *testing.F)  { fuzz(f, "xgboost_json", "xgb_*.json") }
func FuzzLightGBM(f *testing.F) { fuzz(f, "lightgbm_text", "lgb_*.txt") }
func FuzzONNX(f *testing.F)     { fuzz(f, "onnx", "skl_*.onnx") }

func FuzzSafetensors(f *testing.F) { fuzz(f, "safetensors", "none", linearTensors) }

func FuzzJSON(f *testing.F) {
	b, err := find("json").Write(written(f, "xgb_cat.json"))
	if err != nil {
		f.Fatal(err)
	}
	fuzz(f, "json", "none", b, bytes.Replace(b, []byte(`"rows":0`), []byte(`"rows":-1`), 1))
}

// written is the file of a model in testdata, as the catalog would have it.
func written(t testing.TB, name string) *interchange.File {
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	f := readFile(t, b)
	f.Name = "m"
	return f
}

// linearTensors is y = 2·x0 - x1 + 0.5, written by safetensors.numpy.save of
// {"weight": [[2, -1]], "bias": [0.5]} in float32.
var linearTensors = append([]byte("\x80\x00\x00\x00\x00\x00\x00\x00"+`{"bias":{"dtype":"F32","shape":[1],"data_offsets":[8,12]},"weight":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}          `),
	0, 0, 0, 0x40, 0, 0, 0x80, 0xbf, 0, 0, 0, 0x3f)

// TestTensors: a linear model comes in from its tensors, with the names that are given.
func TestTensors(t *testing.T) {
	f, err := find("safetensors").Read(linearTensors, &interchange.Options{Features: []string{"a", "b"}})
	if err != nil {
		t.Fatal(err)
	}
	rows := [][]any{{1.0, 2.0}, {-3.0, 0.0}}
	got := scores(t, f.Model, columnsOf(t, f.Model, []string{"a", "b"}, rows), 2)
	if got[0][0] != 0.5 || got[1][0] != -5.5 {
		t.Error(got)
	}
	f.Canonical, f.Version = f.Model.Encode(), interchange.Describe(f.Model)
	b, err := find("safetensors").Write(f)
	if err != nil {
		t.Fatal(err)
	}
	if again := readFile(t, b); !bytes.Equal(again.Canonical, f.Canonical) {
		t.Error("the model is another when it is read again")
	}
}

// TestBounded: what a small file counts up to does not become memory.
func TestBounded(t *testing.T) {
	for name, b := range map[string]string{
		"features": `{"learner":{"feature_names":[],"feature_types":[],"gradient_booster":{"name":"gbtree","model":{"trees":[],"tree_info":[]}},` +
			`"learner_model_param":{"base_score":"0","num_class":"0","num_feature":"1000000"},"objective":{"name":"reg:squarederror"}}}`,
		"categories": `{"learner":{"feature_names":["k"],"feature_types":["c"],"gradient_booster":{"name":"gbtree","model":{"trees":[{"left_children":[1,-1,-1],"right_children":[2,-1,-1],` +
			`"split_conditions":[0,0,0],"split_indices":[0,0,0],"default_left":[0,0,0],"split_type":[1,0,0],"categories":[900000],"categories_nodes":[0],"categories_segments":[0],"categories_sizes":[1]}],"tree_info":[0]}},` +
			`"learner_model_param":{"base_score":"0","num_class":"0","num_feature":"1"},"objective":{"name":"reg:squarederror"}}}`,
		"depth": strings.Repeat(`{"learner":`, 100000),
	} {
		if _, err := find("xgboost_json").Read([]byte(b), &interchange.Options{}); err == nil {
			t.Errorf("%s: the file is read", name)
		}
	}
}
