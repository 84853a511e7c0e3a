package graph

import (
	"math"
	"slices"
	"strings"

	"github.com/tributarydb/tributary/ml/shape"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// operator computes a node's outputs. It must not keep or change its inputs; one that is left out is nil.
type operator func(in []*Tensor) ([]*Tensor, error)

// compiler makes an operator of a node, and checks its attributes.
type compiler func(a attrs, n *Node) (operator, error)

// Program is a compiled graph. Any number of goroutines may run it.
type Program struct {
	g   *Graph
	ops []operator
	// last is the last node that uses a value, so that no more tensors are kept than are needed.
	last []int
	// batch is how many rows go through at once, and scratch the bytes that takes, as trial rows took them.
	batch   int
	scratch int64
}

// The elements of the tensors that live at once: what a run may have, and what a batch is chosen for.
const (
	mostLive = 1 << 24
	goodLive = 1 << 21
)

// Batch is how many rows Run takes at most, and Scratch about the memory that it needs.
func (p *Program) Batch() int     { return p.batch }
func (p *Program) Scratch() int64 { return p.scratch }

// Missing returns the operators that a graph needs and this package lacks, each once.
func Missing(g *Graph) (out []string) {
	for _, n := range g.Nodes {
		if compilers[n.Op] == nil && !slices.Contains(out, n.Op) {
			out = append(out, n.Op)
		}
	}
	return out
}

// Compile checks a graph over so many dense numbers and these slots of codes, and tries it on a row.
// Its errors are for who wrote the graph.
func Compile(g *Graph, dense int, codes []int) (*Program, error) {
	if m := Missing(g); m != nil {
		return nil, pgerr.Unsupported("operators %s are not supported", strings.Join(m, ", "))
	}
	bad := func(err error) error {
		return pgerr.New(pgerr.InvalidBinaryRepresentation, "invalid graph of operators: %s", err.Error())
	}
	if err := g.check(dense, codes); err != nil {
		return nil, bad(err)
	}
	p := &Program{g: g, ops: make([]operator, len(g.Nodes)), last: make([]int, g.Values)}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		for _, v := range n.In {
			if v >= 0 {
				p.last[v] = i
			}
		}
		var err error
		if p.ops[i], err = compilers[n.Op](n.attrs(), n); err != nil {
			return nil, bad(problemf("%s: %v", n.Op, err))
		}
	}
	for _, v := range []int{g.Number, g.Label, g.Probs} {
		if v >= 0 {
			p.last[v] = len(g.Nodes)
		}
	}
	var live [4]int                    // by the number of rows
	for _, rows := range []int{1, 3} { // so that a shape that fits by chance is found
		for _, x := range []float64{0, math.NaN()} {
			slots := make([]int, len(codes))
			var batch []shape.Row
			for range rows {
				r := shape.Row{X: make([]float64, dense), Slots: slots}
				for k := range r.X {
					r.X[k] = x
				}
				batch = append(batch, r)
			}
			_, peak, err := p.run(batch)
			if err != nil {
				return nil, bad(err)
			}
			live[rows] = max(live[rows], peak)
		}
	}
	each := max(1, (live[3]-live[1]+1)/2)
	fixed := max(0, live[1]-each)
	p.batch = min(batchRows, max(1, (goodLive-fixed)/each))
	p.scratch = 8 * int64(fixed+p.batch*each)
	return p, nil
}

// check checks that each value is made once, before it is used.
func (g *Graph) check(dense int, codes []int) error {
	if g.Values < 0 || g.Values > 1<<22 || len(g.Nodes) > 1<<20 {
		return problem("it is too large")
	}
	made := make([]bool, g.Values)
	make1 := func(v int) error {
		if v < 0 || v >= g.Values || made[v] {
			return problem("a value is made twice, or never")
		}
		made[v] = true
		return nil
	}
	used := func(v int) error {
		if v >= g.Values || v >= 0 && !made[v] {
			return problem("a value is used before it is made")
		}
		return nil
	}
	for _, in := range g.Inputs {
		if err := make1(in.Value); err != nil {
			return err
		}
		fits := in.Kind < numKinds && in.From >= 0 && in.Width > 0
		if in.Kind == Text {
			fits = fits && in.From < len(codes) && in.Width == 1 && len(in.Words) <= codes[in.From]
		} else {
			fits = fits && in.Width <= dense && in.From <= dense-in.Width
		}
		if !fits {
			return problem("an input does not fit its columns")
		}
	}
	for _, c := range g.Constants {
		if err := make1(c.Value); err != nil {
			return err
		}
		if c.Tensor == nil || !c.Tensor.valid() {
			return problem("a constant is damaged")
		}
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		for _, v := range n.In {
			if err := used(v); err != nil {
				return err
			}
		}
		for _, v := range n.Out {
			if v < 0 {
				continue
			}
			if err := make1(v); err != nil {
				return err
			}
		}
		for _, a := range n.Attrs {
			if a.Tensor != nil && !a.Tensor.valid() {
				return problem("an attribute is damaged")
			}
		}
	}
	for _, v := range []int{g.Number, g.Label, g.Probs} {
		if err := used(v); err != nil {
			return err
		}
	}
	if g.Keys != nil && (!g.Keys.valid() || g.Keys.Len() != g.Classes) {
		return problem("its classes are damaged")
	}
	switch {
	case g.Classes == 0 && g.Number < 0, g.Classes != 0 && g.Label < 0 && g.Probs < 0, g.Classes < 0:
		return problem("it predicts nothing")
	}
	return nil
}

// batchRows is how many rows go through a program at once, if they do not take too much.
const batchRows = 256

// Run returns by output the number of each row, or the probabilities of the classes.
func (p *Program) Run(rows []shape.Row) ([][]float64, error) {
	out, _, err := p.run(rows)
	return out, err
}

// run is Run, and the greatest number of elements of the tensors that lived at once.
func (p *Program) run(rows []shape.Row) (_ [][]float64, peak int, err error) {
	g, live := p.g, 0
	keep := func(t *Tensor) error {
		if live += t.Len(); live > mostLive {
			return problem("it takes too much memory")
		}
		peak = max(peak, live)
		return nil
	}
	vals := make([]*Tensor, g.Values)
	for _, in := range g.Inputs {
		t, err := make1(in.Kind, len(rows), in.Width)
		if err != nil {
			return nil, 0, err
		}
		for i, r := range rows {
			if in.Kind == Text {
				if t.Text[i] = unknown; r.Slots[in.From] >= 0 && r.Slots[in.From] < len(in.Words) {
					t.Text[i] = in.Words[r.Slots[in.From]]
				}
				continue
			}
			copy(t.Num[i*in.Width:][:in.Width], r.X[in.From:])
		}
		vals[in.Value] = t.round()
		if err := keep(t); err != nil {
			return nil, 0, err
		}
	}
	for _, c := range g.Constants {
		vals[c.Value] = c.Tensor
	}
	var in []*Tensor
	for i := range g.Nodes {
		n := &g.Nodes[i]
		in = in[:0]
		for _, v := range n.In {
			if v < 0 {
				in = append(in, nil)
			} else {
				in = append(in, vals[v])
			}
		}
		out, err := p.ops[i](in)
		if err != nil {
			return nil, 0, problemf("%s: %v", n.Op, err)
		}
		if len(out) < len(n.Out) {
			return nil, 0, problemf("%s has %d outputs, not %d", n.Op, len(out), len(n.Out))
		}
		for k, v := range n.Out {
			if v >= 0 {
				vals[v] = out[k]
				if err := keep(out[k]); err != nil {
					return nil, 0, err
				}
			}
		}
		for _, v := range n.In {
			if v >= 0 && p.last[v] == i && vals[v] != nil {
				live -= vals[v].Len()
				vals[v] = nil
			}
		}
	}
	get := func(v int) *Tensor {
		if v < 0 {
			return nil
		}
		return vals[v]
	}
	out, err := g.result(get(g.Number), get(g.Label), get(g.Probs), len(rows))
	return out, peak, err
}

// result reads what a run computed.
func (g *Graph) result(number, label, probs *Tensor, rows int) ([][]float64, error) {
	if g.Classes == 0 {
		if number == nil || number.Len() != rows || number.Kind == Text {
			return nil, problem("the prediction is not a number a row")
		}
		return [][]float64{slices.Clone(number.Num)}, nil
	}
	out := make([][]float64, g.Classes)
	for k := range out {
		out[k] = make([]float64, rows)
	}
	if probs != nil {
		if probs.Len() != rows*g.Classes || probs.Kind == Text {
			return nil, problemf("there are %d probabilities for %d rows of %d classes", probs.Len(), rows, g.Classes)
		}
		for i := range rows {
			for k := range out {
				out[k][i] = probs.Num[i*g.Classes+k]
			}
		}
		return out, nil
	}
	if label == nil || label.Len() != rows {
		return nil, problem("the prediction is not a label a row")
	}
	for i := range rows {
		k := -1
		switch {
		case label.Kind == Text && g.Keys != nil && g.Keys.Kind == Text:
			k = slices.Index(g.Keys.Text, label.Text[i])
		case label.Kind != Text && g.Keys != nil && g.Keys.Kind != Text:
			k = slices.Index(g.Keys.Num, label.Num[i])
		case label.Kind != Text && g.Keys == nil:
			k = int(label.Num[i])
		}
		if k < 0 || k >= g.Classes {
			return nil, problem("a label is none of the classes")
		}
		out[k][i] = 1
	}
	return out, nil
}
