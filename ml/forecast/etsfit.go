package forecast

import (
	"math"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/optim"
)

// Bounds of the parameters: those that statisticians call usual.
const (
	leastShare = 1e-4
	mostShare  = 0.9999
	leastPhi   = 0.8
	mostPhi    = 0.98
)

// free are the numbers that are sought, of a form: what they are of states.
//
//	α = σ(a) within its bounds, β = α·σ(b), γ = (1−α)·σ(g), φ = σ(p) within its bounds
//	level, trend and all seasonal states but the last, in units of the series' errors
//
// The last seasonal state is what makes their sum 0, or their mean 1.
type free struct {
	*smoother
	first states  // from which the search begins
	unit  float64 // of the level, and of seasonal states
}

// sigmoid returns lo + (hi-lo)·σ(z) and its derivative.
func sigmoid(z, lo, hi float64) (v, d float64) {
	s := f64.Sigmoid1(z)
	return lo + float64((hi-lo)*s), float64(float64((hi-lo)*s) * (1 - s))
}

// logit is the inverse of sigmoid.
func logit(v, lo, hi float64) float64 {
	s := (v - lo) / (hi - lo)
	s = min(max(s, 1e-3), 1-1e-3)
	return f64.Log1(s / (1 - s))
}

// theta returns the numbers of the first states.
func (f *free) theta() (out []float64) {
	x := &f.first
	out = append(out, logit(x.Alpha, leastShare, mostShare))
	if f.trend1() {
		out = append(out, logit(x.Beta/x.Alpha, leastShare, mostShare))
	}
	if f.form.trend == 'D' {
		out = append(out, logit(x.Phi, leastPhi, mostPhi))
	}
	if f.form.season != 'N' {
		out = append(out, logit(x.Gamma/(1-x.Alpha), leastShare, mostShare))
	}
	states := 1
	if f.trend1() {
		states++
	}
	if f.form.season != 'N' {
		states += f.m - 1
	}
	return append(out, make([]float64, states)...)
}

// of returns the states of numbers, and the derivatives of the parameters.
func (f *free) of(theta []float64) (x states, da, db, dp, dg float64) {
	next := func() float64 {
		v := theta[0]
		theta = theta[1:]
		return v
	}
	x.Phi = 1
	x.Alpha, da = sigmoid(next(), leastShare, mostShare)
	if f.trend1() {
		var share float64
		share, db = sigmoid(next(), leastShare, mostShare)
		x.Beta = float64(x.Alpha * share)
	}
	if f.form.trend == 'D' {
		x.Phi, dp = sigmoid(next(), leastPhi, mostPhi)
	}
	if f.form.season != 'N' {
		var share float64
		share, dg = sigmoid(next(), leastShare, mostShare)
		x.Gamma = float64((1 - x.Alpha) * share)
	}
	x.Level = f.first.Level + float64(f.unit*next())
	if f.trend1() {
		x.Trend = f.first.Trend + float64(float64(f.unit*trendUnit)*next())
	}
	x.Season = slices.Clone(f.first.Season)
	if f.form.season != 'N' {
		sum := 0.0
		for j := range f.m - 1 {
			x.Season[j] += float64(f.unit * next())
			sum += x.Season[j]
		}
		x.Season[f.m-1] = -sum
		if f.form.season == 'M' {
			x.Season[f.m-1] = float64(f.m) - sum
		}
	}
	return x, da, db, dp, dg
}

// trendUnit is the unit of a trend beside that of the level.
const trendUnit = 0.1

// evaluate returns the deviance at numbers, and the derivatives by them.
func (f *free) evaluate(theta []float64) *optim.Eval {
	x, da, db, dp, dg := f.of(theta)
	first := x
	first.Season = slices.Clone(x.Season)
	deviance, squares, ok := f.run(&x)
	e := &optim.Eval{Loss: math.Inf(1), Grad: make([]float64, len(theta))}
	if !ok {
		return e
	}
	d := f.back(&first, squares)
	e.Loss = deviance
	g := e.Grad[:0]
	// β and γ follow α.
	a := d.Alpha
	if f.trend1() {
		a += float64(d.Beta * (first.Beta / first.Alpha))
	}
	if f.form.season != 'N' {
		a -= float64(d.Gamma * (first.Gamma / (1 - first.Alpha)))
	}
	g = append(g, float64(a*da))
	if f.trend1() {
		g = append(g, float64(float64(d.Beta*first.Alpha)*db))
	}
	if f.form.trend == 'D' {
		g = append(g, float64(d.Phi*dp))
	}
	if f.form.season != 'N' {
		g = append(g, float64(float64(d.Gamma*(1-first.Alpha))*dg))
	}
	g = append(g, float64(d.Level*f.unit))
	if f.trend1() {
		g = append(g, float64(d.Trend*float64(f.unit*trendUnit)))
	}
	if f.form.season != 'N' {
		for j := range f.m - 1 {
			g = append(g, float64((d.Season[j]-d.Season[f.m-1])*f.unit))
		}
	}
	return e
}

// The end of a search: when the deviance, which is about twice the number of steps, hardly changes.
const (
	searchSteps = 200
	searchTo    = 1e-3
)

// fitted is a form fitted to a series.
type fitted struct {
	Form     string
	First    states
	Deviance float64
	Squares  float64 // of the errors, relative ones where the form has such
	AICc     float64
}

// Shares that a search begins with: of β and of γ. The likelihood often has a minimum with a season or a trend that hardly
// changes, and another one where it follows the series at once.
var firstShares = []float64{0.02, 0.9}

// best fits the form: the best of searches that begin in several places.
func (f *free) best() (*fitted, bool) {
	var found optim.State
	begun, shares := f.first, firstShares
	if f.form.trend == 'N' && f.form.season == 'N' {
		shares = firstShares[:1] // there is only α
	}
	for _, share := range shares {
		f.first = begun
		if st, ok := f.search(share); ok && (found.Theta == nil || st.Loss < found.Loss) {
			found = st
		}
	}
	if found.Theta == nil {
		return nil, false
	}
	x, _, _, _, _ := f.of(found.Theta)
	out := &fitted{Form: f.form.String(), First: x}
	last := x
	last.Season = slices.Clone(x.Season)
	var ok bool
	if out.Deviance, out.Squares, ok = f.run(&last); !ok {
		return nil, false
	}
	n, k := float64(len(f.y)), float64(f.parameters())
	if n-k-1 <= 0 {
		return nil, false
	}
	out.AICc = out.Deviance + 2*k + 2*k*(k+1)/(n-k-1)
	return out, true
}

// parameters counts what is estimated: with the variance.
func (f *free) parameters() int { return len(f.theta()) + 1 }

// search finds a minimum near the best of a few values of α, with this share.
func (f *free) search(share float64) (optim.State, bool) {
	if !f.begin(share) {
		return optim.State{}, false
	}
	o := optim.NewLBFGS(f.theta(), optim.Stop{Tolerance: searchTo, From: 1, MaxIter: searchSteps}, nil)
	for {
		done, err := o.Tell(f.evaluate(o.Next().Theta))
		if err != nil || done {
			return o.State(), err == nil
		}
	}
}

// begin chooses α where the search begins; ok is false where the form has no mean with any.
func (f *free) begin(share float64) (ok bool) {
	best, at := math.Inf(1), f.first
	for _, alpha := range []float64{0.03, 0.15, 0.4, 0.9} {
		if alpha > 0.5 && share > 0.5 && f.form.season != 'N' { // what the level takes the season cannot
			continue
		}
		x := f.first
		x.Alpha, x.Phi, x.Beta, x.Gamma = alpha, 1, 0, 0
		if f.trend1() {
			x.Beta = float64(alpha * share)
		}
		if f.form.trend == 'D' {
			x.Phi = 0.97
		}
		if f.form.season != 'N' {
			x.Gamma = float64((1 - alpha) * share)
		}
		run := x
		run.Season = slices.Clone(x.Season)
		if dev, _, fits := f.run(&run); fits && dev < best {
			best, at, ok = dev, x, true
		}
	}
	f.first = at
	return ok
}
