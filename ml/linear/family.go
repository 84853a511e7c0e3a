package linear

import (
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/objective"
)

// glm is a family of generalised linear models.
type glm struct {
	info     family.Info
	task     family.Task
	loss     lossOf
	scale    float64        // of reported losses
	strength *family.Option // scikit-learn's name for the strength of the penalty
	own      []*family.Option
	penalise func(v, ratio, weight float64) (l1, l2 float64) // converts it to penalties on the mean loss
	alpha    float64                                         // the strength where no penalty is given
	ratio    float64                                         // of L1 in it
	theory   theory                                          // of the weights' errors
	direct   bool                                            // the loss is squared
	scoring  bool                                            // Newton's method needs few steps
	bends    bool                                            // the loss has kinks, which are smoothed over a shrinking width
}

// Info implements family.Family.
func (g *glm) Info() family.Info {
	i := g.info
	i.Task, i.Sparse = g.task, "the linear models, such as logistic_regression"
	return i
}

// Plan implements family.Family.
func (g *glm) Plan(r *family.Request) (*family.Plan, error) {
	o := r.Options
	if err := g.checkPenalty(o); err != nil {
		return nil, err
	}
	if err := g.fit(o, o.Text("optimizer", "auto")); err != nil {
		return nil, err
	}
	// Without an intercept a constant column may be one.
	p := family.Plan{Scope: family.ByNode, Standardize: true, Categories: 1 << 13, Silence: o.Bool("fit_intercept", true), MaxIterations: o.Int("max_iterations", 100)}
	p.Sparse = !stochastic(o)
	l1, _ := g.penalty(o, 1)
	switch {
	case stochastic(o):
		p.Distributed, p.MaxIterations = true, o.Int("max_iterations", 20)
	case g.bends, g.direct && l1 > 0:
		p.MaxIterations = o.Int("max_iterations", 1000)
	}
	if err := family.PlanOffset(r, &p); err != nil {
		return nil, err
	}
	if g.task == family.Classification {
		return family.Classify(r, p)
	}
	return family.Regress(r, p)
}

// problem is what both driver and workers know of a training.
type problem struct {
	g       *glm
	f       *feature.Fitted
	o       *family.Values
	classes int
	dense   int
	oneHot  int
	per     int // parameters of an output with weights
	slopes  int // number of outputs with weights
	outputs int
	offset  int // the dense column of offsets, -1 for none
}

func (g *glm) problem(s *family.Setup) *problem {
	p := &problem{g: g, f: s.Fitted, o: s.Options, classes: s.Classes(), dense: s.Fitted.Dense, oneHot: s.Fitted.OneHot, per: s.Fitted.Params() + 1, offset: s.Offset()}
	obj := p.objective(1)
	p.outputs, p.slopes = obj.Outputs(), objective.Slopes(obj)
	return p
}

func (p *problem) objective(width float64) objective.Objective {
	return p.g.loss(p.o, p.classes, width)
}

// size returns the number of parameters.
func (p *problem) size() int { return p.slopes*p.per + p.outputs - p.slopes }

// column returns parameter i's position among those of its output. It avoids a
// division, which would take longer than everything else that is done with a parameter.
func (p *problem) column(i int) int {
	if i < p.per {
		return i
	}
	return i % p.per
}

// Decode implements family.Family.
func (g *glm) Decode(f *feature.Fitted, d *canon.D) (family.Predictor, error) {
	p := g.predictor(f, d.F64s())
	p.decodeRest(d)
	slopes := objective.Slopes(p.obj)
	if g.task == family.Classification && len(f.Keys) < 2 || len(p.theta) != slopes*(f.Params()+1)+p.obj.Outputs()-slopes ||
		p.offset >= f.Dense || len(p.errors) != 0 && len(p.errors) != f.Params()+1 {
		d.Fail()
	}
	return p, nil
}
