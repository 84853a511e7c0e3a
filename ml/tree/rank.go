package tree

import (
	"cmp"
	"math"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/exec/metric"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/objective"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// LambdaRank ("From RankNet to LambdaRank to LambdaMART", Burges, 2010), as LightGBM has it: each pair of rows of a
// query whose relevance differs pushes the two apart, by how much it would change the query's NDCG to swap them.
// A block has all rows of a query (block.Block.Groups), so that a row's gradient is the same wherever the query
// is. Rows of the same score are in the order of the hashes of their contents, of which labels are a part.

const (
	truncationOption = "lambdarank_truncation_level"
	normOption       = "lambdarank_norm"
	placesOption     = "eval_at"

	lambdarank = "lambdarank"
	// mostRanked is the most rows of a query: each is compared with as many as truncation says, at least.
	mostRanked = 100000
)

var rankOptions = []*family.Option{
	family.QueryID,
	{Names: []string{truncationOption, "lambdarank_num_pair_per_sample"}, Type: "integer", Default: "30",
		Doc: "Of each pair of rows that `objective = 'lambdarank'` compares one is among this many of a query's first.", Read: family.Integer(1, mostRanked)},
	{Names: []string{normOption, "lambdarank_normalization"}, Type: "boolean", Default: "true",
		Doc: "Divide the gradients of `objective = 'lambdarank'` so that queries of many rows count about as much as others.", Read: family.Boolean},
	{Names: []string{placesOption, "ndcg_eval_at"}, Type: "integer", Default: "10",
		Doc: "How many places of each query NDCG measures.", Read: family.Integer(1, mostRanked)},
}

// ranking is the loss of rows that are ranked in their queries.
type ranking struct {
	objective.Squared // for what every loss has; its gradients are not used
	truncation        int
	norm              bool
	places            int
}

// Name implements objective.Objective.
func (*ranking) Name() string { return lambdarank }

func newRanking(o *family.Values) *ranking {
	return &ranking{truncation: o.Int(truncationOption, 30), norm: o.Bool(normOption, true), places: o.Int(placesOption, 10)}
}

// bound bounds gradients and curvatures. Without the norm a pair's is at most 1, since its NDCG changes by that at
// most. With it all of a query's sum to log2(1+S), where S is at most 100 for each pair.
func (r *ranking) bound() float64 {
	if r.norm {
		return 64
	}
	return mostRanked
}

// rankedRow is a row of a query, in the order of scores.
type rankedRow struct {
	score float64
	hash  uint64
	row   int32
	label uint8
}

// ranks is scratch space for the queries of a block.
type ranks struct {
	rows      []rankedRow
	judged    []metric.Judged
	labels    []uint8
	discounts []float64 // by place
}

// ranksBytes bounds the scratch space of a query of so many rows.
func ranksBytes(rows int) int64 { return int64(rows) * 2 * (24 + 16 + 1 + 8) }

// query puts the rows [from, to) of a block into the order of their scores.
func (s *ranks) query(k *rows, b *block.Block, from, to int) error {
	if to-from > mostRanked {
		return pgerr.New(pgerr.ProgramLimitExceeded, "a query of the training has %d rows", to-from).
			WithDetail("Rows of a query are compared with each other: at most %d of one are.", mostRanked).WithHint("Keep its most relevant rows, and a sample of the others.")
	}
	s.rows, s.judged = s.rows[:0], s.judged[:0]
	for i := from; i < to; i++ {
		label, ok := metric.Relevance(b.Y[i])
		if !ok {
			return pgerr.New(pgerr.InvalidParameterValue, "objective lambdarank cannot learn the label %v", b.Y[i]).
				WithHint("Labels are degrees of relevance: whole numbers from 0, not relevant, to %d.", metric.MostRelevant)
		}
		s.rows = append(s.rows, rankedRow{k.margins[i], k.hash[i], int32(i), label})
	}
	slices.SortFunc(s.rows, func(a, b rankedRow) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.hash, b.hash), cmp.Compare(a.row, b.row))
	})
	for _, r := range s.rows {
		s.judged = append(s.judged, metric.Judged{Score: r.score, Label: r.label})
	}
	for n := len(s.discounts); n < len(s.rows); n++ {
		s.discounts = append(s.discounts, metric.Discount(n))
	}
	return nil
}

// lambdas adds the gradients and curvatures of the query's rows to those of the block's.
func (s *ranks) lambdas(r *ranking, g, h []float64) {
	best, n := 0.0, len(s.rows)
	s.labels = s.labels[:0]
	for _, q := range s.rows {
		s.labels = append(s.labels, q.label)
	}
	slices.Sort(s.labels)
	for i := range min(n, r.truncation) {
		best += float64(metric.Gain(s.labels[n-1-i]) * s.discounts[i])
	}
	if best == 0 {
		return
	}
	norm := r.norm && s.rows[0].score != s.rows[n-1].score
	sum := 0.0
	for i := range min(n-1, r.truncation) {
		a := &s.rows[i]
		for j := i + 1; j < n; j++ {
			b := &s.rows[j]
			if a.label == b.label {
				continue
			}
			high, low := a, b
			if a.label < b.label {
				high, low = b, a
			}
			apart := high.score - low.score
			change := (metric.Gain(high.label) - metric.Gain(low.label)) * (s.discounts[i] - s.discounts[j]) / best
			if norm {
				change /= 0.01 + math.Abs(apart)
			}
			p := 1 / (1 + f64.Exp1(min(apart, 700)))
			push, curve := float64(p*change), float64(p*(1-p)*change)
			g[high.row] -= push
			g[low.row] += push
			h[high.row] += curve
			h[low.row] += curve
			sum += 2 * push
		}
	}
	if r.norm && sum > 0 {
		by := f64.Log1(1+sum) / math.Ln2 / sum
		for _, q := range s.rows {
			g[q.row] *= by
			h[q.row] *= by
		}
	}
}

// queryUnits is the unit of a query's weight in losses: it is the mean of its rows'.
const queryUnits = 256

// rank adds the losses of a block's queries to out, if not nil, and writes its rows' gradients to k.lambda where
// learn says so.
func (p *pass) rank(k *rows, b *block.Block, r *round, out *grown, learn bool) error {
	loss := p.w.p.rank
	if b.Groups == nil && k.n > 0 {
		return pgerr.Internal("rows to be ranked came without their queries")
	}
	if learn {
		if k.lambda == nil {
			var err error
			if k.lambda, err = space[float64](p.w, 2*k.n); err != nil {
				return err
			}
		}
		clear(k.lambda)
	}
	set := 0
	if k.held {
		set = 1
	}
	ls := lossSum{scale: 1 / p.w.p.unit(r.Spread)}
	ap := lossSum{scale: 1}
	for q := range b.Groups {
		from, to := b.Group(q)
		if err := p.ranks.query(k, b, from, to); err != nil {
			return err
		}
		if learn {
			p.ranks.lambdas(loss, k.lambda[:k.n], k.lambda[k.n:])
		}
		if out == nil {
			continue
		}
		units := int64(0)
		for _, w := range b.W[from:to] {
			units += p.w.g.units(w)
		}
		weight := int64(math.RoundToEven(float64(units*queryUnits) / float64(to-from)))
		ls.add(1-metric.NDCG(p.ranks.judged, loss.places), weight)
		ap.add(metric.AveragePrecision(p.ranks.judged), weight)
	}
	if out != nil {
		out.Loss[set].plus(ls.sum)
		out.Weight[set] += ls.weight
		out.Precision[set].plus(ap.sum)
	}
	return nil
}

// precise is the mean average precision of queries of so much weight.
func precise(s sum, weight int64) float64 {
	if weight == 0 {
		return family.NoLoss()
	}
	return s.float() / lossUnits / float64(weight)
}

// measured are the metrics of ranks: of the rows held out, if there are any.
func (d *driver) measured() []family.Metric {
	if d.p.rank == nil {
		return nil
	}
	loss := d.state.TrainLoss
	if d.p.held {
		loss = d.state.ValidationLoss
	}
	return []family.Metric{{Name: "ndcg", Value: 1 - loss}, {Name: "map", Value: d.precision}}
}
