package jsonpath

import (
	"cmp"
	"strings"

	"github.com/tributarydb/tributary/sql/json"
	path "github.com/tributarydb/tributary/sql/jsonpath"
)

// truth is the result of a predicate.
type truth uint8

const (
	no truth = iota
	yes
	unknown
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// within evaluates a filter's predicate, in which @ is v.
func (r *run) within(n *path.Node, v json.Value) (truth, error) {
	outer := r.at
	r.at = v
	t, err := r.truth(n, v)
	r.at = outer
	return t, err
}

// truth evaluates a predicate; errors of the values make it unknown.
func (r *run) truth(n *path.Node, v json.Value) (truth, error) {
	switch n.Kind {
	case path.And, path.Or:
		decided := no
		if n.Kind == path.Or {
			decided = yes
		}
		l, err := r.truth(n.L, v)
		if err != nil || l == decided {
			return l, err
		}
		rt, err := r.truth(n.R, v)
		if err != nil || rt == decided || l != unknown {
			return rt, err
		}
		return unknown, nil
	case path.Not:
		t, err := r.truth(n.L, v)
		if err != nil || t == unknown {
			return unknown, err
		}
		return truthOf(t == no), nil
	case path.IsUnknown:
		t, err := r.truth(n.L, v)
		return truthOf(t == unknown), err
	case path.Exists:
		items, err := r.sub(n.L, v, false)
		switch {
		case err != nil && !Silent(err):
			return unknown, err
		case err != nil && (r.Path.Strict || len(items) == 0):
			return unknown, nil
		}
		return truthOf(len(items) > 0), nil
	case path.LikeRegex:
		return r.pairs(n, v, func(x, _ json.Value) (truth, error) {
			if x.Kind != json.String {
				return unknown, nil
			}
			ok, err := r.Match(x.Str, n.Text, regexFlags(n.Flags))
			return truthOf(ok), err
		})
	case path.StartsWith:
		return r.pairs(n, v, func(x, y json.Value) (truth, error) {
			if x.Kind != json.String || y.Kind != json.String {
				return unknown, nil
			}
			return truthOf(strings.HasPrefix(x.Str, y.Str)), nil
		})
	}
	return r.pairs(n, v, func(x, y json.Value) (truth, error) { return compare(n.Kind, x, y), nil })
}

// pairs tests the items of the left operand with those of the right. In lax
// mode the first pair that holds is enough; in strict mode one that is unknown
// makes all so.
func (r *run) pairs(n *path.Node, v json.Value, test func(x, y json.Value) (truth, error)) (truth, error) {
	ls, err := r.sub(n.L, v, true)
	if err != nil {
		if Silent(err) {
			err = nil
		}
		return unknown, err
	}
	rs := []json.Value{{}}
	if n.R != nil {
		if rs, err = r.sub(n.R, v, n.Kind != path.StartsWith); err != nil {
			if Silent(err) {
				err = nil
			}
			return unknown, err
		}
	}
	out := no
	for _, x := range ls {
		for _, y := range rs {
			if err := r.step(); err != nil {
				return unknown, err
			}
			t, err := test(x, y)
			switch {
			case err != nil:
				return unknown, err
			case t == unknown && r.Path.Strict, t == yes && r.lax():
				return t, nil
			case t == yes, t == unknown && out == no:
				out = t
			}
		}
	}
	return out, nil
}

// compare orders two items of one kind. null is unequal to all other kinds;
// items of other different kinds, arrays and objects compare as unknown.
func compare(op path.Kind, x, y json.Value) truth {
	c := 0
	switch {
	case x.Kind != y.Kind:
		if x.Kind == json.Null || y.Kind == json.Null {
			return truthOf(op == path.NotEqual)
		}
		return unknown
	case x.Kind == json.Bool && x.Bool != y.Bool:
		c = 1
		if y.Bool {
			c = -1
		}
	case x.Kind == json.Number:
		c = x.Num.Cmp(y.Num)
	case x.Kind == json.String:
		c = cmp.Compare(x.Str, y.Str)
	case !x.Scalar():
		return unknown
	}
	switch op {
	case path.Equal:
		return truthOf(c == 0)
	case path.NotEqual:
		return truthOf(c != 0)
	case path.Less:
		return truthOf(c < 0)
	case path.LessEqual:
		return truthOf(c <= 0)
	case path.Greater:
		return truthOf(c > 0)
	}
	return truthOf(c >= 0)
}

// regexFlags turns the flags of like_regex, which are XQuery's, into those of
// the regexp functions: without s a dot does not match a newline, with m the
// anchors match at lines.
func regexFlags(f string) string {
	has := func(c string) bool { return strings.Contains(f, c) }
	out := ""
	switch {
	case has("q"):
		out = "q"
	case has("s") && has("m"):
		out = "w"
	case has("m"):
		out = "n"
	case !has("s"):
		out = "p"
	}
	if has("i") {
		out += "i"
	}
	return out
}
