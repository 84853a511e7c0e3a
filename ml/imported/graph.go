package imported

import (
	"math"
	"slices"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/graph"
	"github.com/tributarydb/tributary/ml/shape"
)

// ofGraph is a predictor that is a graph of operators.
type ofGraph struct {
	*predictor
	program *graph.Program
}

// Score implements family.Predictor. Rows on which an operator fails have NaN: which rows those are
// depends on them alone, and one fails without the others.
func (p *ofGraph) Score(b *block.Block) *family.Scores {
	k := max(1, len(p.f.Keys))
	z := make([][]float64, k)
	for i := range z {
		z[i] = make([]float64, 0, b.Rows)
	}
	var rows []shape.Row
	take := func(out [][]float64) {
		for i := range z {
			z[i] = append(z[i], out[i]...)
		}
	}
	run := func() {
		out, err := p.program.Run(rows)
		if err == nil {
			take(out)
			rows = rows[:0]
			return
		}
		for i := range rows {
			if out, err = p.program.Run(rows[i : i+1]); err != nil {
				out = slices.Repeat([][]float64{{math.NaN()}}, k)
			}
			take(out)
		}
		rows = rows[:0]
	}
	p.each(b, func(_ int, r shape.Row) {
		rows = append(rows, shape.Row{X: slices.Clone(r.X), Slots: slices.Clone(r.Slots)})
		if len(rows) == p.program.Batch() {
			run()
		}
	})
	if len(rows) > 0 {
		run()
	}
	return scores(z, b.Rows, len(p.f.Keys))
}

// Scratch implements family.ScratchPredictor.
func (p *ofGraph) Scratch() int64 { return p.program.Scratch() }

func encodeTensor(e *canon.E, t *graph.Tensor) {
	e.Bool(t != nil)
	if t == nil {
		return
	}
	e.U8(uint8(t.Kind))
	e.U32(uint32(len(t.Dims)))
	for _, d := range t.Dims {
		e.U32(uint32(d))
	}
	e.F64s(t.Num)
	e.Strs(t.Text)
}

func decodeTensor(d *canon.D) *graph.Tensor {
	if !d.Bool() {
		return nil
	}
	t := &graph.Tensor{Kind: graph.Kind(d.U8())}
	for range d.Count(4) {
		t.Dims = append(t.Dims, int(d.U32()))
	}
	t.Num, t.Text = d.F64s(), d.Strs()
	return t
}

func encodeInts(e *canon.E, list []int) {
	e.U32(uint32(len(list)))
	for _, v := range list {
		e.Int(v)
	}
}

func decodeInts(d *canon.D) (out []int) {
	for range d.Count(8) {
		out = append(out, d.Int())
	}
	return out
}

func encodeGraph(e *canon.E, g *graph.Graph) {
	e.U32(uint32(len(g.Inputs)))
	for _, in := range g.Inputs {
		encodeInts(e, []int{in.Value, int(in.Kind), in.From, in.Width})
		e.Strs(in.Words)
	}
	e.U32(uint32(len(g.Constants)))
	for _, c := range g.Constants {
		e.Int(c.Value)
		encodeTensor(e, c.Tensor)
	}
	e.U32(uint32(len(g.Nodes)))
	for _, n := range g.Nodes {
		e.Str(n.Op)
		encodeInts(e, n.In)
		encodeInts(e, n.Out)
		e.U32(uint32(len(n.Attrs)))
		for _, a := range n.Attrs {
			e.Str(a.Name)
			e.I64s(a.Ints)
			e.F64s(a.Floats)
			e.Strs(a.Texts)
			encodeTensor(e, a.Tensor)
		}
	}
	encodeInts(e, []int{g.Values, g.Number, g.Label, g.Probs, g.Classes})
	encodeTensor(e, g.Keys)
}

func decodeGraph(d *canon.D) *graph.Graph {
	g := &graph.Graph{}
	for range d.Count(40) {
		list, words := decodeInts(d), d.Strs()
		if len(list) != 4 || list[1] < 0 || list[1] > 255 {
			d.Fail()
			return g
		}
		g.Inputs = append(g.Inputs, graph.Input{Value: list[0], Kind: graph.Kind(list[1]), From: list[2], Width: list[3], Words: words})
	}
	for range d.Count(9) {
		g.Constants = append(g.Constants, graph.Constant{Value: d.Int(), Tensor: decodeTensor(d)})
	}
	for range d.Count(16) {
		n := graph.Node{Op: d.Str(), In: decodeInts(d), Out: decodeInts(d)}
		for range d.Count(17) {
			n.Attrs = append(n.Attrs, graph.Attr{Name: d.Str(), Ints: d.I64s(), Floats: d.F64s(), Texts: d.Strs(), Tensor: decodeTensor(d)})
		}
		g.Nodes = append(g.Nodes, n)
	}
	list := decodeInts(d)
	g.Keys = decodeTensor(d)
	if len(list) != 5 {
		d.Fail()
		return g
	}
	g.Values, g.Number, g.Label, g.Probs, g.Classes = list[0], list[1], list[2], list[3], list[4]
	return g
}
