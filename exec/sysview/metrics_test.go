package sysview

import (
	"math"
	"testing"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/json"
)

// TestMetricsJSON: metrics are JSON whatever they are and are called, in the order of jsonb.
func TestMetricsJSON(t *testing.T) {
	got := MetricsJSON([]catalog.NamedValue{{Name: "r2_score", Value: math.Inf(-1)}, {Name: "a", Value: math.NaN()}, {Name: "\a\"é", Value: 1e-7}, {Name: "mae", Value: math.Inf(1)}})
	if want := `{"a": null, "mae": null, "\u0007\"é": 0.0000001, "r2_score": null}`; got != want {
		t.Errorf("%s, not %s", got, want)
	}
	if v, err := json.ParseJSONB(got); err != nil || v.String() != got {
		t.Errorf("%s is read as %v: %v", got, v, err)
	}
	if got := MetricsJSON(nil); got != "{}" {
		t.Errorf("no metrics are %s", got)
	}
}
