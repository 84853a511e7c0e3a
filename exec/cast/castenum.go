package cast

import (
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
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
		return "", errLabel(x, s)
	})
}

func errLabel(x *catalog.EnumType, s string) error {
	return pgerr.New(pgerr.InvalidTextRepresentation, "invalid input value for enum %s: \"%s\"", lex.QuoteName(x.Name), s)
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
			return nil, errLabel(x, l)
		}
		return d, nil
	})
}
