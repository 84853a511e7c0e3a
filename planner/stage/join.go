package stage

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
)

// join brings rows that may match to one node: the right side goes to all
// nodes if it is small, otherwise both go where the hash of their keys says.
//
// Joins that return right rows by themselves (Right, Full, RightSemi, RightAnti) cannot have the
// right side everywhere: each node would return them. NOT IN and the mark of IN must know of any
// NULL on the right, so they cannot have a part of it.
func (p *placer) join(n *plan.Join) (plan.Node, dist, error) {
	l, ld, err := p.place(n.L)
	if err != nil {
		return nil, ld, err
	}
	r, rd, err := p.place(n.R)
	if err != nil {
		return nil, rd, err
	}
	j := *n
	switch {
	case ld.atGateway() && rd.atGateway():
		j.L, j.R = l, r
		return &j, dist{}, nil
	case ld.atGateway() && !p.worthMoving(n):
		j.L, j.R = l, p.gather(r, rd)
		return &j, dist{}, nil
	}
	if !givesRight(n.Kind) && !ld.atGateway() && p.readWhole(r, rd, littleRows*float64(p.nodes-1)) {
		j.L, j.R, j.Broadcast = l, r, true
		return &j, ld.matched(n), nil
	}
	if at, group := p.align(n, ld, rd); at >= 0 {
		j.L, j.R = l, r
		d := joinDist(&j, []int{at})
		if d.kind == hashed {
			d.group = group
		}
		return &j, d, nil
	}
	if p.probeWhole(n, l, ld, rd) {
		j.L, j.R = l, r
		return &j, rd.matchedBy(n), nil
	}
	// Rows cannot be sent to where ranges are read.
	where, there := ld.sendable(), rd.sendable()
	if whole(n) || p.broadcast(n, where, there) {
		if givesRight(n.Kind) {
			j.L, j.R = p.gather(l, ld), p.gather(r, rd)
			return &j, dist{}, nil
		}
		if ld.atGateway() {
			l, ld = &plan.Exchange{Input: l, Kind: plan.Spread}, dist{kind: spread}
		}
		if j.L, j.R = l, r; !p.readWhole(r, rd, max(wholeRows, sendCost*p.rows(n.R)*float64(p.nodes))) {
			j.R = &plan.Exchange{Input: r, Kind: plan.Broadcast}
		}
		j.Broadcast = true
		return &j, ld.matched(n), nil
	}
	return p.byHash(&j, l, where, r, there)
}

// sendable returns the distribution if other rows can be sent by it.
func (d dist) sendable() dist {
	if d.group > 0 {
		return dist{kind: spread}
	}
	return d
}

// worthMoving reports whether a left side at the gateway should be sent to the nodes, rather than
// the right side to the gateway.
func (p *placer) worthMoving(n *plan.Join) bool {
	return !whole(n) && p.rows(n.R) > 10*p.rows(n.L) && p.rows(n.R) > broadcastRows
}

// whole reports whether each node must have all of the right side.
func whole(n *plan.Join) bool {
	if len(n.LKeys) == 0 {
		return true
	}
	switch n.Kind {
	case plan.AntiNull:
		return true
	case plan.Mark:
		return len(n.LKeys) == 1 && len(n.Residual) == 0 && !n.NullSafe[0]
	}
	return false
}

func givesRight(k plan.JoinKind) bool {
	switch k {
	case plan.Right, plan.Full, plan.RightSemi, plan.RightAnti:
		return true
	}
	return false
}

// broadcast compares the cost of sending the right side to all nodes with that of sending both
// sides by hash.
func (p *placer) broadcast(n *plan.Join, ld, rd dist) bool {
	if givesRight(n.Kind) {
		return false
	}
	if at := placed(ld, n.LKeys); at != nil && sameInts(at, placed(rd, n.RKeys)) && sameTypes(n, at) {
		return false // they are on one node already
	}
	l, r := p.rows(n.L), p.rows(n.R)
	if r <= broadcastRows {
		return true
	}
	moved := r
	if placed(ld, n.LKeys) == nil {
		moved += l
	}
	if keys := placed(rd, n.RKeys); keys != nil {
		moved = l
	}
	return r*float64(p.nodes) < moved
}

// placed returns how a side's rows are hashed by some of its join keys: the
// indexes of the keys, in the order of the hash; nil if they are not.
func placed(d dist, keys []expr.Expr) []int {
	if d.kind != hashed || len(d.keys) == 0 {
		return nil
	}
	var out []int
	for _, k := range d.keys {
		at := -1
		for i, e := range keys {
			if c, ok := e.(*expr.Col); ok && k[c.ID] {
				at = i
				break
			}
		}
		if at < 0 {
			return nil
		}
		out = append(out, at)
	}
	return out
}

// byHash joins rows on the node of the hash of their keys. A side that is there already stays.
func (p *placer) byHash(j *plan.Join, l plan.Node, ld dist, r plan.Node, rd dist) (plan.Node, dist, error) {
	at := placed(ld, j.LKeys)
	rat := placed(rd, j.RKeys)
	switch {
	case at != nil && sameInts(at, rat) && sameTypes(j, at):
		// both are in place
	case at != nil && sameTypes(j, at):
		r, _, _ = p.sendBy(r, rd, pick(j.RKeys, at))
	case rat != nil && sameTypes(j, rat):
		at = rat
		l, _, _ = p.sendBy(l, ld, pick(j.LKeys, at))
	default:
		at = make([]int, len(j.LKeys))
		for i := range at {
			at[i] = i
		}
		if p.pickedBy(l, ld, j.LKeys) { // the table's keys reach the scan
			r, _, _ = p.sendBy(r, rd, j.RKeys)
			break
		}
		moved := &plan.Exchange{Input: r, Kind: plan.HashBy, Keys: j.RKeys}
		some := p.runtimeFilter(j, l, moved)
		if some != l || !p.pickedBy(r, rd, j.RKeys) {
			r = moved
		}
		l, _ = p.hashBy(some, j.LKeys)
	}
	j.L, j.R = l, r
	return j, joinDist(j, at), nil
}

// joinDist returns the distribution of a join by hash: by each key's columns of the sides that are
// never padded.
func joinDist(j *plan.Join, at []int) dist {
	d := dist{kind: hashed}
	for _, i := range at {
		k := colSet{}
		if c, ok := j.LKeys[i].(*expr.Col); ok && j.Kind != plan.Right && j.Kind != plan.Full && j.Kind != plan.RightSemi && j.Kind != plan.RightAnti {
			k[c.ID] = true
		}
		if c, ok := j.RKeys[i].(*expr.Col); ok && (j.Kind == plan.Inner || j.Kind == plan.Right || j.Kind == plan.RightSemi || j.Kind == plan.RightAnti) {
			k[c.ID] = true
		}
		if len(k) == 0 {
			return dist{kind: spread}
		}
		d.keys = append(d.keys, k)
	}
	return d
}

// sameTypes reports whether the keys of both sides are plain columns of one type, so that equal
// values have equal hashes without a cast.
func sameTypes(j *plan.Join, at []int) bool {
	for _, i := range at {
		a, b := j.LKeys[i].Type(), j.RKeys[i].Type()
		if a.OID != b.OID || a.Scale != b.Scale || a.IsFixed() != b.IsFixed() {
			return false
		}
	}
	return true
}

func pick(keys []expr.Expr, at []int) []expr.Expr {
	out := make([]expr.Expr, len(at))
	for i, k := range at {
		out[i] = keys[k]
	}
	return out
}

func sameInts(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
