package pmml

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/ml/shape"
)

// trees writes a sum of trees for each margin.
func (d *document) trees(m *markup, p *part, s *shape.Trees, name string) error {
	by := 1.0
	if s.Mean && len(s.Trees) > 0 {
		by = 1 / float64(len(s.Trees))
	}
	margins := make([]margin, s.Outputs)
	for k := range margins {
		margins[k] = margin{s.Base[k], by}
	}
	return d.chain(m, p, name, s.Link, margins, func(k int, outputs func()) {
		var trees []*tree
		var all []string
		for i := range s.Trees {
			t := &s.Trees[i]
			if s.Width == 1 && t.Output != k {
				continue
			}
			one := &tree{Tree: t, d: d, width: s.Width, margin: k % s.Width}
			one.fields()
			trees, all = append(trees, one), append(all, one.used...)
		}
		slices.Sort(all)
		all = slices.Compact(all)
		if trees == nil {
			m.open("RegressionModel", "functionName", regression)
			m.reads(nil)
			outputs()
			m.tables(&part{}, make([]sum, 1))
			m.close("RegressionModel")
			return
		}
		m.open("MiningModel", "functionName", regression)
		m.reads(all)
		outputs()
		m.open("Segmentation", "multipleModelMethod", "sum")
		for i, t := range trees {
			m.segment(i)
			m.open("TreeModel", "functionName", regression, "missingValueStrategy", "defaultChild", "splitCharacteristic", "binarySplit")
			m.reads(t.used)
			t.write(m, 0, func() { m.empty("True") })
			m.close("TreeModel")
			m.close("Segment")
		}
		m.close("Segmentation")
		m.close("MiningModel")
	})
}

// tree is a tree that is written for one margin.
type tree struct {
	*shape.Tree
	d             *document
	width, margin int      // of the values
	of            []string // the field by node
	used          []string
}

// fields finds the fields that the tree asks.
func (t *tree) fields() {
	t.of = make([]string, len(t.Nodes))
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if n.Feature == shape.Leaf {
			continue
		}
		if t.of[i] = t.d.asked(n); !slices.Contains(t.used, t.of[i]) {
			t.used = append(t.used, t.of[i])
		}
	}
}

// asked is the field that a node compares.
func (d *document) asked(n *shape.Node) string {
	if n.Set != nil {
		return d.codes[int(n.Feature)-len(d.dense)].field
	}
	of := d.dense[n.Feature]
	if _, ok := n.Defaults(); ok {
		return of
	}
	if d.nonZero[of] == "" { // 0 is missing too
		d.nonZero[of] = d.derive("nonzero("+of+")", "continuous", "double",
			apply("if", apply("greaterThan", apply("abs", field(of)), constant(1e-35)), field(of)))
	}
	return d.nonZero[of]
}

// write writes a node, which is for the rows of a predicate, and those below it.
func (t *tree) write(m *markup, at int, predicate func()) {
	n := &t.Nodes[at]
	if n.Feature == shape.Leaf {
		m.open("Node", "id", strconv.Itoa(at), "score", number(t.Values[at*t.width+t.margin]))
		predicate()
		m.close("Node")
		return
	}
	miss := n.MissLeft
	if n.Set == nil {
		miss, _ = n.Defaults()
	}
	to := n.Right
	if miss {
		to = n.Left
	}
	m.open("Node", "id", strconv.Itoa(at), "defaultChild", strconv.Itoa(int(to)))
	predicate()
	t.write(m, int(n.Left), func() { t.ask(m, at) })
	t.write(m, int(n.Right), func() { m.empty("True") })
	m.close("Node")
}

// ask writes what is true of the rows that go left at a node.
func (t *tree) ask(m *markup, at int) {
	n := &t.Nodes[at]
	if n.Set == nil {
		most := n.Closed()
		if t.d.narrow {
			most = n.Wide()
		}
		m.empty("SimplePredicate", "field", t.of[at], "operator", "lessOrEqual", "value", number(most))
		return
	}
	m.open("SimpleSetPredicate", "field", t.of[at], "booleanOperator", "isIn")
	var list []string
	for slot := range t.d.codes[int(n.Feature)-len(t.d.dense)].slots {
		if n.Has(slot) {
			list = append(list, strconv.Itoa(slot))
		}
	}
	m.leaf("Array", strings.Join(list, " "), "type", "int", "n", strconv.Itoa(len(list)))
	m.close("SimpleSetPredicate")
}
