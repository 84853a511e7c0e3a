package families

import (
	"math"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/sysview"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/family/familytest"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/planner/bind/model"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/types"
)

// TestDomains: what ml.options says of an option is what its reader does.
func TestDomains(t *testing.T) {
	seen := 0
	for _, f := range All {
		for _, o := range f.Options() {
			name, d := o.Names[0], o.Domain()
			if o.Read == nil {
				continue
			}
			if d.Want == "" {
				t.Errorf("%s: %s accepts NULL", f.Info().Name, name)
			}
			reads := func(v any) bool {
				_, err := familytest.Options(f, name, v)
				return err == nil
			}
			for _, w := range d.Words {
				seen++
				if !reads(w) {
					t.Errorf("%s: %s = %s is refused", f.Info().Name, name, w)
				}
			}
			if !math.IsInf(d.Min, 0) {
				seen++
				if reads(d.Min - 1) {
					t.Errorf("%s: %s accepts less than %v", f.Info().Name, name, d.Min)
				}
			}
			if !math.IsInf(d.Max, 0) {
				seen++
				if reads(d.Max + 1) {
					t.Errorf("%s: %s accepts more than %v", f.Info().Name, name, d.Max)
				}
			}
		}
	}
	if seen < 200 {
		t.Error("domains are missing: there are", seen)
	}
}

// TestTasks: a family's plans are of the tasks that ml.algorithms says.
func TestTasks(t *testing.T) {
	for _, f := range All {
		i := f.Info()
		options, err := familytest.Options(f, base(f)...)
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range []types.Type{types.Float8, types.Text} {
			for _, asked := range []family.Task{"", family.Classification, family.Regression} {
				r := &family.Request{Options: options, Task: asked, Target: &record.Column{Name: "y", Type: target}, Columns: []record.Column{{Name: "x0", Type: types.Float8}}}
				if p, err := f.Plan(r); err == nil && !slices.Contains(i.Tasks(), p.Task) {
					t.Errorf("%s: %s is none of %v", i.Name, p.Task, i.Tasks())
				}
			}
		}
	}
}

// TestDescribedFunctions: pg_proc has the functions of ml that can be called, and no others.
func TestDescribedFunctions(t *testing.T) {
	want := slices.Concat(model.Tables, parse.Calls(), feature.Transforms(), []string{"predict", "predict_proba"})
	var got []string
	for _, f := range fn.Described() {
		if f.Schema != "ml" {
			continue
		}
		if got = append(got, f.Name); sysview.Catalog().OfModel("ml", f.Name) {
			want = append(want, f.Name)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%v,\nwant\n%v", got, want)
	}
}
