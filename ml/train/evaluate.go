package train

import (
	"cmp"
	"context"
	"math"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/exec/metric"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
)

// evaluation has the states of all metrics that apply to the task.
type evaluation struct {
	classes   bool
	ofClasses int // how many classes the model has; 0 before the first rows
	matrix    metric.Matrix
	loss      metric.LogLoss
	rank      metric.Ranking // of two classes
	reg       metric.Regression
	scratch   exact.ErrorsScratch
}

// state is what all states of metrics have.
type state interface {
	Append(dst []byte) []byte
	Decode(b []byte) bool
}

func (m *evaluation) states() [4]state { return [4]state{&m.matrix, &m.loss, &m.rank, &m.reg} }

// cutsMessage is a partial of a cutsTask.
type cutsMessage struct{ metric.Cuts }

// Encode implements family.Message.
func (m *cutsMessage) Encode(e *canon.E) { e.Bytes(m.Append(nil)) }

func decodeCuts(d *canon.D) *cutsMessage {
	m := &cutsMessage{}
	if !m.Decode(d.Bytes()) {
		d.Fail()
	}
	return m
}

// evaluatePass evaluates a model on the leaves that one goroutine takes.
type evaluatePass struct {
	w    *Worker
	t    *evaluateTask
	m    *evaluation
	bins *metric.Bins // nil where each score counts
}

// begin implements body.
func (t *evaluateTask) begin(w *Worker, p *Part) (err error) {
	bins, ranking := int64(0), int64(0)
	var grid *metric.Grid
	if t.coarse {
		bins, ranking = metric.BinsBytes(len(t.cuts))
		grid = metric.NewGrid(t.cuts)
	}
	p.whole = true
	p.work = func() (taskPass, error) {
		m := &evaluation{classes: w.job.planOf(t.target).Target == family.ClassTarget}
		h := &evaluatePass{w: w, t: t, m: m}
		if t.coarse {
			h.bins = metric.NewBins(t.cuts, grid)
		}
		return h, nil
	}
	p.threads, err = w.room(family.Scratch(t.predictor)+bins, ranking, len(w.leaves), w.cfg.Threads, true)
	return err
}

func (h *evaluatePass) do(ctx context.Context, it *item) (family.Message, error) {
	return nil, h.t.block(ctx, h.w, it.leaf, h.block)
}

func (h *evaluatePass) rest() family.Message {
	if h.bins != nil {
		h.m.rank = *h.bins.Ranking()
	}
	return h.m
}

// cutsPass collects the cuts of the leaves that one goroutine takes.
type cutsPass struct {
	w    *Worker
	t    *evaluateTask
	cuts cutsMessage
}

// begin implements body.
func (t *cutsTask) begin(w *Worker, p *Part) (err error) {
	p.whole = true
	p.work = func() (taskPass, error) { return &cutsPass{w: w, t: t.evaluateTask}, nil }
	p.threads, err = w.room(family.Scratch(t.predictor), metric.CutsBytes, len(w.leaves), w.cfg.Threads, true)
	return err
}

func (h *cutsPass) do(ctx context.Context, it *item) (family.Message, error) {
	return nil, h.t.block(ctx, h.w, it.leaf, h.block)
}

func (h *cutsPass) rest() family.Message { return &h.cuts }

// block adds the scores of a block's positive rows. It is branch-free, since the branch
// would be unpredictable.
func (h *cutsPass) block(b *block.Block, rows family.Rows) {
	s := h.w.scores.take(rows, h.w.family)
	if s == nil {
		s = h.t.predictor.Score(b)
	}
	truth, weights := b.Targets()
	var some [block.ChunkRows]float64
	for from := 0; from < len(truth); from += len(some) {
		n := 0
		for i, y := range truth[from:min(from+len(some), len(truth))] {
			some[n&(len(some)-1)] = s.Probs[1][from+i]
			next := n
			if y == 1 && weights[from+i] > 0 {
				next = n + 1
			}
			n = next
		}
		h.cuts.Add(some[:n])
	}
	h.w.scores.keep(rows, s)
}

// block calls f with a leaf's block to be measured, if there is one.
func (t *evaluateTask) block(ctx context.Context, w *Worker, leaf int, f func(*block.Block, family.Rows)) error {
	rows := family.Rows{Leaf: leaf, Held: t.held}
	b, release, err := w.blocks.Open(blockOf(rows))
	if err != nil {
		return err
	}
	defer release()
	if err := ctx.Err(); err != nil {
		return err
	}
	if b != nil && b.Rows > 0 {
		b = forTarget(b, t.target)
		rows.To = b.End()
		f(b, rows)
	}
	return nil
}

// block measures the model on a block's rows or windows. Weights count without the
// classes' weights, which serve training only.
func (h *evaluatePass) block(b *block.Block, rows family.Rows) {
	m, t := h.m, h.t
	truth, weights := b.Targets()
	r := h.w.scores.take(rows, h.w.family)
	if r == nil {
		if v, ok := t.predictor.(family.Valuer); ok && !m.classes && b.Windows == nil && unit(b, weights) && m.values(v, b) {
			return
		}
		r = t.predictor.Score(b)
	}
	if !m.classes && unit(b, weights) {
		m.reg.AddAll(truth, r.Value[:len(truth)], &m.scratch)
		return
	}
	if !m.classes {
		for i, v := range r.Value {
			m.reg.AddWeighted(truth[i], v, weights[i])
		}
		return
	}
	k := len(r.Probs)
	m.ofClasses = k
	if k == 2 && t.classWeights == nil && unit(b, weights) {
		m.unitBinary(r, truth, h.bins)
		return
	}
	cells := make([]float64, k*k)
	for i, w := range weights {
		y := int(truth[i])
		w = t.measured(w, y)
		cells[y*k+r.Class(i)] += w
		m.loss.Add(r.Prob(y, i), w)
		switch {
		case h.bins != nil:
			h.bins.Add(y, r.Probs[1][i], w)
		case k == 2:
			m.rank.Add(y == 1, r.Probs[1][i], w)
		}
	}
	m.count(cells, k)
}

// weightUnit returns a power of two in whose multiples weights that sum to about total
// are measured: small enough that no weight is lost in rounding, and large enough that
// their sums are exact.
func weightUnit(total float64) float64 {
	_, exp := math.Frexp(total)
	return math.Ldexp(1, exp-46)
}

// values measures the values of a block's rows, all of weight 1, chunk by chunk. ok is
// false where the model predicts something else.
func (m *evaluation) values(v family.Valuer, b *block.Block) (ok bool) {
	chunk := make([]float64, block.ChunkRows)
	for from := 0; from < b.Rows; from += len(chunk) {
		chunk = chunk[:min(len(chunk), b.Padded()-from)]
		if !v.Values(chunk, b, from) {
			return false
		}
		n := min(len(chunk), b.Rows-from)
		m.reg.AddAll(b.Y[from:from+n], chunk[:n], &m.scratch)
	}
	return true
}

// unit reports whether all weights of a block's rows or windows are 1.
func unit(b *block.Block, w []float64) bool {
	if b.Unit() {
		return true
	}
	for _, v := range w {
		if v != 1 {
			return false
		}
	}
	return true
}

// unitBinary measures two classes' rows of weight 1, the common case. It is
// branch-free, since whether the model is right is unpredictable.
func (m *evaluation) unitBinary(r *family.Scores, y []float64, bins *metric.Bins) {
	var cells [4]int64
	var given [block.ChunkRows]float64 // the probabilities of the true classes
	for from := 0; from < len(r.Probs[1]); from += len(given) {
		pos := r.Probs[1][from:min(from+len(given), len(r.Probs[1]))]
		for i, p := range pos {
			q := r.Prob(0, from+i)
			of, truth, class := [2]float64{q, p}, int(y[from+i])&1, 0
			if p > q {
				class = 1
			}
			cells[2*truth+class]++
			given[i] = of[truth]
		}
		m.loss.AddAll(given[:len(pos)])
		if bins != nil {
			bins.AddAll(pos, y[from:])
			continue
		}
		m.rank.AddUnits(y[from:], pos)
	}
	m.count([]float64{float64(cells[0]), float64(cells[1]), float64(cells[2]), float64(cells[3])}, 2)
}

// count adds the weights of k classes' rows, by true class, to the matrix.
func (m *evaluation) count(cells []float64, k int) {
	for y := range k {
		for c := range k {
			if w := cells[y*k+c]; w != 0 {
				m.matrix.Add(uint32(y), uint32(c), w)
			}
		}
	}
}

func (m *evaluation) merge(o *evaluation) {
	m.ofClasses = max(m.ofClasses, o.ofClasses)
	m.matrix.Merge(&o.matrix)
	m.loss.Merge(&o.loss)
	m.rank.Merge(&o.rank)
	m.reg.Merge(&o.reg)
}

// Encode implements family.Message.
func (m *evaluation) Encode(e *canon.E) {
	e.Bool(m.classes)
	e.Int(m.ofClasses)
	for _, s := range m.states() {
		e.Bytes(s.Append(nil))
	}
}

func decodeEvaluation(d *canon.D) *evaluation {
	m := &evaluation{classes: d.Bool(), ofClasses: d.Int()}
	for _, s := range m.states() {
		if !s.Decode(d.Bytes()) {
			d.Fail()
		}
	}
	return m
}

// weight returns the weight of the rows that were measured.
func (m *evaluation) weight() float64 {
	if m.classes {
		return m.matrix.Scores(cmp.Compare[uint32]).Rows
	}
	return m.reg.Weight()
}

// list returns the metrics in the order in which they are shown.
func (m *evaluation) list() (out []family.Metric) {
	if !m.classes {
		for _, name := range []string{"mean_absolute_error", "mean_squared_error", "root_mean_squared_error", "r2_score"} {
			out = append(out, family.Metric{Name: name, Value: m.reg.Metric(name)})
		}
		return out
	}
	s := m.matrix.Scores(cmp.Compare[uint32])
	of := s.Macro
	if m.ofClasses == 2 {
		of = s.Of[1] // the positive class, though it may be in no row
	}
	out = []family.Metric{{Name: "accuracy", Value: s.Accuracy}, {Name: "precision", Value: of[0]}, {Name: "recall", Value: of[1]}, {Name: "f1_score", Value: of[2]}, {Name: "log_loss", Value: m.loss.Mean()}}
	if auc, ok := m.rank.AUC(); ok {
		out = append(out, family.Metric{Name: "roc_auc", Value: auc})
	}
	return out
}

// evaluateTask evaluates a model, or the model of one of several targets.
type evaluateTask struct {
	target       int // which of several
	held         bool
	coarse       bool // rank by cuts
	cuts         []float64
	classWeights []float64
	unit         float64 // weights are measured in whole multiples of it
	predictor    family.Predictor
}

func (t *evaluateTask) kind() uint8 { return kindEvaluate }

// measured is the weight that a row counts with: without its class's, and such that sums are exact.
func (t *evaluateTask) measured(w float64, class int) float64 {
	if t.classWeights != nil {
		w /= t.classWeights[class]
	}
	return math.RoundToEven(w/t.unit) * t.unit
}

func (t *evaluateTask) Encode(e *canon.E) {
	e.Int(t.target)
	e.Bool(t.held)
	e.F64s(t.cuts)
	e.Bool(t.coarse)
	e.F64s(t.classWeights)
	e.F64(t.unit)
	t.predictor.Encode(e)
}

func (t *evaluateTask) decode(_ *Job, d *canon.D) family.Message {
	return decodeEvaluation(d)
}

func (t *evaluateTask) merge(_ *Job, left, right family.Message) (family.Message, error) {
	return merged(left, right, func(a, b *evaluation) { a.merge(b) })
}

// cutsTask collects scores that bound the bins of a coarse ranking.
type cutsTask struct{ *evaluateTask }

func (t *cutsTask) kind() uint8 { return kindCuts }

func (t *cutsTask) decode(_ *Job, d *canon.D) family.Message { return decodeCuts(d) }

func (t *cutsTask) merge(_ *Job, left, right family.Message) (family.Message, error) {
	return merged(left, right, func(a, b *cutsMessage) { a.Merge(&b.Cuts) })
}
