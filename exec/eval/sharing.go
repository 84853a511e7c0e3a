package eval

import (
	"slices"
	"strings"

	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/expr"
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

// memberOf returns what a call reads a member of, as a fingerprint, and the member's name.
func memberOf(e expr.Expr) (of, key string, ok bool) {
	x, ok := e.(*expr.Call)
	if !ok || !strings.Contains(x.Fn.ID, "_object_field") || len(x.Args) != 2 {
		return "", "", false
	}
	c, ok := x.Args[1].(*expr.Const)
	if !ok {
		return "", "", false
	}
	if key, ok = c.Val.(string); !ok {
		return "", "", false
	}
	of, ok = Fingerprint(x.Args[0])
	return "members " + of, key, ok
}

// noteMember collects the members that are read of each value.
func (c *compiler) noteMember(e expr.Expr) {
	of, key, ok := memberOf(e)
	if !ok {
		return
	}
	m := c.members[of]
	if m == nil {
		m = &members{binary: e.(*expr.Call).Args[0].Type().OID == types.JSONBOID}
		c.members[of] = m
	}
	if !slices.Contains(m.keys, key) {
		m.keys = append(m.keys, key)
	}
}

// member makes the node of a member that is not alone; other calls stay as they are.
func (c *compiler) member(e *expr.Call, alone *callNode) node {
	of, key, ok := memberOf(e)
	if !ok || c.members[of] == nil || len(c.members[of].keys) < 2 {
		return alone
	}
	m := c.members[of]
	if m.arg == nil {
		m.arg, m.place = alone.args[0], len(c.shared)
		c.shared[of] = m.place
	}
	return &memberNode{alone: alone, of: m, k: slices.Index(m.keys, key), text: strings.Contains(e.Fn.ID, "_text(")}
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
