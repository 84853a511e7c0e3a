package agg_test

import (
	"cmp"
	"math"
	"slices"

	"github.com/tributarydb/tributary/sql/types"
)

// classLossReference looks each label up among the classes.
func classLossReference(ty types.Type, rows []types.Row) types.Datum {
	var loss, n float64
	for _, r := range rows {
		if slices.ContainsFunc(r, isNull) {
			continue
		}
		p := 0.0
		at := slices.Index(someClasses, types.TextOf(ty, r[0], types.DefaultEnv))
		switch given := r[1].(type) {
		case float64: // of the second of two classes
			if at == 0 || at == 1 {
				p = math.Abs(float64(1-at) - given)
			}
		case types.Array:
			if at >= 0 && at < len(given.Elems) {
				p = given.Elems[at].(float64)
			}
		}
		loss -= math.Log(min(max(p, 0x1p-52), 1-0x1p-52))
		n++
	}
	if n == 0 {
		return nil
	}
	return loss / n
}

// topReference sorts the classes by their probabilities.
func topReference(ty types.Type, rows []types.Row) types.Datum {
	var hits, n float64
	for _, r := range rows {
		if slices.ContainsFunc(r, isNull) {
			continue
		}
		n++
		given := r[1].(types.Array).Elems
		order := make([]int, len(given))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(given[b].(float64), given[a].(float64)) })
		at := slices.Index(someClasses, types.TextOf(ty, r[0], types.DefaultEnv))
		if k := slices.Index(order, at); k >= 0 && int64(k) < r[3].(int64) {
			hits++
		}
	}
	if n == 0 {
		return nil
	}
	return hits / n
}

// classReference computes precision, recall and F1 from the counts of the confusion matrix.
// One class alone is the positive one if it is a text. If one is named as positive, it is the lesser.
func balancedReference(tp, fp, fn, tn float64) float64 {
	switch {
	case tp+fn == 0:
		return tn / (tn + fp)
	case tn+fp == 0:
		return tp / (tp + fn)
	}
	return (tp/(tp+fn) + tn/(tn+fp)) / 2
}

func correlationReference(tp, fp, fn, tn float64) float64 {
	if by := math.Sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)); by > 0 {
		return (tp*tn - fp*fn) / by
	}
	return 0.0
}
