package observe

import (
	"strings"
	"testing"
	"time"
)

// TestInsights: what is told of statements, how often, and what is not.
func TestInsights(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	scan := func(rows int64, estimated float64, took time.Duration, detail ...string) Operator {
		return Operator{Name: "Seq Scan on t", Detail: detail, Rows: rows, Estimated: estimated, Took: took}
	}
	list := []*Statement{
		{User: 1, Fingerprint: 1, Start: at, Spilled: 5 << 20},
		{User: 1, Fingerprint: 1, Start: at.Add(time.Second), Spilled: 3 << 20, Text: "the last"},
		{User: 2, Fingerprint: 1, Start: at, Code: "40001"},
		{User: 1, Fingerprint: 2, Start: at, Took: time.Second, Operators: []Operator{scan(1, 1, time.Second, "Filter: (id = 7)")}},
		{User: 1, Fingerprint: 3, Start: at, Took: time.Second, Operators: []Operator{scan(5_000_000, 20, time.Second)}},
		// Nothing is to be said of these.
		{User: 3, Fingerprint: 4, Start: at, Took: time.Second, Operators: []Operator{scan(1, 1, time.Second)}},                                           // no filter
		{User: 3, Fingerprint: 5, Start: at, Took: time.Second, Operators: []Operator{scan(1, 1, time.Millisecond, "Filter: x")}},                         // not what took long
		{User: 3, Fingerprint: 6, Start: at, Took: time.Second, Operators: []Operator{scan(10, 1_000_000, time.Second), {Name: "Limit", Rows: 10}}},       // ended by LIMIT
		{User: 3, Fingerprint: 7, Start: at, Took: time.Second, Operators: []Operator{scan(900, 1, time.Second), {Number: 1, Rows: 5000, Estimated: 80}}}, // not far
	}
	got := Insights(list)
	if len(got) != 4 {
		t.Fatalf("%+v", got)
	}
	if s := got[0]; s.Kind != "spill" || s.Times != 2 || s.Text != "the last" || !strings.Contains(s.Detail, "5 MiB") || !s.Last.Equal(at.Add(time.Second)) {
		t.Errorf("%+v", s)
	}
	for i, want := range []string{"conflict", "estimate", "scan"} {
		if got[i+1].Kind != want || got[i+1].Times != 1 || got[i+1].Hint == "" {
			t.Errorf("%+v is no %s", got[i+1], want)
		}
	}
	// Rows of an operator are those of all nodes.
	part := Operator{Rows: 600, Estimated: 1200, Number: 3}
	if got := Insights([]*Statement{{Operators: []Operator{part, part}}}); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// TestPlan: the operators of all nodes are one tree.
func TestPlan(t *testing.T) {
	s := &Statement{Operators: []Operator{
		{Node: 1, Number: 0, Parent: -1, Name: "Aggregate", Rows: 1, Estimated: 1, Took: 12 * time.Millisecond},
		{Node: 1, Number: 1, Parent: 0, Name: "Seq Scan on t", Rows: 2, Estimated: 1200, Took: 11 * time.Millisecond, Detail: []string{"Filter: (a > 7)"}},
		{Node: 2, Number: 1, Parent: 0, Name: "Seq Scan on t", Rows: 1, Estimated: 1200, Took: 10 * time.Millisecond, Spilled: 5, Detail: []string{"Filter: (a > 7)"}},
	}}
	want := "Aggregate (rows=1 of 1, 12ms)\n  Seq Scan on t (rows=3 of 1200, 11ms, spilled=5) Filter: (a > 7)"
	all := PlanForm{Actual: true, Times: true}
	if got := s.Plan(all); got != want {
		t.Error(got)
	}
	if got := s.Plan(PlanForm{}); got != "Aggregate (rows=1)\n  Seq Scan on t (rows=1200) Filter: (a > 7)" {
		t.Error(got)
	}
	s.Text = "select 1"
	asJSON := `{"Query Text":"select 1","Plan":{"Node Type":"Aggregate","Plan Rows":1,"Actual Rows":1,"Plans":[` +
		`{"Node Type":"Seq Scan on t","Details":["Filter: (a \u003e 7)"],"Plan Rows":1200,"Actual Rows":3,"Spilled Bytes":5}]}}`
	if got := s.Plan(PlanForm{JSON: true, Actual: true}); got != asJSON {
		t.Error(got)
	}
	if got := (&Statement{}).Plan(all); got != "" {
		t.Error(got)
	}
}
