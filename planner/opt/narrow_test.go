package opt

import (
	"testing"

	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

func TestDigits(t *testing.T) {
	dec := func(s string) types.Datum {
		d, err := number.ParseDecimal(s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, c := range []struct {
		min, max string
		scale    uint8
		want     uint8
	}{{"0.00", "0.10", 2, 2}, {"-999.99", "10.00", 2, 5}, {"901.00", "104949.50", 2, 8}, {"0", "9", 0, 1}, {"0.00", "0.00", 2, 2}} {
		got, ok := digits(props.ColStats{Min: dec(c.min), Max: dec(c.max)}, c.scale)
		if !ok || got != c.want {
			t.Errorf("%s..%s: %d %v, want %d", c.min, c.max, got, ok, c.want)
		}
	}
}
