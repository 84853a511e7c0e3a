package train

import (
	"context"
	"slices"
	"strings"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// A class's weight multiplies the weights of its rows. With one target, blocks store
// the products. With several, each learnt as if it were alone, a row's weight differs
// by target: blocks store the rows' own weights, which are multiplied when a block is
// opened for a target.

// classWeights returns the weights of the classes of one target, nil for none; f has
// the encoders for that target. part: see Input.
func (j *Job) classWeights(f *feature.Fitted, st *feature.Stats, target int, part bool) ([]float64, error) {
	if j.planOf(target).Target != family.ClassTarget {
		return nil, nil
	}
	cats := &st.Cols[j.column(f.Label.Name)]
	if j.Options.Given(family.PositiveWeight) {
		if len(f.Keys) != 2 {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "option %q needs two classes, and column %q has %d", family.PositiveWeight, f.Label.Name, len(f.Keys)).
				At(j.Options.Pos(family.PositiveWeight)).WithHint("Use class_weights.")
		}
		return []float64{1, j.Options.Float(family.PositiveWeight, 1)}, nil
	}
	if j.Options.Bool("class_weights", false) {
		return balancedWeights(f, cats), nil
	}
	named := namedClasses(j, f)
	if slices.ContainsFunc(named, func(w family.ClassWeight) bool { return w.Balanced }) {
		return balancedWeights(f, cats), nil
	}
	return namedWeights(f, named, j.Options.Pos("class_weights"), part)
}

// namedClasses are the weights that the statement sets for classes of a target.
func namedClasses(j *Job, f *feature.Fitted) (named []family.ClassWeight) {
	for _, w := range j.Options.ClassWeights() {
		if w.Target == "" || strings.EqualFold(w.Target, f.Label.Name) {
			named = append(named, w)
		}
	}
	return named
}

// CheckClasses returns an error where an option names a class that no group has; f has those of all.
func (j *Job) CheckClasses(f *feature.Fitted) error {
	if _, err := costsOf(j, f, false); err != nil {
		return err
	}
	for k := range max(len(j.targets), 1) {
		of := f
		if j.targets != nil {
			of = f.ForTarget(k)
		}
		named := namedClasses(j, of)
		if j.planOf(k).Target != family.ClassTarget || slices.ContainsFunc(named, func(w family.ClassWeight) bool { return w.Balanced }) {
			continue
		}
		if _, err := namedWeights(of, named, j.Options.Pos("class_weights"), false); err != nil {
			return err
		}
	}
	return nil
}

// balancedWeights returns the weights that make all classes count the same, as
// scikit-learn's class_weight='balanced': W / (classes · W of the class), where W is
// the weight of training rows. A class without any has weight 1.
func balancedWeights(f *feature.Fitted, st *feature.ColStats) []float64 {
	count := make(map[string]float64, len(st.Cats))
	var rows float64
	for _, c := range st.Cats {
		count[c.Key] = c.W.Value()
		rows += count[c.Key]
	}
	w := make([]float64, len(f.Keys))
	for i, k := range f.Keys {
		w[i] = 1
		if n := count[k]; n > 0 {
			w[i] = rows / (float64(len(f.Keys)) * n)
		}
	}
	return w
}

// namedWeights returns the weights that the statement sets by class, nil for none. A
// class that it does not name has weight 1, and part of the rows need not have all that it names.
func namedWeights(f *feature.Fitted, named []family.ClassWeight, pos int, part bool) ([]float64, error) {
	if named == nil {
		return nil, nil
	}
	classes := make([]string, len(f.Keys))
	w := make([]float64, len(f.Keys))
	for i, k := range f.Keys {
		classes[i], w[i] = feature.KeyText(f.Label.Type, k), 1
	}
	for _, n := range named {
		at := slices.Index(classes, n.Class)
		switch {
		case at < 0 && part:
			continue
		case at < 0:
			return nil, pgerr.New(pgerr.InvalidParameterValue, "class_weights names %q, which is no class of column %q", n.Class, f.Label.Name).
				WithDetail("The classes are %s.", strings.Join(classes[:min(len(classes), 20)], ", ")).At(pos)
		}
		w[at] = n.Weight
	}
	return w, nil
}

// targetWeights are the weights of classes of several targets.
type targetWeights struct {
	Class [][]float64 // by target; nil where its rows keep their own weights
	Sums  []float64   // of the rows to train on, likewise multiplied
}

// targetWeights returns the class weights of several targets; nil where there are none.
func (r *runner) targetWeights(ctx context.Context) (*targetWeights, error) {
	if r.job.targets == nil || !r.job.Options.HasClassWeights() {
		return nil, nil
	}
	w := &targetWeights{}
	for k := range r.job.targets {
		one, err := r.job.classWeights(r.learns.ForTarget(k), r.stats, k, r.in.Part)
		if err != nil {
			return nil, err
		}
		w.Class = append(w.Class, one)
	}
	sums, err := reduceTo[weightSums](ctx, r.red, &weightTask{w.Class})
	for i := range sums {
		w.Sums = append(w.Sums, sums[i].Value())
	}
	return w, err
}

// encode appends what decodeTargetWeights reads; w may be nil.
func (w *targetWeights) encode(e *canon.E) {
	e.Bool(w != nil)
	if w != nil {
		canon.Put(e, w)
	}
}

func decodeTargetWeights(j *Job, d *canon.D) *targetWeights {
	if !d.Bool() {
		return nil
	}
	w := canon.Get[targetWeights](d)
	if len(w.Class) != len(j.targets) || len(w.Sums) != len(w.Class) {
		d.Fail()
	}
	return w
}

// forTarget returns a block with the labels and weights of one of several targets, and a
// function that releases its memory.
func (t *targetWeights) forTarget(b *block.Block, target int, blocks *block.Blocks) (*block.Block, func(), error) {
	b, free := forTarget(b, target), func() {}
	if t == nil || t.Class[target] == nil {
		return b, free, nil
	}
	n := 8 * int64(len(b.W))
	if err := blocks.Reserve(n); err != nil {
		return nil, nil, err
	}
	c := *b
	c.W = make([]float64, len(b.W))
	for i, x := range b.W[:b.Rows] {
		c.W[i] = float64(x * t.Class[target][int(b.Y[i])])
	}
	return &c, func() { blocks.Unreserve(n) }, nil
}

// weightTask computes the total weight of the rows to train on, by target.
type weightTask struct{ Class [][]float64 }

func (t *weightTask) kind() uint8 { return kindWeight }

func (t *weightTask) Encode(e *canon.E) { canon.Put(e, t) }

func decodeWeight(j *Job, d *canon.D) *weightTask {
	t := canon.Get[weightTask](d)
	if len(t.Class) != len(j.targets) {
		d.Fail()
	}
	return t
}

func (t *weightTask) decode(_ *Job, d *canon.D) family.Message {
	s := make(weightSums, len(t.Class))
	for i := range s {
		if b := d.Take(exact.Bytes); b != nil {
			s[i].Decode(b)
		}
	}
	return s
}

func (t *weightTask) merge(_ *Job, left, right family.Message) (family.Message, error) {
	return merged(left, right, func(a, b weightSums) {
		for i := range a {
			a[i].Merge(&b[i])
		}
	})
}

// weightSums are the total weights, by target.
type weightSums []exact.Sum

// Encode implements family.Message.
func (s weightSums) Encode(e *canon.E) {
	for i := range s {
		e.B = s[i].Append(e.B)
	}
}

// begin implements body.
func (t *weightTask) begin(w *Worker, p *Part) error {
	return p.do(w.rows.OverLeaves(func(ctx context.Context, leaf int) (family.Message, error) {
		sums := make(weightSums, len(t.Class))
		b, release, err := w.blocks.Open(blockOf(family.Rows{Leaf: leaf}))
		if err != nil || b == nil {
			return sums, err
		}
		defer release()
		for k := range sums {
			one := forTarget(b, k)
			for i, x := range one.W[:one.Rows] {
				if c := t.Class[k]; c != nil {
					x = float64(x * c[int(one.Y[i])])
				}
				sums[k].Add(x)
			}
		}
		return sums, ctx.Err()
	}), nil)
}
