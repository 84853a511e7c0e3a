package tree

import "github.com/tributarydb/tributary/ml/family"

// PrefixOption implements family.Prefixes: trees are added to those before them, and none
// depends on how many follow.
func (k *kind) PrefixOption(o *family.Values) string {
	if k.forest || o.Given("early_stopping_rounds") || newDart(o) != nil {
		return ""
	}
	return "n_estimators"
}
