package block

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/tempfile"
)

// TestBySlot: margins and gradients of a block computed one-hot slot by slot have the same bits as
// row by row.
func TestBySlot(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, rows := range []int{1, 7, 1000, SpanRows, SpanRows + 1, 2*SpanRows + 300} {
		const dense, codes = 2, 3
		each := []int{1 + r.IntN(5), 1 << 12, 1 + r.IntN(1<<20)}
		b := New(rows, dense, codes, rows%2 == 0)
		ones := 0
		for j := range codes {
			for i := range b.Padded() {
				at := (i&^(f64.Lanes-1))*codes + j*f64.Lanes + i&(f64.Lanes-1)
				if b.Code[at] = int32(ones + r.IntN(each[j])); i >= rows || r.IntN(9) == 0 {
					b.Code[at] = -1
				}
			}
			ones += each[j]
		}
		for i := range rows {
			for j := range dense {
				b.Set(i, j, r.NormFloat64())
			}
		}
		w := make([]float64, dense+ones)
		for i := range w {
			w[i] = r.NormFloat64()
		}
		by := b.BySlot(tempfile.Bytes(make([]float64, (b.BySlotBytes()+7)/8))[:b.BySlotBytes()])
		wantZ, z := make([]float64, b.Padded()), make([]float64, b.Padded())
		b.Margins(wantZ, 0, w, 0.25)
		for i := range z {
			z[i] = 0.25
		}
		factors := make([]float64, b.Padded())
		for i := range factors {
			factors[i] = r.Float64() - 0.5
		}
		f64.FixAll(factors, 0.5)
		want, got := make([]int64, ones), make([]int64, ones)
		var spans []Factors
		b.AddGrad(make([]float64, dense*f64.Lanes), want, 0, factors)
		for from := 0; from < b.Padded(); from += SpanRows {
			to := min(from+SpanRows, b.Padded())
			by.Margins(z[from:to], from/SpanRows, w[dense:])
			spans = append(spans, Factors{by, from / SpanRows, factors[from:to]})
		}
		AddGrad(got, spans[:len(spans)/2])
		AddGrad(got, spans[len(spans)/2:])
		b.AddDense(z, 0, w)
		if !slices.Equal(z, wantZ) {
			t.Errorf("%d rows: other margins", rows)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d rows: another gradient", rows)
		}
	}
}
