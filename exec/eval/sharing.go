package eval

import (
	"strings"

	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/json"
	"github.com/tributarydb/tributary/sql/types"
)

// sharing makes the compiler share subexpressions that occur more than once in es, and in what is noted later.
func (c *compiler) sharing(es []expr.Expr) {
	c.shared, c.seen, c.members = map[string]int{}, map[string]bool{}, map[string]*members{}
	for _, e := range es {
		c.note(e)
	}
}

// note counts the calls and casts of an expression, so that compile shares those that occur more than once.
func (c *compiler) note(e expr.Expr) {
	expr.Walk(e, func(x expr.Expr) bool {
		if !shareable(x) {
			return true
		}
		c.noteMember(x)
		key, ok := Fingerprint(x)
		if !ok {
			return true
		}
		if c.seen[key] {
			if _, ok := c.shared[key]; !ok {
				c.shared[key] = len(c.shared)
			}
			return false
		}
		c.seen[key] = true
		return true
	})
}

func shareable(e expr.Expr) bool {
	switch e.(type) {
	case *expr.Call, *expr.Cast:
		return true
	}
	return false
}

// memberOf returns what a call reads a part of, as a fingerprint, and which part.
func memberOf(e expr.Expr) (of string, step json.Step, ok bool) {
	x, ok := e.(*expr.Call)
	if !ok || len(x.Args) != 2 || !strings.HasPrefix(x.Fn.ID, "json") {
		return "", step, false
	}
	c, ok := x.Args[1].(*expr.Const)
	if !ok {
		return "", step, false
	}
	step.Binary = x.Args[0].Type().OID == types.JSONBOID
	switch name := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(x.Fn.Name, "jsonb"), "json"), "_text"); name {
	case "_object_field":
		step.Key, ok = c.Val.(string)
	case "_array_element":
		var i int64
		i, step.Elem = c.Val.(int64)
		step.Index, ok = int(i), step.Elem
	case "_extract_path":
		var path types.Array
		path, ok = c.Val.(types.Array)
		for _, d := range path.Elems {
			s, some := d.(string)
			step.Path, ok = append(step.Path, s), ok && some
		}
		if ok = ok && len(step.Path) > 1; ok {
			step.Key, step.Path = step.Path[0], step.Path[1:]
		}
	default:
		ok = false
	}
	if !ok {
		return "", step, false
	}
	of, ok = Fingerprint(x.Args[0])
	return "members " + of, step, ok
}

// noteMember collects the parts that are read of each value.
func (c *compiler) noteMember(e expr.Expr) {
	of, step, ok := memberOf(e)
	if !ok {
		return
	}
	m := c.members[of]
	if m == nil {
		m = &members{binary: step.Binary}
		c.members[of] = m
	}
	if m.at(step) < 0 {
		m.steps = append(m.steps, step)
	}
	// A part of a part is found without the part between being made.
	if outer, _, ok := memberOf(e.(*expr.Call).Args[0]); ok {
		m.within = true
		if c.members[outer] == nil {
			c.members[outer] = &members{binary: step.Binary}
		}
		c.members[outer].around = true
	}
}

// member makes the node of a part that is not alone; other calls stay as they are.
func (c *compiler) member(e *expr.Call, alone *callNode) node {
	of, step, ok := memberOf(e)
	if !ok || c.members[of] == nil {
		return alone
	}
	m := c.members[of]
	k := m.at(step)
	if k < 0 || len(m.steps) < 2 && !m.within && !m.around {
		return alone
	}
	if m.arg == nil {
		m.arg, m.place = alone.args[0], len(c.shared)
		part := m.arg
		if s, ok := part.(*sharedNode); ok {
			part = s.of
		}
		if outer, ok := part.(*memberNode); ok && !outer.text {
			m.outer = outer
		}
		c.shared[of] = m.place
	}
	return &memberNode{alone: alone, of: m, k: k, text: strings.HasSuffix(e.Fn.Name, "_text")}
}

// sharedNode computes a subexpression once for all rows of a batch. Within the
// narrower frame of a CASE it is computed as usual.
type sharedNode struct {
	of node
	i  int
}

func (n *sharedNode) eval(fr *frame) (*vector.Vec, error) {
	if fr.shared == nil {
		return n.of.eval(fr)
	}
	if v := fr.shared[n.i]; v != nil {
		return v, nil
	}
	v, err := n.of.eval(fr)
	if err == nil {
		fr.keep(n.i, v)
	}
	return v, err
}
