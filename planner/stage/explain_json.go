package stage

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/tributarydb/tributary/planner/plan"
)

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// JSON prints a plan as EXPLAIN (FORMAT JSON) does, with PostgreSQL's names.
func (o Options) JSON(s *plan.Staged) string {
	w := &jsonWriter{}
	w.open("[")
	w.open("{")
	w.key("Plan")
	w.entry(describe(s, &o, o.Actuals), &o)
	if len(o.Parts) > 0 {
		w.key("CTEs")
		w.open("[")
		for _, p := range o.Parts {
			if p.Plan == nil || len(p.Plan.Stages) == 0 {
				continue
			}
			w.item()
			w.open("{")
			w.field("Name", p.Name)
			w.key("Plan")
			w.entry(describe(p.Plan, &o, p.Actuals), &o)
			w.close("}")
		}
		w.close("]")
	}
	w.field("Stages", len(s.Stages))
	if o.Planning > 0 {
		w.field("Planning Time", ms(o.Planning))
	}
	if o.Execution > 0 {
		w.field("Execution Time", ms(o.Execution))
	}
	w.close("}")
	w.close("]")
	return w.b.String()
}

// jsonWriter writes objects whose keys keep their order.
type jsonWriter struct {
	b     strings.Builder
	depth int
	first bool // nothing written at this level yet
	keyed bool // a key was written, its value comes
}

func (w *jsonWriter) line() {
	w.b.WriteByte('\n')
	w.b.WriteString(strings.Repeat("  ", w.depth))
}

func (w *jsonWriter) open(s string) {
	if w.depth > 0 && !w.keyed && w.first {
		w.line()
	}
	w.keyed = false
	w.b.WriteString(s)
	w.depth++
	w.first = true
}

func (w *jsonWriter) close(s string) {
	w.depth--
	w.line()
	w.b.WriteString(s)
	w.first = false
}

// item starts an element of a list after the first.
func (w *jsonWriter) item() {
	if !w.first {
		w.b.WriteByte(',')
		w.line()
		w.keyed = true // the element stands on this line
	}
}

func (w *jsonWriter) key(k string) {
	if !w.first {
		w.b.WriteByte(',')
	}
	w.first = false
	w.line()
	w.value(k)
	w.b.WriteString(": ")
	w.keyed = true
}

func (w *jsonWriter) value(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		b = []byte(`null`)
	}
	w.b.Write(b)
}

func (w *jsonWriter) field(k string, v any) {
	w.key(k)
	w.keyed = false
	w.value(v)
}

func (w *jsonWriter) entry(e *entry, o *Options) {
	w.open("{")
	w.field("Node Type", e.kind)
	if e.title != e.kind {
		w.field("Title", e.title)
	}
	if e.rel != "" {
		w.field("Relation Name", e.rel)
	}
	if e.alias != "" {
		w.field("Alias", e.alias)
	}
	w.field("Stage", int(e.stage))
	if !o.NoCosts {
		w.field("Startup Cost", 0.0)
		w.field("Total Cost", float64(int64(e.cost*100+0.5))/100)
		w.field("Plan Rows", whole64(e.rows))
		w.field("Plan Width", e.width)
	}
	if s := e.stat; s != nil {
		w.field("Actual Startup Time", 0.0)
		w.field("Actual Total Time", ms(s.Time))
		w.field("Actual Rows", s.Rows)
		w.field("Actual Loops", max(s.Tasks, 1))
		w.field("Actual Batches", s.Batches)
		w.field("Peak Memory", s.Memory)
		w.field("Spilled", s.Spilled)
	}
	for _, p := range e.props {
		if strings.HasSuffix(p.name, "Key") || p.name == "Output" || p.name == "Aggregates" {
			w.field(p.name, p.list)
			continue
		}
		w.field(p.name, p.text)
	}
	if len(e.kids) > 0 {
		w.key("Plans")
		w.open("[")
		for _, k := range e.kids {
			w.item()
			w.entry(k, o)
		}
		w.close("]")
	}
	w.close("}")
}

// DOT prints a plan as a Graphviz graph, the stages as boxes.
func (o Options) DOT(s *plan.Staged) string {
	var b strings.Builder
	b.WriteString("digraph plan {\n  rankdir=BT;\n  node [shape=box, fontname=\"sans-serif\"];\n")
	root := describe(s, &o, o.Actuals)
	num := 0
	ids := map[*entry]int{}
	byStage := map[plan.StageID][]*entry{}
	var order []plan.StageID
	var walk func(e *entry)
	walk = func(e *entry) {
		ids[e] = num
		num++
		if byStage[e.stage] == nil {
			order = append(order, e.stage)
		}
		byStage[e.stage] = append(byStage[e.stage], e)
		for _, k := range e.kids {
			walk(k)
		}
	}
	walk(root)
	for _, st := range order {
		fmt.Fprintf(&b, "  subgraph cluster_%d {\n    label=\"stage %d\";\n", st, st)
		for _, e := range byStage[st] {
			label := e.title
			for _, p := range e.props {
				label += "\n" + p.name + ": " + p.text
			}
			if e.stat != nil {
				label += fmt.Sprintf("\nrows %d, %.1f ms", e.stat.Rows, ms(e.stat.Time))
			} else {
				label += fmt.Sprintf("\nrows ~%d", whole64(e.rows))
			}
			fmt.Fprintf(&b, "    n%d [label=%s];\n", ids[e], dotQuote(label))
		}
		b.WriteString("  }\n")
	}
	var edges func(e *entry)
	edges = func(e *entry) {
		for _, k := range e.kids {
			fmt.Fprintf(&b, "  n%d -> n%d;\n", ids[k], ids[e])
			edges(k)
		}
	}
	edges(root)
	b.WriteString("}\n")
	return b.String()
}

func dotQuote(s string) string {
	s = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s)
	return `"` + s + `"`
}
