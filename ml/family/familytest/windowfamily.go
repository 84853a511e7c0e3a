package familytest

import (
	"context"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/optim"
)

// Fading is a family of windows for tests: it predicts a multiple of h, the sum
// of a window's values of the first feature, each half as heavy as the next.
type Fading struct{}

// Info implements family.Family.
func (Fading) Info() family.Info { return family.Info{Name: "fading"} }

// Options implements family.Family.
func (Fading) Options() []*family.Option { return family.WindowOptions() }

// Plan implements family.Family.
func (Fading) Plan(r *family.Request) (*family.Plan, error) {
	w, err := r.Windows()
	if err != nil {
		return nil, err
	}
	return family.Regress(r, family.Plan{Windows: w})
}

// Its steps: three mini-batches of an epoch and one of what is held out, if
// anything is.
type fadingDriver struct {
	n, steps int
	sum      FadingSum
}

// FadingSum is what Fading learns: how many windows there are, and sums of h times
// the target and of h squared.
type FadingSum struct {
	Windows, Held int
	HY, HH        float64
}

// Encode implements family.Message.
func (s *FadingSum) Encode(e *canon.E) { e.Int(s.Windows); e.Int(s.Held); e.F64(s.HY); e.F64(s.HH) }

func decodeFading(d *canon.D) FadingSum {
	return FadingSum{d.Int(), d.Int(), d.F64(), d.F64()}
}

// NewDriver implements family.Family.
func (Fading) NewDriver(s *family.Setup, _ *family.Node) (family.Driver, error) {
	if s.Held > 0 {
		return &fadingDriver{steps: 4}, nil
	}
	return &fadingDriver{steps: 3}, nil
}

func (d *fadingDriver) Next() *family.Step {
	if d.n == 3 {
		return &family.Step{Set: family.Held}
	}
	return &family.Step{Set: family.Train, Batch: &optim.MiniBatch{Step: d.n, Steps: 3}}
}
func (d *fadingDriver) Tell(m family.Message) error {
	s := m.(*FadingSum)
	d.sum = FadingSum{d.sum.Windows + s.Windows, d.sum.Held + s.Held, d.sum.HY + s.HY, d.sum.HH + s.HH}
	d.n++
	return nil
}
func (d *fadingDriver) State() family.State {
	return family.State{Iteration: d.n, Done: d.n == d.steps, TrainLoss: family.NoLoss(), ValidationLoss: family.NoLoss()}
}
func (d *fadingDriver) Predictor() (family.Predictor, error) { return &FadingModel{d.sum}, nil }
func (d *fadingDriver) Encode(e *canon.E) error {
	e.Int(d.n)
	d.sum.Encode(e)
	return nil
}
func (d *fadingDriver) UnmarshalBinary(b []byte) error {
	r := canon.Read(b)
	d.n, d.sum = r.Int(), decodeFading(r)
	return r.Done("a test")
}

type fadingWorker struct{}

type fadingPass struct{ sum FadingSum }

// NewWorker implements family.Family.
func (Fading) NewWorker(*family.Setup, *family.Node) (family.Worker, error) {
	return fadingWorker{}, nil
}
func (fadingWorker) PassBytes(*family.Step) (int64, int64)     { return 64, 64 }
func (fadingWorker) Close()                                    {}
func (fadingWorker) NewPass(*family.Step) (family.Pass, error) { return &fadingPass{}, nil }
func (p *fadingPass) Add(_ context.Context, r family.Rows, b *block.Block) error {
	y, w := b.Targets()
	for k := r.From; k < r.To; k++ {
		if r.Held {
			p.sum.Held++
			continue
		}
		h := fade(b, k)
		p.sum.Windows++
		p.sum.HY += w[k] * h * y[k]
		p.sum.HH += w[k] * h * h
	}
	return nil
}
func (p *fadingPass) Partial() family.Message {
	s := p.sum
	p.sum = FadingSum{}
	return &s
}

func fade(b *block.Block, k int) (h float64) {
	for i := range b.Length {
		h = h/2 + b.Value(int(b.Windows[k])+i, 0)
	}
	return h
}

// DecodeStep implements family.Family.
func (Fading) DecodeStep(uint8, *canon.D) family.Message { return nil }

// DecodePartial implements family.Family.
func (Fading) DecodePartial(_ uint8, d *canon.D) family.Message {
	s := decodeFading(d)
	return &s
}

// Merge implements family.Family.
func (Fading) Merge(_ uint8, l, r family.Message) (family.Message, error) {
	a, b := l.(*FadingSum), r.(*FadingSum)
	return &FadingSum{a.Windows + b.Windows, a.Held + b.Held, a.HY + b.HY, a.HH + b.HH}, nil
}

// Decode implements family.Family.
func (Fading) Decode(_ *feature.Fitted, d *canon.D) (family.Predictor, error) {
	return &FadingModel{decodeFading(d)}, nil
}

// FadingModel is what it predicts by.
type FadingModel struct{ FadingSum }

// Bytes implements family.Predictor.
func (m *FadingModel) Bytes() int64 { return 64 }

// Score implements family.Predictor.
func (m *FadingModel) Score(b *block.Block) *family.Scores {
	s := &family.Scores{Rows: b.Units()}
	for k := range s.Rows {
		s.Value = append(s.Value, fade(b, k)*m.HY/m.HH)
	}
	return s
}
