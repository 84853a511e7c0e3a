package stage

import (
	"fmt"
	"math"
	"strings"

	"github.com/tributarydb/tributary/planner/plan"
)

// Text prints a plan as EXPLAIN does, a line an element. Clients read the
// "cost=0.00..X rows=N width=W" of its lines.
func (o Options) Text(s *plan.Staged) []string {
	t := &textPrinter{o: &o}
	t.node(o.describe(Part{Plan: s, Writes: o.Writes, Actuals: o.Actuals}), 0)
	for name, root := range o.parts() {
		t.lines = append(t.lines, "  CTE "+name)
		t.node(root, 1)
	}
	if len(s.Stages) > 1 {
		t.lines = append(t.lines, fmt.Sprintf("Stages: %d", len(s.Stages)))
		t.stages(s)
	}
	if o.Planning > 0 {
		t.lines = append(t.lines, fmt.Sprintf("Planning Time: %.3f ms", ms(o.Planning)))
	}
	if o.Execution > 0 {
		t.lines = append(t.lines, fmt.Sprintf("Execution Time: %.3f ms", ms(o.Execution)))
	}
	return t.lines
}

type textPrinter struct {
	o     *Options
	lines []string
}

func (t *textPrinter) node(e *entry, depth int) {
	lead, under := "", "  "
	if depth > 0 {
		lead = strings.Repeat(" ", 6*depth-4) + "->  "
		under = strings.Repeat(" ", 6*depth+2)
	}
	t.lines = append(t.lines, lead+e.title+t.numbers(e))
	for _, p := range e.props {
		t.lines = append(t.lines, under+p.name+": "+p.text)
	}
	if s := e.stat; s != nil && s.Threads > 1 {
		t.lines = append(t.lines, fmt.Sprintf("%sActual Time: summed over %d threads", under, s.Threads))
	}
	if s := e.stat; s != nil && (s.Memory > 0 || s.Spilled > 0) {
		line := fmt.Sprintf("%sMemory: %s", under, size(s.Memory))
		if s.Spilled > 0 {
			line += "  Spilled: " + size(s.Spilled)
		}
		t.lines = append(t.lines, line)
	}
	if s := e.sent; s != nil && s.Messages > 0 {
		t.lines = append(t.lines, fmt.Sprintf("%sNetwork: %s in %s", under, size(s.Sent), messages(s.Messages)))
	}
	for _, k := range e.kids {
		t.node(k, depth+1)
	}
}

// stages sums up what each stage did, over its tasks.
func (t *textPrinter) stages(s *plan.Staged) {
	if t.o.Actuals == nil {
		return
	}
	for i := range s.Stages {
		id := s.Stages[i].ID
		var memory, spilled, sent int64
		for k, st := range t.o.Actuals {
			if k.Stage == id {
				memory, spilled = memory+st.Memory, spilled+st.Spilled
			}
			if k.Stage == id || k.Stage == id.RuntimeFilter() {
				sent += st.Sent
			}
		}
		root := t.o.Actuals[Key{Stage: id}]
		tasks := "tasks"
		if root.Tasks == 1 {
			tasks = "task"
		}
		t.lines = append(t.lines, fmt.Sprintf("  Stage %d: %d %s, rows=%d time=%.3f threads=%d memory=%s spilled=%s network=%s", id, root.Tasks, tasks, root.Rows, ms(root.Time), max(root.Threads, 1), size(memory), size(spilled), size(sent)))
	}
	var bytes, n int64
	for _, st := range t.o.Actuals {
		bytes, n = bytes+st.Sent, n+st.Messages
	}
	t.lines = append(t.lines, fmt.Sprintf("Network: %s in %s", size(bytes), messages(n)))
}

func messages(n int64) string {
	if n == 1 {
		return "1 message"
	}
	return fmt.Sprintf("%d messages", n)
}

// numbers returns the estimates and counts after a node's name.
func (t *textPrinter) numbers(e *entry) string {
	var s string
	if !t.o.NoCosts {
		s = fmt.Sprintf("  (cost=0.00..%.2f rows=%d width=%d)", e.cost, whole64(e.rows), e.width)
	}
	if t.o.Actuals == nil {
		return s
	}
	if e.stat == nil {
		return s + " (never executed)"
	}
	return s + fmt.Sprintf(" (actual time=0.000..%.3f rows=%d loops=%d batches=%d)", ms(e.stat.Time), e.stat.Rows, max(e.stat.Tasks, 1), e.stat.Batches)
}

// whole64 rounds an estimate to rows, at least one.
func whole64(x float64) int64 {
	if math.IsNaN(x) || x < 1 {
		return 1
	}
	return int64(min(math.Round(x), 1e15))
}

func size(n int64) string {
	switch {
	case n < 10<<20:
		return fmt.Sprintf("%dkB", (n+1023)/1024)
	default:
		return fmt.Sprintf("%dMB", n>>20)
	}
}
