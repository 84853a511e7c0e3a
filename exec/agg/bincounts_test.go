package agg_test

import (
	"math/rand"
	"slices"
	"testing"

	pairing "github.com/tributarydb/tributary/exec/kernel/pairs"
	"github.com/tributarydb/tributary/exec/profile"
	"github.com/tributarydb/tributary/sql/types"
)

// unoReference is pairs.Uno, which package pairs compares with the definition.
func unoReference(rows []types.Row) types.Datum {
	var list []pairing.WeightedSurvival
	for _, r := range rows {
		if !slices.ContainsFunc(r, isNull) {
			list = append(list, pairing.WeightedSurvival{Time: r[0].(float64), Event: r[1].(bool), Risk: r[2].(float64)})
		}
	}
	if v, ok := pairing.Uno(list); ok {
		return v
	}
	return nil
}

// binReference adds counts one after the other.
func binReference(t *testing.T, rows []types.Row) types.Datum {
	t.Helper()
	var sum profile.Counts
	for _, r := range rows {
		if r[0] == nil {
			continue
		}
		if err := sum.Take(r[0].([]byte)); err != nil {
			t.Fatal(err)
		}
	}
	return sum.Append(nil)
}

// someCounts are the counts of a few rows.
func someCounts(r *rand.Rand) []byte {
	var c profile.Counts
	c.Reset(2)
	for range r.Intn(4) {
		c.Rows++
		c.Column(0)[r.Intn(3)]++
		c.AddNew(1, string(rune('a'+r.Intn(5))))
	}
	return c.Append(nil)
}
