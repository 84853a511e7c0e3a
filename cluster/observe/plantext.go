package observe

import (
	"fmt"
	"strings"
	"time"
)

// Plan is the statement's plan as it ran, an operator a line, rows and bytes summed over nodes:
//
//	Aggregate (rows=1 of 1, 12ms)
//	  Seq Scan on t (rows=3 of 1200, 11ms) Filter: (a > 7)
//
// It is "" where operators are not known.
func (s *Statement) Plan() string {
	type line struct {
		Operator
		depth int
	}
	var lines []*line
	at := map[int]*line{}
	for _, o := range s.Operators {
		l := at[o.Number]
		if l == nil {
			l = &line{Operator: o}
			at[o.Number], lines = l, append(lines, l)
			continue
		}
		l.Rows += o.Rows
		l.Spilled += o.Spilled
		l.Took = max(l.Took, o.Took)
	}
	var b strings.Builder
	for i, l := range lines {
		if p := at[l.Parent]; p != nil && p != l {
			l.depth = p.depth + 1 // parents come first
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s%s (rows=%d of %.0f, %v", strings.Repeat("  ", l.depth), l.Name, l.Rows, l.Estimated, l.Took.Round(time.Microsecond))
		if l.Spilled > 0 {
			fmt.Fprintf(&b, ", spilled=%d", l.Spilled)
		}
		b.WriteString(")")
		for _, d := range l.Detail {
			b.WriteString(" " + d)
		}
	}
	return b.String()
}
