package function

import (
	"strings"

	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/types"
)

// Parsing charges what parsing a value of t from its text takes.
func (c *Call) Parsing(t types.Type, s string) {
	n := 0
	switch {
	case t.Form() == types.FormNested:
		n = 2*len(s) + 2*BoxedBytes*(1+strings.Count(s, ","))
	case t.Class() == types.ClassJSON || t.Class() == types.ClassJSONB:
		n = vector.JSONBytes(s)
	default:
		n = vector.TextBytes(s)
	}
	c.Meter().Scratch(n)
	c.Meter().Poll(n)
}

// ChargeTrees wraps functions of json so that they charge for the tree of their largest row.
func ChargeTrees(m Maker) Maker {
	return func(f *fn.Func, at []types.Type, ret types.Type) Impl {
		run := m(f, at, ret)
		if run == nil {
			return nil
		}
		return func(c *Call, args []*vector.Vec) (*vector.Vec, error) {
			most := 0
			for i := range c.N {
				if c.Skip(i) {
					continue
				}
				n := 0
				for _, v := range args {
					n += v.TreeBytes(i)
				}
				most = max(most, n)
			}
			meter := c.Meter()
			if most > 0 {
				meter.Charge(int64(most))
				meter.Poll(most)
			}
			v, err := run(c, args)
			meter.Release(int64(most))
			return v, err
		}
	}
}
