package tree

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/family"
)

// DART ("Dropouts meet multiple additive regression trees", Rashmi and Gilad-Bachrach, 2015): some of the trees so
// far are left out while a round's are grown, which then share with them what they all predict.
//
// Scores are sums from which trees are taken back. Leaves' values are multiples of a power of two
// (driver.grid) of which all sums are exact, so that scores have the same bits whether trees were
// added once, or taken back and added again, or summed anew by a worker that lost its state.

const (
	boosterOption   = "booster_type"
	dropOption      = "drop_rate"
	skipOption      = "skip_drop"
	mostDropOption  = "max_drop"
	uniformOption   = "uniform_drop"
	normalizeOption = "dart_normalize_type"
)

var dartOptions = []*family.Option{
	{Names: []string{boosterOption, "booster", "boosting", "boosting_type"}, Type: "text", Default: "`gbtree`",
		Doc: "`gbtree`, or `dart`, which leaves out some of the trees while it grows others. There are no linear boosters.", Read: family.Word("gbtree|gbdt", "dart")},
	{Names: []string{dropOption, "rate_drop"}, Type: "number", Default: "0.1", Doc: "The share of trees that each round of `dart` leaves out.", Read: family.Interval("[0, 1]")},
	{Names: []string{skipOption}, Type: "number", Default: "0.5", Doc: "The probability that a round of `dart` leaves out none.", Read: family.Interval("[0, 1]")},
	{Names: []string{mostDropOption}, Type: "integer", Default: "50", Doc: "The most rounds whose trees a round of `dart` leaves out, 0 for no limit.", Read: family.Integer(0, 100000)},
	{Names: []string{uniformOption}, Type: "boolean", Default: "false", Doc: "Whether `dart` leaves out all trees equally often; else those more often that count more.", Read: family.Boolean},
	{Names: []string{normalizeOption, "normalize_type"}, Type: "text", Default: "`lightgbm`",
		Doc: "What `dart` multiplies by, where k trees were left out: `lightgbm` the new tree by 1/(k+1) and those by k/(k+1); `tree` by 1/(k+learn_rate) and k/(k+learn_rate), as in XGBoost; `forest` all by 1/(1+learn_rate).", Read: family.Word("lightgbm", "tree", "forest")},
}

// dart are the options of dart; nil without it.
type dart struct {
	rate, skip float64
	most       int
	uniform    bool
	normalize  string
}

func newDart(o *family.Values) *dart {
	if o.Text(boosterOption, "") != "dart" {
		return nil
	}
	return &dart{rate: o.Float(dropOption, 0.1), skip: o.Float(skipOption, 0.5), most: o.Int(mostDropOption, 50),
		uniform: o.Bool(uniformOption, false), normalize: o.Text(normalizeOption, "lightgbm")}
}

// planBooster checks the options of the booster.
func planBooster(o *family.Values) error {
	is := o.Text(boosterOption, "") == "dart"
	var list []family.Unfit
	for _, name := range []string{dropOption, skipOption, mostDropOption, uniformOption, normalizeOption} {
		list = append(list, family.Unfit{Option: name, Why: "It is for booster_type dart.", If: !is})
	}
	return o.Fit(append(list,
		family.Unfit{Option: "early_stopping_rounds", Why: "Later rounds of dart change the trees of the best one.", If: is},
		family.Unfit{Option: family.WarmStart.Names[0], Why: "Its rounds would change the trees of the model that it goes on from.", If: is},
		family.Unfit{Option: family.Offset.Names[0], Why: "Scores of dart are exact sums, which offsets are not.", If: is})...)
}

// drops returns the rounds whose trees a round leaves out, ascending. weights are by round what its trees
// are multiplied by.
func (t *dart) drops(seed uint64, round int, weights []float64) (out []int) {
	seed = mix(seed ^ mix(uint64(round)+0xda27))
	draw := func(k int) float64 { return float64(mix(seed^mix(uint64(k)+1))>>11) * 0x1p-53 }
	if round == 0 || draw(0) < t.skip {
		return nil
	}
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	mean, rate := sum/float64(round), t.rate
	if t.most > 0 {
		rate = min(rate, float64(t.most)/float64(round))
	}
	for i, w := range weights {
		p := rate
		if !t.uniform && mean > 0 {
			p = float64(rate * w / mean)
		}
		if draw(i+1) < p {
			if out = append(out, i); len(out) == t.most {
				break
			}
		}
	}
	return out
}

// shares returns what a round's trees and those of the k rounds left out are multiplied by.
func (t *dart) shares(k int, rate float64) (grown, dropped float64) {
	n := float64(k)
	switch {
	case k == 0:
		return 1, 1
	case t.normalize == "tree":
		return 1 / (n + rate), n / (n + rate)
	case t.normalize == "forest":
		return 1 / (1 + rate), 1 / (1 + rate)
	}
	return 1 / (n + 1), n / (n + 1)
}

// grid is the unit of leaves' values and of the scores to begin with: 2^53 of them are far more than any score.
func (d *driver) grid() float64 {
	if d.p.classes > 0 || d.p.log || d.p.rank != nil {
		return 0x1p-40 // of margins
	}
	most := d.spread
	for _, v := range d.base {
		most = max(most, math.Abs(v))
	}
	return math.Ldexp(1, exponent(most)-46)
}

// onGrid rounds v to a multiple of the unit.
func onGrid(v, unit float64) float64 { return math.RoundToEven(v/unit) * unit }

// leaveOut chooses the trees that the next round leaves out. The bound of gradients grows by what they predict.
func (d *driver) leaveOut() (bound float64) {
	d.left, bound = nil, d.bound
	if d.p.dart == nil || d.finished {
		return bound
	}
	if len(d.trees) == 0 {
		for k := range d.base {
			d.base[k] = onGrid(d.base[k], d.grid())
		}
	}
	d.left = d.p.dart.drops(d.p.seed, len(d.trees)/d.p.outputs, d.weights)
	by := 0.0
	for _, i := range d.left {
		most := 0.0
		for _, t := range d.trees[i*d.p.outputs:][:d.p.outputs] {
			most = max(most, t.greatest())
		}
		by += most
	}
	switch {
	case d.p.square:
		bound += by
	case d.p.follows():
		bound = float64(bound * f64.Exp1(min(by, 700)))
	}
	return bound
}

// taken are the trees left out, with the values that take them from the scores.
func (d *driver) taken() (out []tree) {
	for _, i := range d.left {
		for _, t := range d.trees[i*d.p.outputs:][:d.p.outputs] {
			out = append(out, t.times(-1))
		}
	}
	return out
}

// normalized multiplies the trees that were left out by their new share, and notes the changes for the scores. It
// returns the greatest change of a score.
func (d *driver) normalized(share float64) (most float64) {
	d.changes = nil
	unit := d.grid()
	for _, i := range d.left {
		d.weights[i] *= share
		greatest := 0.0
		for k := range d.p.outputs {
			t := &d.trees[i*d.p.outputs+k]
			now := t.times(1)
			change := t.times(-1)
			for j, v := range t.values {
				now.values[j] = onGrid(float64(v*share), unit)
				change.values[j] += now.values[j]
			}
			*t = now
			d.changes = append(d.changes, change)
			greatest = max(greatest, change.greatest())
		}
		most += greatest
	}
	d.left = nil
	return most
}

// shared are the values of a round's leaves multiplied by their share.
func (d *driver) shared(values func(t *grower) func(i int32) []float64, share float64) func(t *grower) func(i int32) []float64 {
	unit := d.grid()
	return func(t *grower) func(i int32) []float64 {
		of := values(t)
		return func(i int32) []float64 {
			v := of(i)
			return []float64{onGrid(float64(v[0]*share), unit)}
		}
	}
}

// times is the tree with values multiplied.
func (t *tree) times(by float64) tree {
	out := tree{nodes: t.nodes, values: make([]float64, len(t.values))}
	for i, v := range t.values {
		out.values[i] = v * by
	}
	return out
}

// greatest is the greatest magnitude of a value.
func (t *tree) greatest() (most float64) {
	for _, v := range t.values {
		most = max(most, math.Abs(v))
	}
	return most
}

// without has k.margins be the scores without some trees, which have negative values.
func (w *worker) without(k *rows, trees []tree) (err error) {
	k.margins = k.scores
	if len(trees) == 0 {
		return nil
	}
	if k.left == nil {
		if k.left, err = space[float64](w, len(k.scores)); err != nil {
			return err
		}
	}
	copy(k.left, k.scores)
	w.addAll(k, trees, k.left)
	k.margins = k.left
	return nil
}

// addAll adds trees, output by output of each round, to scores of all rows.
func (w *worker) addAll(k *rows, trees []tree, scores []float64) {
	for i := range trees {
		newHops(w.g.bins, &trees[i], k.n).all(k, scores[i%w.p.outputs*k.n:][:k.n])
	}
}
