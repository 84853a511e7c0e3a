package props_test

import (
	"os"
	"testing"

	"github.com/tributarydb/tributary/internal/plantest"
	"github.com/tributarydb/tributary/planner/props"
)

// TestWork: estimated times are of the order of measured ones, and tell plans of tens of
// milliseconds from plans of hundreds.
func TestWork(t *testing.T) {
	last := 0.0
	for _, q := range []struct {
		name     string
		from, to float64 // milliseconds of a thread, as measured at scale factor 1, give or take a half
	}{{"q02", 3, 13}, {"q06", 7, 21}, {"q12", 9, 28}, {"q10", 20, 60}, {"q03", 20, 60}, {"q13", 45, 180}, {"q18", 120, 470}} {
		text, err := os.ReadFile("../../tools/bench/queries/" + q.name + ".sql")
		if err != nil {
			t.Fatal(err)
		}
		w := plantest.TPCH(t)
		p, err := w.Optimize(t, string(text))
		if err != nil {
			t.Fatal(err)
		}
		work := props.Work(p.Root, w) / 1e6
		if work < q.from || work > q.to || work < last {
			t.Errorf("%s: %.1f ms, the one before %.1f", q.name, work, last)
		}
		last = work
	}
}
