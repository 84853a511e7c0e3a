package forecast

import (
	"math"
	"slices"
	"strings"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
)

const (
	modelOption = "model"
	anyForm     = "ZZZ"
)

// smoothing is exponential smoothing, of any form.
var smoothing = &method{
	info: family.Info{Name: "exponential_smoothing", Synonyms: []string{"ets", "auto_ets", "holt_winters"}, Task: family.Forecasting,
		Doc: "Level, trend and season that follow the series, as state space models of all usual forms; the form of least AICc, or the one that is named."},
	options: append(slices.Clip(shared), &family.Option{Names: []string{modelOption, "ets_model"}, Type: "text", Default: "`auto`",
		Doc: "The form: error (`A` added, `M` relative), trend (`N` none, `A` added, `Ad` added and damped) and season (`N`, `A`, `M` times), such as `'AAA'`, `'ANN'` or `'MAdM'`. `Z` stands for any of them, and `auto` is `'ZZZ'`.", Read: readForm}),
	begin: beginSmoothing,
}

// readForm reads the name of a form, in which Z stands for any part.
func readForm(v family.Value) (any, error) {
	name, ok := v.Value.(string)
	if name = strings.ToUpper(name); name == "AUTO" {
		name = anyForm
	}
	if !ok || len(matching(name)) == 0 {
		return nil, v.Bad("auto, or a form such as AAA, MAdM or ZZN; an added error goes with no season that multiplies")
	}
	return name, nil
}

// matching returns the forms of a name in upper case.
func matching(name string) (out []form) {
	for _, f := range forms {
		parts := f.String()
		own := []string{parts[:1], strings.ToUpper(parts[1 : len(parts)-1]), parts[len(parts)-1:]}
		rest, ok := name, true
		for _, p := range own {
			next, any := strings.CutPrefix(rest, "Z")
			if !any {
				if next, any = strings.CutPrefix(rest, p); !any {
					ok = false
					break
				}
			}
			rest = next
		}
		if ok && rest == "" {
			out = append(out, f)
		}
	}
	return out
}

// manySteps is how long a series is whose forms are fitted in a turn each.
const manySteps = 1 << 14

// smoothFit implements fit.
type smoothFit struct {
	*smoother
	period int
	scale  float64 // a power of two: the smoother's series is divided by it
	unit   float64
	forms  []form
	at     int     // of the next form
	best   *fitted // nil before the first
	made   *forecaster
}

// beginSmoothing is the method's begin.
func beginSmoothing(s *series, m int, o *family.Values) (fit, error) {
	name, n := o.Text(modelOption, anyForm), len(s.Y)
	f := &smoothFit{period: m, scale: scaleOf(s.Y)}
	above := true
	for _, v := range s.Y {
		above = above && v > 0
	}
	bad := func(hint, format string, args ...any) error {
		return pgerr.New(pgerr.InvalidParameterValue, format, args...).WithHint("%s", hint)
	}
	asked := matching(name)
	for _, x := range asked {
		multiplies, seasonal := x.relative || x.season == 'M', x.season != 'N'
		if (above || !multiplies) && (!seasonal || m > 1 && n >= 2*m) && n > (&free{smoother: (&smoother{}).of(x, m), first: states{Alpha: 0.5, Phi: 1, Season: make([]float64, m)}}).parameters()+1 {
			f.forms = append(f.forms, x)
		}
	}
	if len(f.forms) == 0 {
		switch first := asked[0]; {
		case first.season != 'N' && m == 1:
			return nil, bad("Give the option seasonal_periods.", "the form %s has a season, and it is not known how long one is", first)
		case !above && (first.relative || first.season == 'M'):
			return nil, bad("Use a form that adds, such as AAA.", "the form %s needs values above 0", first)
		}
		return nil, bad("Take more rows, a shorter season, or seasonal_naive.", "a series of %d steps is too short for exponential smoothing of the form %s", n, asked[0])
	}
	y := make([]float64, n)
	changes := 0.0
	for i, v := range s.Y {
		if y[i] = v / f.scale; i > 0 {
			changes += float64((y[i] - y[i-1]) * (y[i] - y[i-1]))
		}
	}
	if f.unit = math.Sqrt(changes / float64(n-1)); !(f.unit > 1e-6) {
		f.unit = 1e-6
	}
	f.smoother = newSmoother(y)
	return f, nil
}

// scaleOf returns a power of two about which a series is.
func scaleOf(y []float64) float64 {
	mean := 0.0
	for _, v := range y {
		mean += math.Abs(v) / float64(len(y))
	}
	if _, exp := math.Frexp(mean); mean > 0 && mean-mean == 0 {
		return math.Ldexp(1, exp)
	}
	return 1
}

// turn implements fit.
func (f *smoothFit) turn() (bool, error) {
	for f.at < len(f.forms) {
		x := f.forms[f.at]
		got, ok := (&free{smoother: f.smoother.of(x, f.period), first: firstStates(f.y, f.period, x), unit: f.unit}).best()
		if ok && (f.best == nil || got.AICc < f.best.AICc) {
			f.best = got
		}
		if f.at++; len(f.y) >= manySteps && f.at < len(f.forms) {
			return false, nil
		}
	}
	if f.best == nil {
		return false, pgerr.New(pgerr.NumericValueOutOfRange, "exponential smoothing finds no parameters for a series").WithHint("Use another form, or seasonal_naive.")
	}
	return true, nil
}

// result implements fit.
func (f *smoothFit) result() *forecaster {
	if f.made != nil {
		return f.made
	}
	b := f.best
	x, _ := formOf(b.Form)
	s := f.smoother.of(x, f.period)
	last := b.First
	last.Season = slices.Clone(b.First.Season)
	_, _, _ = s.run(&last)
	n := float64(len(s.y))
	p := &forecaster{Form: b.Form, Period: int64(f.period), Alpha: last.Alpha, Beta: last.Beta, Gamma: last.Gamma, Phi: last.Phi,
		Level: float64(last.Level * f.scale), Trend: float64(last.Trend * f.scale), Season: last.Season,
		AICc: b.AICc + float64(2*n*f64.Log1(f.scale))}
	for t, v := range s.y {
		e := float64((v - s.fitted[t]) * f.scale)
		p.MSE += float64(e * e)
		p.MAE += math.Abs(e)
	}
	p.MSE, p.MAE = p.MSE/n, p.MAE/n
	free := (&free{smoother: s, first: b.First}).parameters() - 1
	p.Sigma2 = b.Squares / math.Max(n-float64(free), 1)
	if !x.relative {
		p.Sigma2 = float64(p.Sigma2 * float64(f.scale*f.scale))
	}
	if x.season == 'A' {
		for j := range p.Season {
			p.Season[j] = float64(p.Season[j] * f.scale)
		}
	}
	f.made = p
	return p
}

func (f *smoothFit) encode(e *canon.E) {
	e.Int(f.at)
	e.Bool(f.best != nil)
	if f.best != nil {
		canon.Put(e, f.best)
	}
}

func (f *smoothFit) decode(d *canon.D) {
	if f.at = d.Int(); f.at < 0 || f.at > len(f.forms) {
		d.Fail()
		return
	}
	if f.best = nil; d.Bool() {
		b := canon.Get[fitted](d)
		x, ok := formOf(b.Form)
		if want := f.smoother.of(x, f.period).m; !ok || len(b.First.Season) != want {
			d.Fail()
		}
		f.best = b
	}
}
