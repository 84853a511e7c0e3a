package source

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func arg(name string, v any) plan.Arg {
	switch v := v.(type) {
	case int:
		return plan.Arg{Name: name, Val: int64(v), Type: types.Int4}
	case float64:
		return plan.Arg{Name: name, Val: v, Type: types.Float8}
	case bool:
		return plan.Arg{Name: name, Val: v, Type: types.Bool}
	case []string:
		a := types.Array{Elem: types.Text}
		for _, s := range v {
			a.Elems = append(a.Elems, s)
		}
		return plan.Arg{Name: name, Val: a, Type: types.Type{OID: 1009, Mod: -1}}
	case nil:
		return plan.Arg{Name: name, Type: types.Text}
	}
	return plan.Arg{Name: name, Val: v, Type: types.Text}
}

// src returns the plan of a call that reads the named columns, or all if none are named.
func src(t testing.TB, s *Sources, name string, args []plan.Arg, cols ...string) *plan.Source {
	t.Helper()
	out, err := s.Source(context.Background(), name, args, Reader{Server: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(cols) > 0 {
		out.Cols = slices.DeleteFunc(out.Cols, func(c plan.Column) bool { return !slices.Contains(cols, c.Name) })
	}
	return out
}

// read reads all rows as text, in the order of Seq; the source is read in `of` parts in random
// order.
func read(t testing.TB, s *Sources, p *plan.Source, of int) []string {
	t.Helper()
	rows, err := tryRead(s, p, of)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func tryRead(s *Sources, p *plan.Source, of int) ([]string, error) {
	ctx := context.Background()
	type run struct {
		seq  int64
		rows []string
	}
	var runs []run
	for _, part := range rand.Perm(of) {
		r, err := s.Open(ctx, p, part, of, nil)
		if err != nil {
			return nil, err
		}
		if part%2 == 1 { // the test copies rows before it calls Next again, so memory may be reused
			op.AllowReuse(r)
		}
		for {
			b, err := r.Next(ctx)
			if err == io.EOF {
				break
			}
			if err != nil {
				_ = r.Close()
				return nil, err
			}
			x := run{seq: b.Seq}
			for i := range b.N {
				if b.Sel != nil && !slices.Contains(b.Sel, int32(i)) {
					continue
				}
				var f []string
				for j, c := range p.Cols {
					d := types.DatumAt(c.Type, b.Cols[j], i)
					if d == nil {
						f = append(f, "∅")
					} else {
						f = append(f, types.TextOf(c.Type, d, types.DefaultEnv))
					}
				}
				x.rows = append(x.rows, strings.Join(f, "|"))
			}
			runs = append(runs, x)
		}
		if err := r.Close(); err != nil {
			return nil, err
		}
		if _, err := r.Next(ctx); err != io.EOF {
			return nil, fmt.Errorf("after Close: %v", err)
		}
	}
	slices.SortFunc(runs, func(a, b run) int { return int(min(1, max(-1, a.seq-b.seq))) })
	var out []string
	for i, r := range runs {
		if i > 0 && runs[i-1].seq+int64(len(runs[i-1].rows)) > r.seq {
			return nil, fmt.Errorf("batches overlap at %d", r.seq)
		}
		out = append(out, r.rows...)
	}
	return out, nil
}

func file1(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func shapeText(p *plan.Source) string {
	var f []string
	for _, c := range p.Cols {
		f = append(f, c.Name+" "+c.Type.String())
	}
	return strings.Join(f, ", ")
}

// TestSplits reads each generator divided into different numbers of parts and with different
// columns: the rows are always the same.
func TestSplits(t *testing.T) {
	s := New(nil)
	for _, c := range []struct {
		name string
		args []plan.Arg
		cols []string // read these alone too
	}{
		{"make_classification", []plan.Arg{arg("n_samples", 20000), arg("n_features", 8), arg("n_informative", 3), arg("n_repeated", 1), arg("random_state", 7)}, []string{"x3", "y"}},
		{"make_classification", []plan.Arg{arg("n_samples", 9000), arg("n_classes", 3), arg("n_informative", 4), arg("shift", nil), arg("scale", nil), arg("dtype", "float4"), arg("shuffle", false)}, []string{"x0", "x19"}},
		{"make_regression", []plan.Arg{arg("n_samples", 20000), arg("n_features", 5), arg("n_informative", 2), arg("noise", 1.5), arg("bias", 3)}, []string{"y"}},
		{"make_blobs", []plan.Arg{arg("n_samples", 20000), arg("centers", 4), arg("random_state", 1)}, []string{"x1"}},
		{"timeseries", []plan.Arg{arg("end", "2000-01-01 05:00"), arg("seed", 3)}, []string{"name", "y"}},
		{"random_matrix", []plan.Arg{arg("", 20000), arg("", 3), arg("distribution", "normal")}, []string{"x2"}},
	} {
		p := src(t, s, c.name, c.args)
		want := read(t, s, p, 1)
		if int(p.Rows) != len(want) {
			t.Errorf("%s: %v rows, estimate %v", c.name, len(want), p.Rows)
		}
		for _, of := range []int{2, 3, s.Parts(p)} {
			if got := read(t, s, p, of); !slices.Equal(got, want) {
				t.Errorf("%s in %d parts differs", c.name, of)
			}
		}
		few := src(t, s, c.name, c.args, c.cols...)
		for i, r := range read(t, s, few, 2) {
			full := strings.Split(want[i], "|")
			for j, v := range strings.Split(r, "|") {
				if full[few.Cols[j].Num-1] != v {
					t.Fatalf("%s: row %d, column %s alone is %s, among others %s", c.name, i, few.Cols[j].Name, v, full[few.Cols[j].Num-1])
				}
			}
		}
	}
}

// TestPinned pins some generated numbers: a seed must give them on every machine and in every
// version.
func TestPinned(t *testing.T) {
	s := New(nil)
	for _, c := range []struct {
		name, first string
		args        []plan.Arg
	}{
		{"make_classification", pinnedClassification, []plan.Arg{arg("n_samples", 3), arg("n_features", 3), arg("n_redundant", 1), arg("random_state", 42)}},
		{"make_regression", pinnedRegression, []plan.Arg{arg("n_samples", 3), arg("n_features", 2), arg("random_state", 42)}},
		{"make_blobs", pinnedBlobs, []plan.Arg{arg("n_samples", 3), arg("random_state", 42)}},
		{"timeseries", pinnedTimeseries, []plan.Arg{arg("end", "2000-01-01 00:00:03")}},
		{"random_matrix", pinnedMatrix, []plan.Arg{arg("rows", 1), arg("cols", 2)}},
	} {
		if got := strings.Join(read(t, s, src(t, s, c.name, c.args), 1), "\n"); got != c.first {
			t.Errorf("%s gives\n%s", c.name, got)
		}
	}
}

func TestClassificationShape(t *testing.T) {
	s := New(nil)
	p := src(t, s, "make_classification", []plan.Arg{arg("n_samples", 10000), arg("n_features", 4), arg("n_informative", 4), arg("n_redundant", 0),
		arg("n_classes", 4), arg("n_clusters_per_class", 1), arg("flip_y", 0), arg("class_sep", 10.0)}, "y")
	count := map[string]int{}
	for _, r := range read(t, s, p, 1) {
		count[r]++
	}
	if len(count) != 4 || count["0"] != 2500 || count["3"] != 2500 {
		t.Errorf("classes %v", count)
	}
	// Without flipped labels a model of the true coefficients has no error.
	reg := src(t, s, "make_regression", []plan.Arg{arg("n_samples", 100), arg("n_features", 1), arg("n_informative", 1), arg("bias", 2)})
	slope := math.NaN()
	for _, r := range read(t, s, reg, 1) {
		var x, y float64
		if _, err := fmt.Sscanf(strings.ReplaceAll(r, "|", " "), "%g %g", &x, &y); err != nil {
			t.Fatal(err)
		}
		k := (y - 2) / x
		if !math.IsNaN(slope) && math.Abs(k-slope) > 1e-6*math.Abs(slope)/math.Abs(x) {
			t.Fatalf("slope %v, then %v", slope, k)
		}
		slope = k
	}
}

func TestRandom(t *testing.T) {
	s := newStream(1, 0, 0)
	var sum, squares, fourth float64
	const n = 200000
	for range n {
		x := s.normal()
		sum += x
		squares += x * x
		fourth += x * x * x * x
	}
	if math.Abs(sum/n) > 0.02 || math.Abs(squares/n-1) > 0.02 || math.Abs(fourth/n-3) > 0.1 {
		t.Errorf("moments %v %v %v", sum/n, squares/n, fourth/n)
	}
	for _, x := range []float64{1e-300, 1e-17, 0.1, 0.5, 0.7071, 0.99999, 1, 1.0000001, 2, 1e10} {
		if d := math.Abs(logarithm(x) - math.Log(x)); d > 1e-15*math.Max(1e-3, math.Abs(math.Log(x))) {
			t.Errorf("ln %v is off by %v", x, d)
		}
	}
	for _, n := range []int64{1, 2, 3, 7, 100, 1025} {
		o := newOrder(n, newStream(9, 0, 0))
		seen := map[int64]bool{}
		for i := range n {
			seen[o.at(i)] = true
		}
		if len(seen) != int(n) || seen[n] {
			t.Errorf("order of %d is no permutation", n)
		}
	}
}

func TestBadArguments(t *testing.T) {
	s := New(nil)
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		args []plan.Arg
		code pgerr.Code
		text string
	}{
		{"make_blobs", []plan.Arg{arg("sampels", 1)}, pgerr.InvalidParameterValue, `has no argument named "sampels"`},
		{"make_blobs", []plan.Arg{arg("", 1), arg("n_samples", 1)}, pgerr.SyntaxError, "used more than once"},
		{"make_blobs", []plan.Arg{arg("n_samples", -1)}, pgerr.InvalidParameterValue, "between"},
		{"make_blobs", []plan.Arg{arg("n_samples", "x")}, pgerr.InvalidParameterValue, "must be an integer"},
		{"make_classification", []plan.Arg{arg("n_features", 2)}, pgerr.InvalidParameterValue, "sum of the informative"},
		{"make_classification", []plan.Arg{arg("n_classes", 3)}, pgerr.InvalidParameterValue, "2**n_informative"},
		{"make_regression", []plan.Arg{arg("n_targets", 2)}, pgerr.FeatureNotSupported, "more than one target"},
		{"timeseries", []plan.Arg{arg("freq", "-1s")}, pgerr.InvalidParameterValue, "greater than zero"},
		{"read_csv", nil, pgerr.InvalidParameterValue, "is missing"},
		{"read_csv", []plan.Arg{arg("", "gs://b/x.csv")}, pgerr.FeatureNotSupported, "gs://"},
		{"read_csv", []plan.Arg{arg("", dir+"/none.csv")}, pgerr.UndefinedFile, "No such file or directory"},
		{"read_parquet", []plan.Arg{arg("", dir+"/*.parquet")}, pgerr.UndefinedFile, "no files match"},
		{"read_parquet", []plan.Arg{arg("", file1(t, "x.parquet", "PAR1 nonsense PAR1"))}, pgerr.DataCorrupted, "could not read parquet"},
		{"read_json", []plan.Arg{arg("", file1(t, "x.json", `{"a": `))}, pgerr.InvalidTextRepresentation, "invalid input syntax for type json"},
		{"read_json", []plan.Arg{arg("", file1(t, "y.json", `[1, 2]`))}, pgerr.InvalidJSONText, "expected a JSON object"},
		{"read_csv", []plan.Arg{arg("", file1(t, "e.csv", ""))}, pgerr.BadCopyFileFormat, "is empty"},
	} {
		_, err := s.Source(context.Background(), c.name, c.args, Reader{Server: true})
		if pgerr.CodeOf(err) != c.code || !strings.Contains(fmt.Sprint(err), c.text) {
			t.Errorf("%s %v: %v (%s)", c.name, c.args, err, pgerr.CodeOf(err))
		}
	}
	if src, err := s.Source(context.Background(), "no_such", nil, Reader{Server: true}); src != nil || err != nil {
		t.Error(src, err)
	}
}
