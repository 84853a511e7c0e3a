package cast

import (
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/sql/types"
)

// enumParse reads labels.
func enumParse(to types.Type) function.Impl {
	return function.Try1(func(c *function.Call, s string) (string, error) {
		x, err := c.Env.EnumOf(to)
		if err != nil {
			return "", err
		}
		for _, l := range x.Labels {
			if l == s {
				return l, nil
			}
		}
		return "", x.ErrLabel(s)
	})
}

// enumArrayParse reads arrays of labels.
func enumArrayParse(to types.Type) function.Impl {
	return function.Try1(func(c *function.Call, s string) (types.Datum, error) {
		x, err := c.Env.EnumOf(to)
		if err != nil {
			return nil, err
		}
		d, err := types.ParseText(to, s, c.Env.TypesEnv())
		if err != nil {
			return nil, err
		}
		if l, ok := x.Stranger(d); ok {
			return nil, x.ErrLabel(l)
		}
		return d, nil
	})
}
