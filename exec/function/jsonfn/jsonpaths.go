package jsonfn

import (
	"context"
	"strings"

	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/jsonpath"
	"github.com/tributarydb/tributary/exec/regex"
	"github.com/tributarydb/tributary/sql/json"
	path "github.com/tributarydb/tributary/sql/jsonpath"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// pathMemo keeps what was compiled for a call's last path.
type pathMemo struct {
	text  string
	path  *path.Path
	regex map[[2]string]*regex.Regex
}

func newPathMemo(text string) (*pathMemo, error) {
	text = strings.Clone(text)
	p, err := path.Parse(text)
	return &pathMemo{text: text, path: p, regex: map[[2]string]*regex.Regex{}}, err
}

func (m *pathMemo) match(text, pattern, flags string) (bool, error) {
	k := [2]string{pattern, flags}
	r := m.regex[k]
	if r == nil {
		var err error
		if r, err = regex.Compile(pattern, flags); err != nil {
			return false, err
		}
		m.regex[k] = r
	}
	return r.Match(text)
}

// items evaluates a path: a is target, path, vars and silent, the last two where there are any.
// passed reports whether an error was suppressed; items found before an error are returned with it.
func (m *pathMemo) items(ctx context.Context, a []types.Datum, silent bool) (items []json.Value, passed bool, err error) {
	q := jsonpath.Query{Path: m.path, Match: m.match}
	if q.Root, err = json.ParseJSONB(a[0].(string)); err != nil {
		return nil, false, err
	}
	if len(a) > 2 {
		if q.Vars, err = json.ParseJSONB(a[2].(string)); err != nil {
			return nil, false, err
		}
		if q.Vars.Kind != json.Object {
			return nil, false, pgerr.New(pgerr.InvalidParameterValue, "\"vars\" argument is not an object").
				WithDetail("Jsonpath parameters should be encoded as key-value pairs of \"vars\" object.")
		}
		silent = a[3].(bool)
	}
	items, err = q.Items(ctx)
	if err != nil && silent && jsonpath.Silent(err) {
		return items, true, nil
	}
	return items, false, err
}

// addJSONPath registers the functions and operators of jsonpath.
func addJSONPath(t function.Table) {
	query := func(silent bool, f func(m *pathMemo, items []json.Value, passed, silent bool, err error) (types.Datum, error)) function.Maker {
		return function.Always(function.Loose(func(c *function.Call, a []types.Datum) (types.Datum, error) {
			var m *pathMemo
			if c.Memo != nil {
				m, _ = (*c.Memo).(*pathMemo)
			}
			if text := a[1].(string); m == nil || m.text != text {
				var err error
				if m, err = newPathMemo(text); err != nil {
					return nil, err
				}
				if c.Memo != nil {
					*c.Memo = m
				}
			}
			items, passed, err := m.items(c.Ctx, a, silent)
			return f(m, items, passed, silent || len(a) > 3 && a[3].(bool), err)
		}))
	}
	exists := func(m *pathMemo, items []json.Value, passed, _ bool, err error) (types.Datum, error) {
		if len(items) > 0 && !m.path.Strict && (err == nil || jsonpath.Silent(err)) {
			return true, nil
		}
		if err != nil || passed {
			return nil, err
		}
		return len(items) > 0, nil
	}
	match := func(_ *pathMemo, items []json.Value, passed, silent bool, err error) (types.Datum, error) {
		if err != nil || passed {
			return nil, err
		}
		if len(items) == 1 {
			switch items[0].Kind {
			case json.Bool:
				return items[0].Bool, nil
			case json.Null:
				return nil, nil
			}
		}
		if silent {
			return nil, nil
		}
		return nil, pgerr.New(pgerr.SingletonSQLJSONItemRequired, "single boolean result is expected")
	}
	const full = "(jsonb,jsonpath,jsonb,bool)"
	t.Put("jsonb_path_exists"+full, query(false, exists))
	t.Put("jsonb_path_exists_opr(jsonb,jsonpath)", query(true, exists))
	t.Put("jsonb_path_match"+full, query(false, match))
	t.Put("jsonb_path_match_opr(jsonb,jsonpath)", query(true, match))
	t.Put("jsonb_path_query_array"+full, query(false, func(_ *pathMemo, items []json.Value, passed, _ bool, err error) (types.Datum, error) {
		if err != nil {
			return nil, err
		}
		if passed {
			items = nil
		}
		return json.ArrayOf(items).String(), nil
	}))
	t.Put("jsonb_path_query_first"+full, query(false, func(_ *pathMemo, items []json.Value, passed, _ bool, err error) (types.Datum, error) {
		if err != nil || passed || len(items) == 0 {
			return nil, err
		}
		return items[0].String(), nil
	}))
}

// pathRows is jsonb_path_query, evaluated when rows are first read.
type pathRows struct {
	call *function.SetCall
	args []types.Datum
	rows function.Generator
}

func (g *pathRows) Next(ctx context.Context, max int, out []array.Builder) (int, error) {
	if g.rows == nil {
		m, err := newPathMemo(g.args[1].(string))
		if err != nil {
			return 0, err
		}
		items, passed, err := m.items(ctx, g.args, false)
		if err != nil {
			return 0, err
		}
		if passed {
			items = nil
		}
		rows := make([]types.Datum, len(items))
		for i, v := range items {
			rows[i] = v.String()
		}
		g.rows = g.call.List(rows)
	}
	return g.rows.Next(ctx, max, out)
}
