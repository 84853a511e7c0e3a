package family

import (
	"fmt"
	"strings"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Ends checks a range of an option's values, and returns its ends and whether all of its
// values are integers.
func (o *Option) Ends(a Arg, d *Dimension) (lo, hi float64, integer bool, err error) {
	bad := func(format string, args ...any) error {
		return pgerr.New(pgerr.InvalidParameterValue, format, args...).At(a.Pos)
	}
	integer = strings.HasPrefix(o.Type, "integer")
	if !integer && !strings.HasPrefix(o.Type, "number") {
		return 0, 0, false, pgerr.From(bad("option %q has no range", a.Name)).WithHint("List its values: hparam_candidates([…]).")
	}
	for i, v := range []types.Datum{d.Lo, d.Hi} {
		if _, err := o.Read(Value{Arg: Arg{Name: a.Name, Value: v, Pos: a.Pos}}); err != nil {
			return 0, 0, false, err
		}
		f, ok := types.Float(v)
		if !ok {
			return 0, 0, false, bad("the ends of the range of option %q must be numbers", a.Name)
		}
		if i == 0 {
			lo = f
		}
		hi = f
	}
	switch {
	case lo > hi:
		err = bad("the range of option %q ends before it begins", a.Name)
	case d.Log && lo <= 0:
		err = bad("a logarithmic range begins above 0, and that of option %q at %v", a.Name, fmt.Sprint(lo))
	}
	return lo, hi, integer, err
}
