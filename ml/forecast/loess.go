package forecast

import "math"

// seasonSpan is how many seasons smooth the values of one step of a season, as in the R package's mstl.
const seasonSpan = 11

// decompose divides a series into a season that may change with time, a trend and the rest, by loess (Cleveland et al. 1990,
// without the robust weights): twice the season from what is beside the trend, and the trend from what is beside the season.
func decompose(y []float64, m int) (season, trend []float64) {
	n := len(y)
	season, trend = make([]float64, n), make([]float64, n)
	low := m | 1
	span := int(math.Ceil(1.5*float64(m)/(1-1.5/float64(seasonSpan)))) | 1
	cycle, rest := make([]float64, n+2*m), make([]float64, n)
	for range 2 {
		// Each step of a season by itself, a season longer at both ends.
		for j := range m {
			var part []float64
			for t := j; t < n; t += m {
				part = append(part, y[t]-trend[t])
			}
			for i, v := range loess(part, seasonSpan, false, 1) {
				cycle[j+i*m] = v
			}
		}
		// What varies slowly in it belongs to the trend.
		slow := loess(moving(moving(moving(cycle, m), m), 3), low, true, 0)
		for t := range n {
			season[t] = cycle[t+m] - slow[t]
			rest[t] = y[t] - season[t]
		}
		trend = loess(rest, span, true, 0)
	}
	return season, trend
}

// moving returns the means of k values that follow each other.
func moving(v []float64, k int) []float64 {
	out := make([]float64, len(v)-k+1)
	sum := 0.0
	for i, x := range v {
		if sum += x; i >= k {
			sum -= v[i-k]
		}
		if i >= k-1 {
			out[i-k+1] = sum / float64(k)
		}
	}
	return out
}

// loess smooths a series by the line, or the mean, of the nearest span values, of cubic weights that fall with the distance; beyond
// places more at each end.
func loess(v []float64, span int, line bool, beyond int) []float64 {
	n := len(v)
	out := make([]float64, n+2*beyond)
	for i := range out {
		at := i - beyond
		from := min(max(at-span/2, 0), max(n-span, 0))
		to := min(from+span, n)
		width := float64(max(at-from, to-1-at))
		if span > n {
			width += float64((span - n) / 2)
		}
		var sw, sx, sy, sxx, sxy float64
		for j := from; j < to; j++ {
			x := float64(j - at)
			r := math.Abs(x) / (width + 1e-9)
			if r >= 0.999 {
				continue
			}
			w := 1.0
			if r > 0.001 {
				c := 1 - float64(float64(r*r)*r)
				w = float64(float64(c*c) * c)
			}
			sw += w
			sx += float64(w * x)
			sy += float64(w * v[j])
			sxx += float64(w * float64(x*x))
			sxy += float64(w * float64(x*v[j]))
		}
		if sw == 0 {
			out[i] = v[min(max(at, 0), n-1)]
			continue
		}
		mean, x := sy/sw, sx/sw
		if d := sxx - float64(x*sx); line && d > 1e-9 {
			mean -= float64(x * ((sxy - float64(x*sy)) / d))
		}
		out[i] = mean
	}
	return out
}
