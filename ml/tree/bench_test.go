package tree

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/exec/metric"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/family/familytest"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/types"
)

// table has rows in blocks of float32 columns with labels: from a file of little-endian float32
// rows, the label last (BENCH_ROWS, with 28 columns; the last fifth is the test set), or random.
type table struct {
	blocks []*block.Block
	fitted *feature.Fitted
	rows   int
}

const benchBlock = 32768

func benchTables(b testing.TB, cols int) (train, test *table) {
	var raw []float32
	if path := os.Getenv("BENCH_ROWS"); path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		raw = make([]float32, len(data)/4)
		for i := range raw {
			raw[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
	} else {
		r := rand.New(rand.NewPCG(1, 1))
		const rows = 125000
		for range rows {
			s := 0.0
			for j := range cols {
				x := r.NormFloat64()
				raw = append(raw, float32(x))
				if j < cols/2 {
					s += x * math.Sin(float64(j)+x)
				}
			}
			y := float32(0)
			if s+r.NormFloat64() > 0 {
				y = 1
			}
			raw = append(raw, y)
		}
	}
	n := len(raw) / (cols + 1)
	cut := n * 4 / 5
	return newTable(raw[:cut*(cols+1)], cols, benchBlock), newTable(raw[cut*(cols+1):], cols, benchBlock)
}

func newTable(raw []float32, cols, perBlock int) *table {
	t := &table{rows: len(raw) / (cols + 1), fitted: &feature.Fitted{Narrow: true, Dense: cols, Keys: []string{"0", "1"},
		Label: record.Column{Name: "y", Type: types.Int8}}}
	for j := range cols {
		t.fitted.Cols = append(t.fitted.Cols, feature.FitCol{Column: record.Column{Name: fmt.Sprint("x", j), Type: types.Float4}, Encoder: feature.Plain, Fill: math.NaN()})
	}
	for from := 0; from < t.rows; from += perBlock {
		n := min(perBlock, t.rows-from)
		b := block.New(n, cols, 0, true)
		for i := range n {
			row := raw[(from+i)*(cols+1):][:cols+1]
			for j, v := range row[:cols] {
				b.X32[(i/f64.Lanes*cols+j)*f64.Lanes+i%f64.Lanes] = v
			}
			b.Y[i], b.W[i] = float64(row[cols]), 1
		}
		t.blocks = append(t.blocks, b)
	}
	return t
}

// train trains with one goroutine per thread.
func (t *table) train(b testing.TB, f family.Family, threads int, options ...any) family.Predictor {
	o, err := familytest.Options(f, options...)
	if err != nil {
		b.Fatal(err)
	}
	plan, err := f.Plan(&family.Request{Options: o, Target: &t.fitted.Label})
	if err != nil {
		b.Fatal(err)
	}
	set := &family.Setup{Options: o, Plan: plan, Fitted: t.fitted, Rows: int64(t.rows), Weight: float64(t.rows)}
	drv, err := f.NewDriver(set, &family.Node{Threads: threads, Root: true, Grow: func(int64) error { return nil }})
	if err != nil {
		b.Fatal(err)
	}
	w, err := f.NewWorker(set, &family.Node{Threads: threads, Grow: func(int64) error { return nil }, Space: familytest.Space})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	spent := map[uint8]time.Duration{}
	var root time.Duration
	for !drv.State().Done {
		at := time.Now()
		s := drv.Next()
		root += time.Since(at)
		at = time.Now()
		parts := make([]family.Message, threads)
		var wg sync.WaitGroup
		for k := range threads {
			wg.Go(func() {
				p, err := w.NewPass(s)
				if err != nil {
					b.Error(err)
					return
				}
				for i := k; i < len(t.blocks); i += threads {
					if err := p.Add(context.Background(), family.Rows{Leaf: i, To: t.blocks[i].Padded()}, t.blocks[i]); err != nil {
						b.Error(err)
					}
				}
				parts[k] = p.Partial()
			})
		}
		wg.Wait()
		m := parts[0]
		for _, p := range parts[1:] {
			if m, err = f.Merge(s.Op, m, p); err != nil {
				b.Fatal(err)
			}
		}
		spent[s.Op] += time.Since(at)
		at = time.Now()
		if err := drv.Tell(m); err != nil {
			b.Fatal(err)
		}
		root += time.Since(at)
	}
	b.Logf("sketch %v, bin %v, rounds %v, growing %v, root %v", spent[opSketch], spent[opBin], spent[opRound], spent[opGrow], root)
	p, err := drv.Predictor()
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// auc is the area under the ROC curve.
func (t *table) auc(b testing.TB, p family.Predictor) float64 {
	var r metric.Ranking
	for _, blk := range t.blocks {
		s := p.Score(blk)
		for i, y := range blk.Y[:blk.Rows] {
			r.Add(y == 1, s.Probs[1][i], 1)
		}
	}
	auc, ok := r.AUC()
	if !ok {
		b.Fatal("no ranking")
	}
	return auc
}

// BenchmarkTrain trains 100 trees of depth 6, or the forest with which scikit-learn is compared, in
// two goroutines.
func BenchmarkTrain(b *testing.B) {
	train, test := benchTables(b, 28)
	for _, c := range []struct {
		name    string
		f       family.Family
		options []any
	}{
		{"boosted", boosted, []any{"n_estimators", 100}},
		{"leaves", boosted, []any{"n_estimators", 100, "max_leaves", 31}},
		{"forest", forest, []any{"n_estimators", 50, "max_depth", 12}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				p := train.train(b, c.f, 2, c.options...)
				b.StopTimer()
				b.ReportMetric(test.auc(b, p), "AUC")
				b.StartTimer()
			}
			b.ReportMetric(float64(train.rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkScore scores with 100 trees of depth 6 in one goroutine.
func BenchmarkScore(b *testing.B) {
	train, test := benchTables(b, 28)
	p := train.train(b, boosted, 2, "n_estimators", 100)
	b.ResetTimer()
	for b.Loop() {
		for _, blk := range test.blocks {
			p.Score(blk)
		}
	}
	b.ReportMetric(float64(test.rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
