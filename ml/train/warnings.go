package train

import (
	"fmt"
	"math"
	"regexp"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/sql/types"
)

// Warning is a likely problem of a model, for its user.
type Warning struct{ Message, Hint string }

const (
	manyClasses    = 100  // of a number: more suggest a regression
	fewOthers      = 1e-3 // of the rows without a category of their own: less is no loss
	farFromZero    = 1e4  // of a mean, in ranges of the values: float32 keeps three digits of what varies
	unusualRange   = 1000 // of values, or its inverse: what a net's first weights and steps are not made for
	fewRows        = 100  // with fewer, the distribution of values is unknown
	separatedLoss  = 1e-3 // a linear classifier with a smaller loss than this …
	separateWeight = 10   // … and weights beyond this does not converge: the classes are separable
	weightColumn   = 2    // of relation weights
)

// warnings returns the warnings about the training data and the model.
func (r *runner) warnings(st *feature.Stats, p family.Predictor) (out []Warning) {
	say := func(hint, format string, args ...any) {
		out = append(out, Warning{fmt.Sprintf(format, args...), hint})
	}
	for k, name := range r.job.Targets() {
		if t := r.learns.ForTarget(k); t.Label.Type.IsNumber() && len(t.Keys) > manyClasses {
			say("Predict it with a regression, or group its values.", "the target %q is a number with %d values, each of which is a class of its own", name, len(t.Keys))
		}
	}
	for i, c := range r.job.spec.Cols {
		if c.Role == feature.Feature && !c.Target && !namesRows(r.job.Plan, &c) && st.Rows >= fewRows && identifies(&c, &st.Cols[i], st.Rows) {
			say(fmt.Sprintf("Leave it out: SELECT * EXCLUDE (%s).", c.Name), "the feature %q seems to identify rows: nothing learnt of it will hold for others", c.Name)
			continue
		}
		if c.Role == feature.Feature && !c.Target && c.Encoder == feature.Plain {
			r.unscaled(c.Name, &st.Cols[i], say)
		}
		if c.Encoder != feature.OneHot && c.Encoder != feature.Ordinal {
			continue
		}
		if f := r.column(c.Name); f != nil {
			if own, share := f.Shared(&st.Cols[i]); share >= fewOthers {
				say("Raise max_categories if they matter, or group the values.", "the feature %q has %d values, of which the %d most frequent are told apart: %.2g %% of the rows have another", c.Name, len(st.Cols[i].Cats), own, 100*share)
			}
		}
	}
	if o := r.job.Options; o.Bool("calculate_p_values", false) && o.Given("weight") && !o.Given("weight_type") && r.Weight.Value() != float64(st.Counted) {
		if family.Find(r.job.Family.Options(), "weight_type") != nil {
			say("Say weight_type = 'analytic' where weights are no numbers of copies, or 'frequency' where they are.", "the p-values take weights for numbers of copies: %d rows count as %.6g", st.Counted, r.Weight.Value())
		}
	}
	if r.Held > r.Rows { // in a text column 'train' sorts after 'test', and all rows of each are ties
		say("Check data_split_col: a boolean says which rows are held out; of other values the largest are, with all that are level.", "%d rows are held out, more than the %d that are trained on", r.Held, r.Rows)
	}
	if d, ok := p.(family.Describer); ok && r.job.Plan.Task == family.Classification && r.driver.State().TrainLoss < separatedLoss {
		rows, _ := d.Describe("weights")
		for _, row := range rows {
			if w, ok := row[weightColumn].(float64); ok && math.Abs(w) > separateWeight {
				say("Add a penalty, such as l2_reg = 0.001.", "the features tell the classes apart without error: the weights would grow without end")
				break
			}
		}
	}
	return out
}

// unscaled warns about a number that a net takes as it is, by standardize = false, and of which it learns
// little or nothing, although its training runs to the end. A linear model of hazards works in units of
// its own, but its features are float32 too.
func (r *runner) unscaled(name string, st *feature.ColStats, say func(hint, format string, args ...any)) {
	j, mean, span := r.job, math.Abs(st.Number.Mean), st.Number.Max-st.Number.Min
	if !j.Plan.Narrow || j.spec.Standardize || !(span > 0) {
		return
	}
	const hint = "Leave out standardize = false, or scale it in the query."
	net := family.Find(j.Family.Options(), "intervals") == nil || j.Options.Given("hidden_units")
	switch {
	case mean > farFromZero*span && !j.spec.AutoNarrow():
		say(hint, "the values of the feature %q lie within %.3g around %.3g: numbers of 32 bits tell them apart by steps of %.1g", name, span, st.Number.Mean, mean/(1<<24))
	case net && (span > unusualRange || span < 1/float64(unusualRange)):
		say(hint, "the values of the feature %q lie within %.3g, and are not standardized: a net learns of numbers about 1", name, span)
	}
}

// column returns the fitted encoder of a column, nil for none.
func (r *runner) column(name string) *feature.FitCol {
	for i := range r.fitted.Cols {
		if r.fitted.Cols[i].Name == name {
			return &r.fitted.Cols[i]
		}
	}
	return nil
}

// idName matches the names of columns that identify rows.
var idName = regexp.MustCompile(`(?i)^(id|uuid|guid|key)$|(_id|_uuid|_guid)$|[a-z]Id$`)

// identifies reports whether a column's values seem to identify the rows: texts that
// hardly repeat; consecutive integers; integers in a column with such a name whose
// range is at least the number of rows.
func identifies(c *feature.Col, st *feature.ColStats, rows int64) bool {
	if len(st.Cats) > 0 {
		return float64(len(st.Cats)) > 0.95*float64(rows)
	}
	if !c.Type.IsNumber() || c.Type.IsFloat() || c.Type.Form() == types.FormInt16 {
		return false
	}
	if st.Number == nil || st.Number.N < rows {
		return false
	}
	n := float64(st.Number.N)
	spread := st.Number.M2 / st.Number.W
	consecutive := (n*n - 1) / 12
	if c.Type.OID != types.NumericOID && math.Abs(spread-consecutive) < 1e-9*consecutive {
		return true
	}
	return idName.MatchString(c.Name) && spread > consecutive/4
}

// namesRows reports whether a column's values are expected to be different in most rows.
func namesRows(p *family.Plan, c *feature.Col) bool {
	return c.Encoder == feature.Instant || c.Encoder == feature.Terms || p.Pair != nil || c.Name == p.Identity
}
