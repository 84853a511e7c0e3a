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
	w.entry(o.describe(Part{Plan: s, Writes: o.Writes, Actuals: o.Actuals}), &o)
	if len(o.Parts) > 0 {
		w.key("CTEs")
		w.open("[")
		for name, root := range o.parts() {
			w.item()
			w.open("{")
			w.field("Name", name)
			w.key("Plan")
			w.entry(root, &o)
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
	if e.verb != "" {
		w.field("Operation", e.verb)
	}
	if e.of != "" {
		w.field("Parent Relationship", e.of)
	}
	if e.join != "" {
		w.field("Join Type", e.join)
	}
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
		w.field("Actual Threads", max(s.Threads, 1))
		w.field("Peak Memory", s.Memory)
		w.field("Spilled", s.Spilled)
	}
	if s := e.sent; s != nil {
		w.field("Network Bytes", s.Sent)
		w.field("Network Messages", s.Messages)
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

// DOT prints a plan as a Graphviz graph, the stages as boxes, and plans that fill
// buffers after it.
func (o Options) DOT(s *plan.Staged) string {
	g := &dotWriter{}
	g.b.WriteString("digraph plan {\n  rankdir=BT;\n  node [shape=box, fontname=\"sans-serif\"];\n")
	g.graph("", o.describe(Part{Plan: s, Writes: o.Writes, Actuals: o.Actuals}))
	for name, root := range o.parts() {
		g.graph("CTE "+name+", ", root)
	}
	g.b.WriteString("}")
	return g.b.String()
}

type dotWriter struct {
	b      strings.Builder
	nodes  int
	stages int
}

// graph writes the nodes of a plan by stage, in boxes that of begins the names of, and
// what flows between them.
func (g *dotWriter) graph(of string, root *entry) {
	ids := map[*entry]int{}
	byStage := map[plan.StageID][]*entry{}
	var order []plan.StageID
	var walk func(e *entry)
	walk = func(e *entry) {
		ids[e] = g.nodes
		g.nodes++
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
		fmt.Fprintf(&g.b, "  subgraph cluster_%d {\n    label=%s;\n", g.stages, dotQuote(fmt.Sprintf("%sstage %d", of, st)))
		g.stages++
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
			fmt.Fprintf(&g.b, "    n%d [label=%s];\n", ids[e], dotQuote(label))
		}
		g.b.WriteString("  }\n")
	}
	var edges func(e *entry)
	edges = func(e *entry) {
		for _, k := range e.kids {
			fmt.Fprintf(&g.b, "  n%d -> n%d;\n", ids[k], ids[e])
			edges(k)
		}
	}
	edges(root)
}

func dotQuote(s string) string {
	s = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s)
	return `"` + s + `"`
}
