package eval

import (
	"slices"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/json"
)

// members are the parts of one json value that expressions over the same rows read: a text is gone through once
// for all of them. The value may itself be a part of another, which then is not made: only its place is known.
//
//	props ->> 'device', props #>> '{utm,medium}', (props ->> 'score')::int    props: {device, utm …, score}
//	props -> 'flags' ->> 1                                                    props: {flags}, flags: {1}
type members struct {
	arg    node
	outer  *memberNode // arg, where it is a part
	steps  []json.Step
	binary bool
	within bool // the value is a part
	around bool // parts of the parts are read
	place  int  // among the frame's shared results: the values that spans are of
	spans  []json.Span
}

// at returns the number of a step, -1 if it is none of them.
func (m *members) at(step json.Step) int {
	return slices.IndexFunc(m.steps, func(s json.Step) bool {
		return s.Key == step.Key && s.Elem == step.Elem && s.Index == step.Index && s.Binary == step.Binary && slices.Equal(s.Path, step.Path)
	})
}

// memberNode is one of members.
type memberNode struct {
	alone *callNode
	of    *members
	k     int
	text  bool
}

func (n *memberNode) eval(fr *frame) (*vector.Vec, error) {
	v, rows, err := n.of.values(fr)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return n.alone.eval(fr)
	}
	c := &function.Call{Ctx: fr.ctx, Env: fr.env, Arena: fr.a, Fn: n.alone.f, Types: n.alone.typ, Ret: n.alone.ret, N: fr.n}
	if rows == nil {
		c.Valid = v.Valid
	}
	spans, width := n.of.spans, len(n.of.steps)
	return function.Each(c, func(i int) (string, error) {
		if rows != nil {
			i = int(rows[i])
		}
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

// values returns the values that spans are of, and where the frame has not all of their rows, which; nil where the parts
// are to be read row by row.
func (m *members) values(fr *frame) (v *vector.Vec, rows []int32, err error) {
	if fr.shared == nil {
		if fr.whole == nil {
			return nil, nil, nil
		}
		return fr.whole.shared[m.place], fr.rows, nil
	}
	if v := fr.shared[m.place]; v != nil {
		return v, nil, nil
	}
	if m.outer != nil {
		v, _, err = m.outer.of.values(fr)
	} else {
		v, err = m.arg.eval(fr)
	}
	if err != nil || v == nil || v.Kind != vector.Str || v.One {
		return nil, nil, err
	}
	if err := m.find(fr, v); err != nil {
		return nil, nil, err
	}
	fr.keep(m.place, v)
	return v, nil, nil
}

// find finds the parts in all rows.
func (m *members) find(fr *frame, v *vector.Vec) error {
	width := len(m.steps)
	m.spans = vector.Alloc[json.Span](fr.a, fr.n*width)
	for i := range fr.n {
		out := m.spans[i*width:][:width]
		if v.Null(i) {
			clear(out)
			continue
		}
		s := v.Str(i)
		if m.outer != nil {
			in := m.outer.of.spans[i*len(m.outer.of.steps)+m.outer.k]
			if in.To == 0 {
				clear(out)
				continue
			}
			json.Find(s[in.From:in.To], m.steps, out)
			for k := range out {
				if out[k].To > 0 {
					out[k].From, out[k].To = out[k].From+in.From, out[k].To+in.From
				}
			}
			continue
		}
		if !m.binary {
			if err := json.CheckStrings(s); err != nil {
				return err
			}
		}
		json.Find(s, m.steps, out)
	}
	return nil
}
