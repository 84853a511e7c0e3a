package linear

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/family/familytest"
	"github.com/tributarydb/tributary/ml/optim"
)

// BenchmarkIteration is the share of one thread in an iteration of logistic regression over a block
// larger than the caches, compared with reading the block once; the best of all runs of each.
func BenchmarkIteration(b *testing.B) {
	for _, c := range []struct {
		rows, dense int
		narrow      bool
	}{{1000000, 28, true}, {1000000, 28, false}, {100000, 500, true}, {100000, 500, false}} {
		b.Run(fmt.Sprintf("%dx%d narrow=%v", c.rows, c.dense, c.narrow), func(b *testing.B) {
			d := &familytest.Data{X: [][]float64{make([]float64, c.dense)}, Y: []float64{0}, Classes: 2}
			s := &family.Setup{Fitted: d.Fitted(c.narrow), Rows: int64(c.rows), Plan: &family.Plan{}}
			var err error
			if s.Options, err = familytest.Options(logisticRegression); err != nil {
				b.Fatal(err)
			}
			block := block.New(c.rows, c.dense, 0, c.narrow)
			r := rand.New(rand.NewPCG(1, 1))
			for i := range block.X32 {
				block.X32[i] = r.Float32() - 0.5
			}
			for i := range block.X64 {
				block.X64[i] = r.Float64() - 0.5
			}
			for i := range c.rows {
				block.Y[i], block.W[i] = float64(r.IntN(2)), 1
			}
			w, err := logisticRegression.NewWorker(s, familytest.Home)
			if err != nil {
				b.Fatal(err)
			}
			body := &request{Need: optim.Loss | optim.Grad, Theta: make([]float64, c.dense+1), Width: 1, most: most{2, 16, 1, 1}}
			for j := range c.dense {
				body.Theta[j] = r.NormFloat64() / 10
				body.Bound = append(body.Bound, 1)
			}
			p, err := w.NewPass(&family.Step{Op: opEvaluate, Set: family.Train, Body: body})
			if err != nil {
				b.Fatal(err)
			}
			step, read := time.Hour, time.Hour
			for b.Loop() {
				at := time.Now()
				if err := p.Add(context.Background(), family.Rows{To: block.End()}, block); err != nil {
					b.Fatal(err)
				}
				p.Partial()
				step = min(step, time.Since(at))
				at = time.Now()
				sink = touch(block)
				read = min(read, time.Since(at))
			}
			bytes := float64(block.Bytes())
			b.ReportMetric(float64(step.Microseconds())/1e3, "step-ms")
			b.ReportMetric(float64(read.Microseconds())/1e3, "read-ms")
			b.ReportMetric(bytes/step.Seconds()/1e9, "step-GB/s")
			b.ReportMetric(bytes/read.Seconds()/1e9, "read-GB/s")
			b.ReportMetric(float64(step)/float64(read), "ratio")
		})
	}
}

var sink uint64

// touch reads a word of each cache line of a block.
func touch(b *block.Block) (sum uint64) {
	for i := 0; i+7 < len(b.X64); i += 8 {
		sum += math.Float64bits(b.X64[i])
	}
	for i := 0; i+15 < len(b.X32); i += 16 {
		sum += uint64(math.Float32bits(b.X32[i]))
	}
	for i := 0; i+7 < len(b.Y); i += 8 {
		sum += math.Float64bits(b.Y[i]) + math.Float64bits(b.W[i])
	}
	return sum
}
