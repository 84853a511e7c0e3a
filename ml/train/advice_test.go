package train

import (
	"strings"
	"testing"

	"github.com/tributarydb/tributary/ml/families"
	"github.com/tributarydb/tributary/ml/family"
)

// TestAdvice: the warning of a training that stopped at the iteration limit suggests options that
// its family has, by the first name of each in the manual.
func TestAdvice(t *testing.T) {
	for _, f := range families.All {
		j := &Job{Family: f, Plan: &family.Plan{}}
		advice := j.Advice()
		_, name, raise := strings.Cut(strings.TrimSuffix(strings.Split(advice, ",")[0], "."), "Raise ")
		if raise != (family.Find(f.Options(), "max_iterations") != nil) || raise && family.Find(f.Options(), name).Names[0] != name {
			t.Errorf("%s: %s", f.Info().Name, advice)
		}
		if strings.Contains(advice, "penalty") && family.Find(f.Options(), "l2_reg") == nil {
			t.Errorf("%s has no penalty: %s", f.Info().Name, advice)
		}
	}
	j := &Job{Family: families.All[0], Plan: &family.Plan{}, args: []family.Arg{{Name: "Max_Iter"}}}
	if advice := j.Advice(); !strings.HasPrefix(advice, "Raise max_iter") || strings.HasPrefix(advice, "Raise max_iterations") {
		t.Errorf("who wrote max_iter is told: %s", advice)
	}
	if j.spec.Standardize = true; strings.Contains(j.Advice(), "standardize") {
		t.Errorf("whose features are standardized is told: %s", j.Advice())
	}
	j = &Job{Family: families.All[len(families.All)-1], Plan: &family.Plan{Pair: []string{"u", "i"}}}
	if advice := j.Advice(); advice != "Raise max_iterations, or l2_reg." {
		t.Errorf("who has no features is told: %s", advice)
	}
}
