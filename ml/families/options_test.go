package families

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/family/familytest"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// elsewhere are options that the engine reads, or that need rows and relations that this test's
// trainings do not have.
var elsewhere = []string{"warm_start", "event", "order_by", "partition_by", "query_id", "lambdarank_truncation_level", "lambdarank_norm", "eval_at", "time_series_id_col", "holidays", "user_col", "item_col"}

// special are values of options that take none of tries.
var special = map[string]any{"model": "MAN", "non_seasonal_order": "(1,0,0)", "seasonal_order": "(0,1,1)", "interaction_constraints": `[["x0"], ["x1"]]`}

// bounds are options that end a training sooner, or not where it takes few steps anyway.
var bounds = []string{"max_iterations", "tolerance", "min_rel_progress"}

// tries are values of which an option takes one or more; of those that it takes one must matter.
var tries = []any{false, true, int64(1), int64(2), int64(3), int64(7), 0.02, 0.3, 0.9, 0.9999, 1.9, 40.0, "x1"}

// few are options that keep trainings short, where a family has them.
var few = []any{"n_estimators", 40, "epochs", 12, "max_iterations", 60, "max_depth", 3, "hidden_units", 4, "units", 3, "window", 4, "n_clusters", 3, "n_components", 2, "fill_gaps", "zero"}

// along are options that go with one, where its effect would take a long training to see.
var along = map[string][]any{"early_stop": {"min_rel_progress", 40}, "patience": {"min_rel_progress", 40}}

// TestOptionsMatter: beside any word of any option (a solver, a loss, a schedule), each option of
// each family changes the model for some value, or is refused.
func TestOptionsMatter(t *testing.T) {
	for _, f := range All {
		i := f.Info()
		t.Run(i.Name, func(t *testing.T) {
			t.Parallel()
			o := &optionSweep{t: t, f: f, base: base(f)}
			o.beside(nil)
			for _, def := range f.Options() {
				for _, w := range words(f, def) {
					o.beside([]any{def.Names[0], w})
				}
			}
		})
	}
}

// base are the short options that a family takes, one of synonyms.
func base(f family.Family) (out []any) {
	if slices.ContainsFunc(f.Options(), func(o *family.Option) bool { return o.Names[0] == "order_by" }) {
		out = []any{"order_by", "x0"}
	}
	if slices.Contains(f.Options(), family.UserColumn) {
		out = []any{"user_col", "c0", "item_col", "c1"}
	}
	seen := map[*family.Option]bool{}
	for k := 0; k < len(few); k += 2 {
		if o := family.Find(f.Options(), few[k].(string)); o != nil && !seen[o] {
			seen[o] = true
			out = append(out, o.Names[0], few[k+1])
		}
	}
	return out
}

// words are the words that an option takes, which its error for another one lists.
func words(f family.Family, def *family.Option) (out []string) {
	if def.Read == nil {
		return nil
	}
	if def.Names[0] == "init" { // any other word is a relation
		return []string{"k-means||", "k-means++", "random"}
	}
	_, err := familytest.Options(f, def.Names[0], "no such word")
	var e *pgerr.Error
	if !errors.As(err, &e) {
		return nil
	}
	list := strings.TrimPrefix(strings.TrimPrefix(e.Hint, "It must be "), "one of ")
	for _, w := range strings.Split(strings.TrimSuffix(list, "."), ", ") {
		if o, err := familytest.Options(f, def.Names[0], w); err == nil && o.Text(def.Names[0], "") == w && !strings.Contains(w, " ") {
			out = append(out, w) // and no synonym
		}
	}
	return out
}

type optionSweep struct {
	t    *testing.T
	f    family.Family
	base []any
}

// train returns a model with the base's options and these, which replace them.
func (o *optionSweep) train(options []any) (*familytest.Result, error) {
	return familytest.Train(o.t, o.f, sweepRows(o.f), familytest.Spread{}, with(o.base, options)...)
}

// with are options and others, which replace them.
func with(base, options []any) []any {
	all := slices.Clone(options)
	for k := 0; k < len(base); k += 2 {
		if !slices.Contains(all, base[k]) {
			all = append(all, base[k], base[k+1])
		}
	}
	return all
}

// beside tries each option beside these.
func (o *optionSweep) beside(context []any) {
	want, err := o.train(context)
	if err != nil {
		if !refused(err) {
			o.t.Errorf("%v: %v", context, err)
		}
		return
	}
	for _, def := range o.f.Options() {
		name := def.Names[0]
		if def.Read == nil || strings.HasPrefix(def.Doc, "Only ") || slices.Contains(elsewhere, name) || slices.Contains(context, any(name)) {
			continue
		}
		var ignored []any
		matters := false
		values := slices.Clone(tries)
		if v, ok := special[name]; ok {
			values = append(values, v)
		}
		for _, w := range words(o.f, def) {
			values = append(values, w)
		}
		for _, v := range values {
			v := list(o.f, name, v)
			if v == nil {
				continue
			}
			got, err := o.train(slices.Concat(context, []any{name, v}, along[name]))
			switch {
			case refused(err), diverged(err), err == nil && !bytes.Equal(got.Bytes, want.Bytes):
				matters = true
			case err != nil:
				o.t.Errorf("%v, %s = %v: %v", context, name, v, err)
			case name == "tolerance" && o.f.Info().Name == "huber_regression" && slices.ContainsFunc(context, func(v any) bool { return v == "sgd" || v == "adam" }):
				matters = true // while the scale is learnt gradients grow
			case slices.Contains(bounds, name) && got.State.Converged && got.State.Iteration <= 3:
				matters = true
			default:
				ignored = append(ignored, v)
			}
			if matters {
				break
			}
		}
		if !matters {
			o.t.Errorf("%s %v: option %s has no effect: %v", o.f.Info().Name, context, name, ignored)
		}
	}
}

// list is a value as the option takes it, itself or in a list of each feature's; nil for neither.
func list(f family.Family, name string, v any) any {
	for _, v := range []any{v, types.Array{Elems: []types.Datum{v, v, v, int64(0)}}} {
		if _, err := familytest.Options(f, name, v); err == nil {
			return v
		}
	}
	return nil
}

// refused reports whether an option does not fit, or is not supported there.
func refused(err error) bool {
	var e *pgerr.Error
	return errors.As(err, &e) && (e.Code == pgerr.InvalidParameterValue || e.Code == pgerr.FeatureNotSupported)
}

// diverged reports whether the numbers of a training left what floats can hold, as those of great
// steps do.
func diverged(err error) bool {
	var e *pgerr.Error
	return errors.As(err, &e) && e.Code == pgerr.NumericValueOutOfRange
}

// sweepRows are rows that every option has something to say about: numbers that are correlated and
// of different scales, outliers, categories, a holdout.
func sweepRows(f family.Family) *familytest.Data {
	r := rand.New(rand.NewPCG(7, 7))
	d := &familytest.Data{Cats: []int{4}, Seed: 3}
	for i := range 240 {
		a, b := r.NormFloat64(), r.NormFloat64()
		c := int32(r.IntN(5)) - 1 // not always a category: they would stand for the intercept
		d.X, d.Code = append(d.X, []float64{a, 0.4*a + b, 0.1 * r.NormFloat64()}), append(d.Code, []int32{c})
		y := math.Exp(0.3*a-0.2*b+0.1*float64(c)) + math.Abs(r.NormFloat64())
		if i%19 == 0 {
			y *= 6
		}
		y = math.Round(8*y+1) / 8 // some times are the same
		d.Y, d.Key, d.Held = append(d.Y, y), append(d.Key, i/12), append(d.Held, i/12%5 == 0)
	}
	p, err := f.Plan(&family.Request{Options: must(familytest.Options(f, base(f)...)), Target: &d.Fitted(false).Label, Columns: d.Columns()})
	switch {
	case err != nil:
		panic(err)
	case p.Time != "":
		d.Cats, d.Code, d.Held = nil, nil, nil
		for i := range d.X {
			d.X[i] = []float64{float64(i + i/50)} // with gaps
		}
	case p.Pair != nil:
		d.Cats = []int{20, 12}
		for i := range d.X {
			d.X[i], d.Code[i] = nil, []int32{int32(r.IntN(20)), int32(r.IntN(12))}
		}
	case p.Target == family.NoTarget:
		d.Y = nil
	case p.Target == family.ClassTarget:
		d.Classes = 2
		for i, y := range d.Y {
			d.Y[i] = 0
			if y > 2 {
				d.Y[i] = 1
			}
		}
	}
	return d
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprint(err))
	}
	return v
}
