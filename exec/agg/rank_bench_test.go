package agg

import (
	"math"
	"math/rand"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/sql/types"
)

// evaluation makes rows of two labels with the probabilities of a model.
func evaluation(seed int64, n int) (label, got, p arrow.Array) {
	r := rand.New(rand.NewSource(seed))
	l, g, v := make([]int64, n), make([]int64, n), make([]float64, n)
	for i := range l {
		z := 2.5 * r.NormFloat64()
		if v[i] = 1 / (1 + math.Exp(-z)); r.Float64() < v[i] {
			l[i] = 1
		}
		if v[i] > 0.5 {
			g[i] = 1
		}
	}
	return int64s(l...), int64s(g...), float64s(v...)
}

// BenchmarkMeasures adds 4,000,000 rows in batches to a metric and computes its result.
func BenchmarkMeasures(b *testing.B) {
	const rows, batches = 1 << 14, 256
	var label, got, p []arrow.Array
	for k := range batches {
		l, g, v := evaluation(int64(k), rows)
		label, got, p = append(label, l), append(got, g), append(p, v)
	}
	for _, name := range []string{"roc_auc", "log_loss", "ml_classification"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				a := metricOf(name, []types.Type{types.Int8, types.Float8})
				a.Resize(1)
				for i := range batches {
					args := []arrow.Array{label[i], p[i]}
					if name == "ml_classification" {
						args[1] = got[i]
					}
					if err := update(a, make([]uint32, rows), args); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := a.Results(0, 1); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows/batches, "ns/row")
		})
	}
}

func update(a Agg, groups []uint32, args []arrow.Array) error {
	if l, ok := a.(Lister); ok {
		return l.UpdateList(0, nil, len(groups), args)
	}
	return a.Update(groups, args)
}
