package train

import (
	"context"
	"math"
	"strconv"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/metric"
)

// measures are the states of all metrics that fit the algorithm.
type measures struct {
	classes bool
	matrix  *metric.Matrix // over the classes' numbers
	loss    *metric.LogLoss
	rank    *metric.Ranking // of two classes
	reg     *metric.Regression
}

// measure gives what measures a leaf, or gives its cuts.
func (w *Worker) measure(t *measureTask, cut bool) (leafFunc, error) {
	var grid *rankGrid
	var ranking int64 // what a thread's takes, and again what is made of it
	if t.coarse && !cut {
		grid, ranking = newRankGrid(t.cuts), slotBytes(t.cuts)
	}
	if err := w.room(family.Scratch(t.predictor)+ranking, ranking, len(w.leaves), true); err != nil {
		return nil, err
	}
	return func(ctx context.Context, leaf int) (family.Message, error) {
		rows := family.Rows{Leaf: leaf, Held: t.held}
		b, release, err := w.blocks.Open(blockOf(rows))
		if err != nil {
			return nil, err
		}
		defer release()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if b != nil {
			b, rows.To = aimed(b, t.target), b.End()
		}
		if cut {
			return w.cutsOf(b, rows, t.predictor), nil
		}
		return w.measureBlock(b, rows, t, grid), nil
	}, nil
}

// scores gives the scores of a block, those that were kept where they were.
func (w *Worker) scores(b *dataset.Block, rows family.Rows, p family.Predictor) *family.Scores {
	if s := w.keptScores(rows); s != nil {
		return s
	}
	return p.Score(b)
}

// keptScores gives the scores of a block that the family or the task before kept, or
// nil.
func (w *Worker) keptScores(rows family.Rows) *family.Scores {
	w.mu.Lock()
	s := w.scored[blockOf(rows)]
	if s != nil {
		delete(w.scored, blockOf(rows))
		w.blocks.Unreserve(scoresBytes(s))
	}
	w.mu.Unlock()
	if s != nil {
		return s
	}
	if k, ok := w.family.(family.Keeper); ok {
		return k.Kept(rows)
	}
	return nil
}

// keepScores keeps scores of two classes for the task that measures, where there
// is plenty of memory: to walk many trees twice takes longer than all the rest.
func (w *Worker) keepScores(rows family.Rows, s *family.Scores) {
	if !w.blocks.TryReserve(scoresBytes(s)) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.scored == nil {
		w.scored = map[int]*family.Scores{}
	}
	w.scored[blockOf(rows)] = s
}

// scoresBytes is what scores of classes take, of two of which there may be one array.
func scoresBytes(s *family.Scores) (n int64) {
	for _, p := range s.Probs {
		n += 8 * int64(len(p))
	}
	return n
}

// measureBlock measures a model on a block's rows or windows. Weights count without the
// classes' weights, which serve training only.
func (w *Worker) measureBlock(b *dataset.Block, rows family.Rows, p *measureTask, grid *rankGrid) *measures {
	m := &measures{classes: w.job.planOf(p.target).Target == family.ClassTarget, matrix: metric.NewMatrix(), loss: &metric.LogLoss{},
		rank: &metric.Ranking{}, reg: &metric.Regression{}}
	if b == nil || b.Rows == 0 {
		return m
	}
	truth, weights := b.Targets()
	r := w.keptScores(rows)
	if r == nil {
		if v, ok := p.predictor.(family.Valuer); ok && !m.classes && b.Windows == nil && unit(weights) && m.values(v, b) {
			return m
		}
		r = p.predictor.Score(b)
	}
	if !m.classes && unit(weights) {
		m.reg.AddAll(truth, r.Value[:len(truth)])
		return m
	}
	if !m.classes {
		for i, v := range r.Value {
			m.reg.Add(truth[i], v, weights[i])
		}
		return m
	}
	k := len(r.Probs)
	if k == 2 && p.classWeights == nil && unit(weights) {
		m.unitBinary(r, truth, newRankBins(p, grid))
		return m
	}
	cells := make([]float64, k*k)
	var bins *rankBins
	if k == 2 {
		bins = newRankBins(p, grid)
	}
	for i, w := range weights {
		y := int(truth[i])
		if p.classWeights != nil {
			w /= p.classWeights[y]
		}
		w = math.RoundToEven(w/p.unit) * p.unit
		cells[y*k+r.Class(i)] += w
		m.loss.Add(r.Chance(y, i), w)
		switch {
		case bins != nil:
			at := bins.at(r.Probs[1][i])
			if y == 1 {
				at.Pos += w
			} else {
				at.Neg += w
			}
		case k == 2:
			m.rank.Add(y == 1, r.Probs[1][i], w)
		}
	}
	m.count(cells, k)
	if bins != nil {
		m.rank = bins.ranking()
	}
	return m
}

// weightUnit is a power of two by which weights that sum up to about total are so
// many that none is lost in rounding, and so few that sums of them are exact.
func weightUnit(total float64) float64 {
	_, exp := math.Frexp(total)
	return math.Ldexp(1, exp-46)
}

// values measures the values of a block's rows, all of which weigh 1, a chunk of rows
// after the other. ok is false where they are none.
func (m *measures) values(v family.Valuer, b *dataset.Block) (ok bool) {
	chunk := make([]float64, dataset.ChunkRows)
	for from := 0; from < b.Rows; from += len(chunk) {
		chunk = chunk[:min(len(chunk), b.Padded()-from)]
		if !v.Values(chunk, b, from) {
			return false
		}
		n := min(len(chunk), b.Rows-from)
		m.reg.AddAll(b.Y[from:from+n], chunk[:n])
	}
	return true
}

// unit tells whether all weights are 1.
func unit(w []float64) bool {
	for _, v := range w {
		if v != 1 {
			return false
		}
	}
	return true
}

// unitBinary measures two classes' rows of weight 1, the common case.
func (m *measures) unitBinary(r *family.Scores, y []float64, bins *rankBins) {
	var cells [4]float64
	pos := r.Probs[1]
	var given [dataset.ChunkRows]float64 // the probabilities of what was true
	for i, p := range pos {
		cell, truth := 0, r.Chance(0, i)
		if p > truth {
			cell = 1
		}
		if y[i] == 1 {
			truth = p
			cells[2+cell]++
		} else {
			cells[cell]++
		}
		switch {
		case bins == nil:
			m.rank.Add(y[i] == 1, p, 1)
		case y[i] == 1:
			bins.at(p).Pos++
		default:
			bins.at(p).Neg++
		}
		at := i % len(given)
		if given[at] = truth; at == len(given)-1 || i == len(pos)-1 {
			m.loss.AddAll(given[:at+1])
		}
	}
	m.count(cells[:], 2)
	if bins != nil {
		m.rank = bins.ranking()
	}
}

// count adds the weights of k classes' rows, truth by truth, to the matrix.
func (m *measures) count(cells []float64, k int) {
	for y := range k {
		for c := range k {
			if w := cells[y*k+c]; w != 0 {
				m.matrix.Add(classNumber(y), classNumber(c), w)
			}
		}
	}
}

// classNumber names a class in a matrix so that names sort as numbers.
func classNumber(k int) string {
	s := strconv.Itoa(k)
	return "0000"[min(len(s), 4):] + s
}

func (m *measures) merge(o *measures) {
	m.matrix.Merge(o.matrix)
	m.loss.Merge(o.loss)
	m.rank.Merge(o.rank)
	m.reg.Merge(o.reg)
}

// Encode implements family.Message.
func (m *measures) Encode(e *canon.E) {
	e.Bool(m.classes)
	m.matrix.Encode(e)
	m.loss.Encode(e)
	m.rank.Encode(e)
	m.reg.Encode(e)
}

func decodeMeasures(d *canon.D) *measures {
	return &measures{classes: d.Bool(), matrix: metric.DecodeMatrix(d), loss: metric.DecodeLogLoss(d), rank: metric.DecodeRanking(d), reg: metric.DecodeRegression(d)}
}

// list gives the metrics in the order in which they are shown.
func (m *measures) list() (out []family.Metric) {
	if !m.classes {
		r := m.reg
		return []family.Metric{{Name: "mean_absolute_error", Value: r.MAE()}, {Name: "mean_squared_error", Value: r.MSE()},
			{Name: "root_mean_squared_error", Value: r.RMSE()}, {Name: "r2_score", Value: r.R2()}}
	}
	order := func(a, b string) int {
		if a == b {
			return 0
		} else if a < b {
			return -1
		}
		return 1
	}
	s := m.matrix.Scores(order)
	out = []family.Metric{{Name: "accuracy", Value: s.Accuracy}, {Name: "precision", Value: s.Precision}, {Name: "recall", Value: s.Recall}, {Name: "f1_score", Value: s.F1}, {Name: "log_loss", Value: m.loss.Mean()}}
	if auc, ok := m.rank.AUC(); ok {
		out = append(out, family.Metric{Name: "roc_auc", Value: auc})
	}
	return out
}
