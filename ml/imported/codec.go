package imported

import (
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/graph"
	"github.com/tributarydb/tributary/ml/shape"
)

// The shapes by their numbers in models' bytes: append only.
const (
	isLinear = 1
	isTrees  = 2
	isGraph  = 3
)

func encodeShape(e *canon.E, s shape.Shape) {
	switch s := s.(type) {
	case *shape.Linear:
		e.U8(isLinear)
		e.U32(uint32(s.Outputs))
		e.F64s(s.Weights)
		e.F64s(s.Intercepts)
		e.U8(uint8(s.Link))
	case *shape.Trees:
		e.U8(isTrees)
		encodeTrees(e, s)
	case *graph.Graph:
		e.U8(isGraph)
		encodeGraph(e, s)
	}
}

// decodeShape reads what encodeShape wrote; nil where it fails d.
func decodeShape(d *canon.D) shape.Shape {
	switch d.U8() {
	case isLinear:
		return &shape.Linear{Outputs: int(d.U32()), Weights: d.F64s(), Intercepts: d.F64s(), Link: shape.Link(d.U8())}
	case isTrees:
		return decodeTrees(d)
	case isGraph:
		return decodeGraph(d)
	}
	d.Fail()
	return nil
}

func encodeTrees(e *canon.E, s *shape.Trees) {
	e.U32(uint32(s.Outputs))
	e.U32(uint32(s.Width))
	e.F64s(s.Base)
	e.Bool(s.Mean)
	e.U8(uint8(s.Link))
	e.U32(uint32(len(s.Trees)))
	for i := range s.Trees {
		t := &s.Trees[i]
		e.U32(uint32(t.Output))
		e.U32(uint32(len(t.Nodes)))
		for k := range t.Nodes {
			n := &t.Nodes[k]
			e.U32(uint32(n.Feature))
			e.F64(n.Cover)
			if n.Feature == shape.Leaf {
				for _, v := range t.Values[k*s.Width:][:s.Width] {
					e.F64(v)
				}
				continue
			}
			e.F64(n.Gain)
			e.U32(uint32(n.Left))
			e.U32(uint32(n.Right))
			e.Bool(n.MissLeft)
			e.U32(uint32(len(n.Set)))
			for _, w := range n.Set {
				e.U64(w)
			}
			if n.Set == nil {
				e.F64(n.Threshold)
				e.Bool(n.Strict)
				e.U8(uint8(n.Missing))
			}
		}
	}
}

func decodeTrees(d *canon.D) *shape.Trees {
	s := &shape.Trees{Outputs: int(d.U32()), Width: int(d.U32()), Base: d.F64s(), Mean: d.Bool(), Link: shape.Link(d.U8())}
	if s.Width < 1 || s.Width > 1<<16 {
		d.Fail()
	}
	for range d.Count(28) {
		t := shape.Tree{Output: int(d.U32())}
		for range d.Count(20) {
			n := shape.Node{Feature: int32(d.U32()), Cover: d.F64()}
			value := make([]float64, s.Width)
			if n.Feature == shape.Leaf {
				for k := range value {
					value[k] = d.F64()
				}
			} else {
				n.Gain, n.Left, n.Right, n.MissLeft = d.F64(), int32(d.U32()), int32(d.U32()), d.Bool()
				for range d.Count(8) {
					n.Set = append(n.Set, d.U64())
				}
				if n.Set == nil {
					n.Threshold, n.Strict, n.Missing = d.F64(), d.Bool(), shape.Missing(d.U8())
				}
			}
			if !d.OK() {
				return s
			}
			t.Nodes, t.Values = append(t.Nodes, n), append(t.Values, value...)
		}
		s.Trees = append(s.Trees, t)
	}
	return s
}
