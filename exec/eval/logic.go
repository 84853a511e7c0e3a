package eval

import (
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/types"
)

// logicNode is AND (stop 0) and OR (stop 1): a row is decided by the first
// argument that is stop, and later arguments are computed for undecided rows
// only, unless they are cheap.
type logicNode struct {
	args  []node
	cheap []bool
	stop  uint8
}

func (n *logicNode) eval(fr *frame) (*vector.Vec, error) {
	v, err := n.args[0].eval(fr)
	if err != nil {
		return nil, err
	}
	rest := n.args[1:]
	done := 0
	if !v.One && v.Valid == nil && v.Kind == vector.Bool {
		// one byte a row is enough until an argument has a NULL
		acc := vector.Alloc[uint8](fr.a, fr.n)
		copy(acc, vector.Values[uint8](v))
		v = vector.NewBool(acc, nil)
		for done < len(rest) && n.cheap[done+1] {
			w, err := rest[done].eval(fr)
			if err != nil {
				return nil, err
			}
			if w.One || w.Valid != nil || w.Kind != vector.Bool {
				break
			}
			x := vector.Values[uint8](w)[:len(acc)]
			if n.stop == 0 {
				for i := range acc {
					acc[i] &= x[i]
				}
			} else {
				for i := range acc {
					acc[i] |= x[i]
				}
			}
			done++
		}
		if done == len(rest) {
			return v, nil
		}
	}
	t, f := vector.Truth(fr.a, v)
	for k, arg := range rest {
		if k < done {
			continue
		}
		decided := f
		if n.stop == 1 {
			decided = t
		}
		open := fr.n - vector.CountBytes(decided)
		if open == 0 {
			break
		}
		if open == fr.n || n.cheap[k+1] {
			v, err := arg.eval(fr)
			if err != nil {
				return nil, err
			}
			t2, f2 := vector.Truth(fr.a, v)
			if n.stop == 0 {
				for i := range t {
					t[i] &= t2[i]
					f[i] |= f2[i]
				}
			} else {
				for i := range t {
					t[i] |= t2[i]
					f[i] &= f2[i]
				}
			}
			continue
		}
		rows := rowsWhere(fr.a, decided, 0, open)
		v, err := arg.eval(fr.narrow(rows))
		if err != nil {
			return nil, err
		}
		t2, f2 := vector.Truth(fr.a, v)
		if n.stop == 0 {
			for i, r := range rows {
				t[r] &= t2[i]
				f[r] |= f2[i]
			}
		} else {
			for i, r := range rows {
				t[r] |= t2[i]
				f[r] &= f2[i]
			}
		}
	}
	return vector.FromTruth(fr.a, t, f), nil
}

// rowsWhere lists the count rows at which b is x.
func rowsWhere(a *vector.Arena, b []uint8, x uint8, count int) []int32 {
	out := vector.Alloc[int32](a, count+1)
	k := 0
	for i, y := range b {
		out[k] = int32(i)
		if y == x {
			k++
		}
		if k == count {
			break
		}
	}
	return out[:k]
}

type notNode struct{ arg node }

func (n *notNode) eval(fr *frame) (*vector.Vec, error) {
	v, err := n.arg.eval(fr)
	if err != nil || v.Kind == vector.Null {
		return v, err
	}
	out := vector.Alloc[uint8](fr.a, v.Stored())
	for i, x := range vector.Values[uint8](v) {
		out[i] = 1 - x
	}
	r := *v
	r.Arr = nil
	r.P = unsafe.Pointer(unsafe.SliceData(out))
	return &r, nil
}

// nullTest is IS [NOT] NULL; of a row value, that all fields are (not).
type nullTest struct {
	arg node
	not bool
	typ types.Type
}

func (n *nullTest) eval(fr *frame) (*vector.Vec, error) {
	v, err := n.arg.eval(fr)
	if err != nil {
		return nil, err
	}
	if n.typ.OID == types.RecordOID && v.Kind == vector.Arr {
		out := vector.Alloc[uint8](fr.a, fr.n)
		s, ok := v.Arr.(*array.Struct)
		for i := range out {
			r := i
			if v.One {
				r = 0
			}
			res := true
			if ok && !v.Null(i) {
				for f := range s.NumField() {
					if s.Field(f).IsNull(r) == n.not {
						res = false
						break
					}
				}
			} else if n.not {
				res = false
			}
			out[i] = vector.ByteOf(res)
		}
		return vector.NewBool(out, nil), nil
	}
	if v.AllNull() {
		return vector.NewBoolConst(!n.not, fr.n), nil
	}
	if v.Valid == nil || v.One {
		return vector.NewBoolConst(n.not, fr.n), nil
	}
	out := vector.Alloc[uint8](fr.a, fr.n)
	flip := vector.ByteOf(!n.not)
	for i := range out {
		out[i] = v.Valid[i>>3]>>(i&7)&1 ^ flip
	}
	return vector.NewBool(out, nil), nil
}

// truthNode is IS [NOT] TRUE, FALSE, UNKNOWN.
type truthNode struct {
	arg  node
	kind expr.TruthKind
	not  bool
}

func (n *truthNode) eval(fr *frame) (*vector.Vec, error) {
	v, err := n.arg.eval(fr)
	if err != nil {
		return nil, err
	}
	t, f := vector.Truth(fr.a, v)
	switch n.kind {
	case expr.IsFalse:
		t = f
	case expr.IsUnknown:
		for i := range t {
			t[i] = 1 - (t[i] | f[i])
		}
	}
	if n.not {
		for i := range t {
			t[i] = 1 - t[i]
		}
	}
	return vector.NewBool(t, nil), nil
}
