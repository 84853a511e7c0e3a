package feature

import "github.com/tributarydb/tributary/sql/pgerr"

// The errors of training data. They name the column and suggest a remedy.

// ErrLabelNull is 22004 for a target that is NULL.
func ErrLabelNull(name string) error {
	return pgerr.New(pgerr.NullValueNotAllowed, "training label column %q contains NULL", name).OnColumn(name).
		WithHint("Leave these rows out: WHERE %q IS NOT NULL.", name)
}

func errNotFinite(what, name string) error {
	err := pgerr.New(pgerr.InvalidParameterValue, "%s column %q contains NaN, infinity or a value beyond 1e150", what, name).OnColumn(name)
	if what != "feature" {
		return err.WithHint("Leave these rows out.")
	}
	return err.WithHint("Leave these rows out, or turn the values into NULL, which is imputed: nan_as_null = true does so with NaN.")
}

func errWeightNull(name string) error {
	return pgerr.New(pgerr.NullValueNotAllowed, "weight column %q contains NULL", name).OnColumn(name)
}

func errWeightNegative(name string) error {
	return pgerr.New(pgerr.InvalidParameterValue, "weight column %q contains negative values", name).OnColumn(name)
}

func errWeightZero() error {
	return pgerr.New(pgerr.InvalidParameterValue, "the weights of all training rows are zero")
}

func errNoRows() error {
	return pgerr.New(pgerr.InvalidParameterValue, "the training query returned no rows")
}

func errAllHeldOut() error {
	return pgerr.New(pgerr.InvalidParameterValue, "the holdout leaves no rows to train on").
		WithHint("Lower data_split_eval_fraction, or train on more rows.")
}

func errOneClass(name string) error {
	return pgerr.New(pgerr.InvalidParameterValue, "training label column %q has only one class", name).OnColumn(name).
		WithHint("A classifier needs rows of at least two classes.")
}

func errManyClasses(c *Col) error {
	e := pgerr.New(pgerr.InvalidParameterValue, "training label column %q has more than %d distinct values", c.Name, MaxClasses).OnColumn(c.Name)
	if c.Type.IsNumber() {
		return e.WithHint("Predict it with a regression, such as linear_regression, or group its values.")
	}
	return e.WithHint("Group its values, or leave rare ones out.")
}

func errAllNull(name string) error {
	return pgerr.New(pgerr.NullValueNotAllowed, "feature column %q contains only NULLs", name).OnColumn(name).
		WithHint("Leave the column out of the training query.")
}

func errManyCategories(name string) error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "feature column %q has more than %d distinct values", name, maxDistinct).OnColumn(name).
		WithHint("Such a column is rather an identifier than a feature: leave it out, or group its values.")
}

func errManyTargets(name string) error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "ml.target_encode needs more than %d sums for feature column %q: one for each value, fold and class", maxTargetSums, name).OnColumn(name).
		WithHint("Group its values, or encode it by ml.hash_bucketize.")
}

func errManyTerms(name string, most int, hint string) error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "texts of feature column %q have more than %d different terms", name, most).OnColumn(name).WithHint("%s", hint)
}

func errNoTerms(name string) error {
	return pgerr.New(pgerr.InvalidParameterValue, "texts of feature column %q have no terms", name).OnColumn(name).
		WithHint("A word is two letters or digits at least. Lower min_df if it is given.")
}

func errArrayLength(name string, a, b int) error {
	return pgerr.New(pgerr.ArraySubscriptError, "arrays of feature column %q have different lengths: %d and %d", name, min(a, b), max(a, b)).OnColumn(name)
}

func errEvent(name string) error {
	return pgerr.New(pgerr.InvalidParameterValue, "event column %q contains values other than 0 and 1, or NULL", name).OnColumn(name)
}

func errDuration(name string) error {
	return pgerr.New(pgerr.InvalidParameterValue, "duration column %q contains negative values", name).OnColumn(name)
}
