package compare

import (
	"cmp"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/types"
)

// Equaler returns whether row i of a column of t equals row j of another, neither NULL.
func Equaler(t types.Type) func(l *vector.Vec, i int, r *vector.Vec, j int) bool {
	if t.Form() == vector.Str && t.EqualByBytes() {
		return func(l *vector.Vec, i int, r *vector.Vec, j int) bool { return l.Str(i) == r.Str(j) }
	}
	order := Comparer(t, nil)
	return func(l *vector.Vec, i int, r *vector.Vec, j int) bool { return order(l, i, r, j) == 0 }
}

// compareLists compares arrays element by element as they lie: a NULL equals a NULL and is above all values, and of
// arrays that begin alike the longer is above.
func compareLists(op CmpOp, lt, rt types.Type) function.Impl {
	le, _ := lt.Elem()
	re, _ := rt.Elem()
	if !le.SamePhysical(re) {
		return compareWith(op, Comparer(lt, nil))
	}
	order, equal := Comparer(le, nil), Equaler(le)
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		l, r := vector.ListsOf(c.Arena, args[0]), vector.ListsOf(c.Arena, args[1])
		out := vector.Alloc[uint8](c.Arena, c.N)
		for i := range out {
			if c.Skip(i) {
				continue
			}
			from, to := l.Row(i)
			at, end := r.Row(i)
			c.Meter().Poll(vector.RowWork * (1 + min(to-from, end-at)))
			if (op == OpEQ || op == OpNE) && to-from != end-at {
				out[i] = vector.ByteOf(op == OpNE)
				continue
			}
			sign := 0
			for ; from < to && at < end && sign == 0; from, at = from+1, at+1 {
				switch ln, rn := l.Elems.Null(from), r.Elems.Null(at); {
				case ln || rn:
					sign = int(vector.ByteOf(ln)) - int(vector.ByteOf(rn))
				case !equal(l.Elems, from, r.Elems, at):
					sign = order(l.Elems, from, r.Elems, at)
				}
			}
			if sign == 0 {
				sign = cmp.Compare(to-from, end-at)
			}
			out[i] = vector.ByteOf(op.Holds(sign))
		}
		return vector.NewBool(out, c.Valid), nil
	}
}
