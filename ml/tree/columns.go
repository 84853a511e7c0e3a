package tree

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Which columns a node may split by: those of its tree, of them those of its level and of itself, and
// those that may be together with the columns above it. Histograms are of the tree's columns, so that
// a node's can be subtracted from its parent's whatever each may split by.

const togetherOption = "interaction_constraints"

var columnOptions = []*family.Option{
	{Names: []string{"colsample_bylevel"}, Type: "number", Default: "1", Doc: "The share of the tree's columns that the splits of each level see.", Read: family.Fraction},
	{Names: []string{"colsample_bynode", "feature_fraction_bynode"}, Type: "number", Default: "1", Doc: "The share of the level's columns that each split sees.", Read: family.Fraction},
	{Names: []string{togetherOption, "interaction_cst"}, Type: "lists of columns", Default: "none",
		Doc: "Which columns may be split by one below the other: those that a list has together, `'[[\"age\", \"income\"], [\"region\"]]'` or `[('age', 'income'), ('region', 'town')]`, by name or by their number from 0. Those that no list has are a list of their own. At most 64.", Read: readTogether},
}

const mostTogether = 64

// readTogether reads lists of columns, which it stores one after the other with an empty name after
// each.
func readTogether(v family.Value) (any, error) {
	bad := v.Bad("lists of columns that may be together: '[[\"a\", \"b\"], [\"c\"]]'")
	var lists [][]any
	switch x := v.Value.(type) {
	case string:
		if json.Unmarshal([]byte(x), &lists) != nil {
			return nil, bad
		}
	case types.Array:
		some := slices.ContainsFunc(x.Elems, func(e types.Datum) bool { _, list := e.(types.Array); return list })
		for _, e := range x.Elems {
			list, ok := e.(types.Array)
			switch {
			case !ok && !some: // one list, or lists of one each?
				return nil, bad
			case !ok: // ('c') is no list, but means one
				list = types.Array{Elems: []types.Datum{e}}
			}
			var one []any
			for _, d := range list.Elems {
				one = append(one, d)
			}
			lists = append(lists, one)
		}
	}
	if len(lists) == 0 || len(lists) >= mostTogether {
		return nil, bad
	}
	var out []string
	for _, list := range lists {
		for _, c := range list {
			switch c := c.(type) {
			case string:
				if c == "" {
					return nil, bad
				}
				out = append(out, c)
			case int64:
				out = append(out, "#"+strconv.FormatInt(c, 10))
			case float64:
				if c != math.Trunc(c) || c < 0 || c > 1<<20 {
					return nil, bad
				}
				out = append(out, "#"+strconv.FormatInt(int64(c), 10))
			default:
				return nil, bad
			}
		}
		out = append(out, "")
	}
	return out, nil
}

// listsOf returns for the names of the query's columns a bit for each list that has it; nil where
// the statement has none. A name that is no column is an error.
func listsOf(o *family.Values, names []string) ([]uint64, error) {
	given := o.Texts(togetherOption, nil)
	if given == nil {
		return nil, nil
	}
	out, bit := make([]uint64, len(names)), uint64(1)
	for _, g := range given {
		if g == "" {
			bit <<= 1
			continue
		}
		k := slices.Index(names, g)
		if k < 0 && g[0] == '#' {
			if n, err := strconv.Atoi(g[1:]); err == nil && n >= 0 && n < len(names) {
				k = n
			}
		}
		if k < 0 {
			return nil, pgerr.New(pgerr.UndefinedColumn, "option %q names column %q, which is not a feature", togetherOption, g).At(o.Pos(togetherOption))
		}
		out[k] |= bit
	}
	for k := range out {
		if out[k] == 0 {
			out[k] = bit
		}
	}
	return out, nil
}

// allowed returns by column whether a node may split by it, nil for all that its histogram has.
func (t *grower) allowed(n *growNode) []bool {
	p := t.p
	if p.bylevel == 1 && p.bynode == 1 && p.lists == nil {
		return nil
	}
	cols := t.cols
	if cols == nil {
		cols = t.g.order
	}
	for _, draw := range []struct {
		share float64
		seed  uint64
	}{{p.bylevel, mix(t.seed ^ mix(uint64(n.depth)+0x2e7))}, {p.bynode, mix(n.seed ^ 0x51d)}} {
		if k := max(1, int(math.Round(draw.share*float64(len(cols))))); k < len(cols) {
			cols = columnsOf(draw.seed, cols, k)
		}
	}
	ok := make([]bool, len(t.g.cols))
	for _, c := range cols {
		ok[c] = p.lists == nil || p.lists[c]&n.path != 0
	}
	return ok
}

// below returns the lists that have the columns of a node's path once it is split.
func (t *grower) below(n *growNode) uint64 {
	if t.p.lists == nil {
		return n.path
	}
	return n.path & t.p.lists[n.best.col]
}
