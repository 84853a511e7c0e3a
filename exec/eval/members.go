package eval

import (
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/json"
)

// members are the members of one json value that expressions over the same rows read: a text is gone through once
// for all of them.
//
//	props ->> 'device', props ->> 'country', (props ->> 'score')::int        {device, country, score}
type members struct {
	arg    node
	keys   []string
	binary bool
	place  int // among the frame's shared results: the values that spans are of
	spans  []json.Span
}

// memberNode is one of members.
type memberNode struct {
	alone *callNode
	of    *members
	k     int
	text  bool
}

func (n *memberNode) eval(fr *frame) (*vector.Vec, error) {
	if fr.shared == nil {
		return n.alone.eval(fr)
	}
	v := fr.shared[n.of.place]
	if v == nil {
		var err error
		if v, err = n.of.arg.eval(fr); err != nil {
			return nil, err
		}
		if v.Kind != vector.Str || v.One {
			return n.alone.eval(fr)
		}
		if err := n.of.find(fr, v); err != nil {
			return nil, err
		}
		fr.keep(n.of.place, v)
	}
	c := &function.Call{Ctx: fr.ctx, Env: fr.env, Arena: fr.a, Fn: n.alone.f, Types: n.alone.typ, Ret: n.alone.ret, N: fr.n, Valid: v.Valid}
	spans, width := n.of.spans, len(n.of.keys)
	return function.Each(c, func(i int) (string, error) {
		span := spans[i*width+n.k]
		if span.To == 0 {
			return "", function.ErrNull
		}
		s := v.Str(i)[span.From:span.To]
		if !n.text {
			return s, nil
		}
		s, ok := json.JSONText(s)
		if !ok {
			return "", function.ErrNull
		}
		return s, nil
	})
}

// find finds the members in all rows.
func (m *members) find(fr *frame, v *vector.Vec) error {
	width := len(m.keys)
	m.spans = vector.Alloc[json.Span](fr.a, fr.n*width)
	for i := range fr.n {
		if v.Null(i) {
			continue
		}
		s := v.Str(i)
		if !m.binary {
			if err := json.CheckStrings(s); err != nil {
				return err
			}
		}
		json.Members(s, m.keys, m.spans[i*width:][:width])
	}
	return nil
}
