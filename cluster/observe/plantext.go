package observe

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// PlanForm is how a plan is written for the log.
type PlanForm struct {
	Actual bool // what the operators did, not only what was estimated
	Times  bool // with Actual: how long
	JSON   bool
}

// planLine is an operator of a plan, summed over nodes.
type planLine struct {
	Operator
	depth    int
	children []*planLine
}

// lines are the operators of the plan, parents first.
func (s *Statement) lines() (lines []*planLine) {
	at := map[int]*planLine{}
	for _, o := range s.Operators {
		l := at[o.Number]
		if l == nil {
			l = &planLine{Operator: o}
			at[o.Number], lines = l, append(lines, l)
			continue
		}
		l.Rows += o.Rows
		l.Spilled += o.Spilled
		l.Took = max(l.Took, o.Took)
	}
	for _, l := range lines {
		if p := at[l.Parent]; p != nil && p != l {
			l.depth = p.depth + 1
			p.children = append(p.children, l)
		}
	}
	return lines
}

// Plan is the statement's plan, an operator a line, or as EXPLAIN (FORMAT JSON) has it with the statement's text:
//
//	Aggregate (rows=1 of 1, 12ms)
//	  Seq Scan on t (rows=3 of 1200, 11ms) Filter: (a > 7)
//
// It is "" where operators are not known.
func (s *Statement) Plan(f PlanForm) string {
	lines := s.lines()
	if len(lines) == 0 {
		return ""
	}
	if f.JSON {
		return s.planJSON(lines, f)
	}
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s%s (rows=", strings.Repeat("  ", l.depth), l.Name)
		if f.Actual {
			fmt.Fprintf(&b, "%d of ", l.Rows)
		}
		fmt.Fprintf(&b, "%.0f", l.Estimated)
		if f.Actual && f.Times {
			fmt.Fprintf(&b, ", %v", l.Took.Round(time.Microsecond))
		}
		if f.Actual && l.Spilled > 0 {
			fmt.Fprintf(&b, ", spilled=%d", l.Spilled)
		}
		b.WriteString(")")
		for _, d := range l.Detail {
			b.WriteString(" " + d)
		}
	}
	return b.String()
}

// planNode is an operator in JSON, with PostgreSQL's names where it has them.
type planNode struct {
	Type    string      `json:"Node Type"`
	Details []string    `json:"Details,omitempty"`
	Plan    float64     `json:"Plan Rows"`
	Rows    *int64      `json:"Actual Rows,omitempty"`
	Time    *float64    `json:"Actual Total Time,omitempty"` // milliseconds
	Spilled int64       `json:"Spilled Bytes,omitempty"`
	Plans   []*planNode `json:"Plans,omitempty"`
}

func (s *Statement) planJSON(lines []*planLine, f PlanForm) string {
	var node func(l *planLine) *planNode
	node = func(l *planLine) *planNode {
		n := &planNode{Type: l.Name, Details: l.Detail, Plan: l.Estimated}
		if f.Actual {
			n.Rows, n.Spilled = &l.Rows, l.Spilled
			if ms := float64(l.Took) / 1e6; f.Times {
				n.Time = &ms
			}
		}
		for _, k := range l.children {
			n.Plans = append(n.Plans, node(k))
		}
		return n
	}
	out := struct {
		Text  string      `json:"Query Text"`
		Plan  *planNode   `json:"Plan"`
		Plans []*planNode `json:"Other Plans,omitempty"` // that the statement ran before
	}{Text: s.Text}
	for _, l := range lines {
		if l.depth == 0 {
			out.Plans = append(out.Plans, node(l))
		}
	}
	last := len(out.Plans) - 1
	out.Plan, out.Plans = out.Plans[last], out.Plans[:last]
	b, err := json.Marshal(out)
	if err != nil {
		return "" // estimates that are no numbers
	}
	return string(b)
}
