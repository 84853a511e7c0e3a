package forecast

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// form is a model of exponential smoothing: how error, trend and season work together.
type form struct {
	relative bool // the error: relative to the mean, or added
	trend    byte // 'N' none, 'A' added, 'D' added and damped
	season   byte // 'N' none, 'A' added, 'M' times
}

// String is the form's name, such as AAdM.
func (f form) String() string {
	s := "A"
	if f.relative {
		s = "M"
	}
	if s += string(f.trend); f.trend == 'D' {
		s = s[:1] + "Ad"
	}
	return s + string(f.season)
}

// forms are all that are fitted, in the order in which equals win. Those of an added error and a season that multiplies are
// not among them: their forecasts have no finite variance (Hyndman et al. 2008, section 15.2).
var forms = func() (out []form) {
	for _, relative := range []bool{false, true} {
		for _, season := range []byte("NAM") {
			for _, trend := range []byte("NAD") {
				if relative || season != 'M' {
					out = append(out, form{relative, trend, season})
				}
			}
		}
	}
	return out
}()

// formOf returns the form of this name.
func formOf(name string) (form, bool) {
	for _, f := range forms {
		if f.String() == name {
			return f, true
		}
	}
	return form{}, false
}

// states are the parameters of a form, and its states at one time.
type states struct {
	Alpha, Beta, Gamma, Phi float64
	Level, Trend            float64
	Season                  []float64 // the next step's first
}

// smoother computes the likelihood of a form, and its derivatives, by a pass over a series and one back.
type smoother struct {
	form
	y      []float64
	m      int // steps of a season, 1 for none
	floor  float64
	fitted []float64 // means one step ahead
	level  []float64 // before each step
	trend  []float64
	season []float64
}

// newSmoother returns a smoother of no form; see of.
func newSmoother(y []float64) *smoother {
	s := &smoother{y: y}
	n := len(y)
	all := make([]float64, 4*n)
	s.fitted, s.level, s.trend, s.season = all[:n], all[n:2*n], all[2*n:3*n], all[3*n:]
	s.floor = 1e-16 * float64(n) // of squared errors, for series without any
	return s
}

// of turns to a form, with seasons of m steps.
func (s *smoother) of(f form, m int) *smoother {
	if s.form, s.m = f, m; f.season == 'N' {
		s.m = 1
	}
	return s
}

// run follows a series from first states, which become the last ones. It returns −2 log likelihood, but for a
// constant; ok is false where the form has no mean at some step.
func (s *smoother) run(x *states) (deviance, squares float64, ok bool) {
	alpha, phi, gamma, share := x.Alpha, x.Phi, x.Gamma, 0.0
	if s.trend1() {
		share = x.Beta / x.Alpha
	}
	l, b := x.Level, x.Trend
	scale, exponent := 1.0, 0
	at := 0
	for t, y := range s.y {
		se := x.Season[at]
		s.level[t], s.trend[t], s.season[t] = l, b, se
		damped := float64(phi * b)
		q := l + damped
		f, p := q, y
		switch s.form.season {
		case 'A':
			f, p = q+se, y-se
		case 'M':
			if !(se > 1e-8) {
				return 0, 0, false
			}
			f, p = float64(q*se), y/se
		}
		s.fitted[t] = f
		e := y - f
		if s.relative {
			if !(f > 1e-8) {
				return 0, 0, false
			}
			e /= f
			// A product of means: its logarithm is that of all of them.
			scale = float64(scale * f)
			if scale > 1e100 || scale < 1e-100 {
				frac, exp := math.Frexp(scale)
				scale, exponent = frac, exponent+exp
			}
		}
		squares += float64(e * e)
		next := q + float64(alpha*(p-q))
		if share > 0 {
			b = damped + float64(share*(next-l-damped))
		}
		switch s.form.season {
		case 'A':
			x.Season[at] = se + float64(gamma*(y-q-se))
		case 'M':
			if !(q > 1e-8) {
				return 0, 0, false
			}
			x.Season[at] = se + float64(gamma*(y/q-se))
		}
		l = next
		if at++; at == s.m {
			at = 0
		}
	}
	x.Level, x.Trend = l, b
	rotate(x.Season, at)
	if squares-squares != 0 || l-l != 0 || b-b != 0 {
		return 0, 0, false
	}
	deviance = float64(float64(len(s.y)) * f64.Log1(squares+s.floor))
	if s.relative {
		deviance += float64(2 * (f64.Log1(scale) + float64(float64(exponent)*math.Ln2)))
	}
	return deviance, squares, true
}

func (s *smoother) trend1() bool { return s.form.trend != 'N' }

// rotate turns a list so that it begins with what was at from.
func rotate(v []float64, from int) {
	if from > 0 {
		copy(v, append(append([]float64{}, v[from:]...), v[:from]...))
	}
}

// back returns the derivatives of the deviance by the parameters and first states, after run with x: reverse
// differentiation of its steps. x are the first states.
func (s *smoother) back(x *states, squares float64) (d states) {
	d.Season = make([]float64, len(x.Season))
	share := 0.0
	if s.trend1() {
		share = x.Beta / x.Alpha
	}
	each := float64(2*len(s.y)) / (squares + s.floor)
	var gl, gb, gshare float64 // by the states after the step
	gs := d.Season
	n := len(s.y)
	at := n % s.m // of the states after the last step
	for t := n - 1; t >= 0; t-- {
		if at--; at < 0 {
			at = s.m - 1
		}
		y, l, b, se, f := s.y[t], s.level[t], s.trend[t], s.season[t], s.fitted[t]
		damped := float64(x.Phi * b)
		q := l + damped
		p := y
		var gq, gp, gdamped, before float64
		switch s.form.season {
		case 'A':
			p = y - se
		case 'M':
			p = y / se
		}
		// The trend.
		if share > 0 {
			next := q + float64(x.Alpha*(p-q))
			gshare += float64(gb * (next - l - damped))
			gdamped = float64(gb * (1 - share))
			v := float64(gb * share)
			gl += v
			before = -v
		}
		// The season.
		was := gs[at]
		switch s.form.season {
		case 'A':
			d.Gamma += float64(was * (y - q - se))
			gs[at] = float64(was * (1 - x.Gamma))
			gq -= float64(was * x.Gamma)
		case 'M':
			d.Gamma += float64(was * (y/q - se))
			gs[at] = float64(was * (1 - x.Gamma))
			gq -= float64(float64(was*x.Gamma) * (y / float64(q*q)))
		}
		// The level.
		d.Alpha += float64(gl * (p - q))
		gq += float64(gl * (1 - x.Alpha))
		gp = float64(gl * x.Alpha)
		// The mean.
		var gf float64
		if s.relative {
			r := (y - f) / f
			gf = 2/f - float64(float64(each*r)*(y/float64(f*f)))
		} else {
			gf = -float64(each * (y - f))
		}
		switch s.form.season {
		case 'N':
			gq += gf
		case 'A':
			gq += gf
			gs[at] += gf - gp
		case 'M':
			gq += float64(gf * se)
			gs[at] += float64(gf*q) - float64(gp*(y/float64(se*se)))
		}
		gl = before + gq
		gdamped += gq
		d.Phi += float64(gdamped * b)
		gb = float64(gdamped * x.Phi)
	}
	d.Level, d.Trend = gl, gb
	// share = β/α
	if share > 0 {
		d.Beta = gshare / x.Alpha
		d.Alpha -= float64(gshare*share) / x.Alpha
	}
	return d
}
