package forecast

import "math"

// seasons returns the mean of each step of a season, as an addition whose sum is 0 or as a factor of mean 1, by the
// classical decomposition: beside a moving average over a season. of short series, of less than three seasons, it is
// beside their mean.
func seasons(y []float64, m int, times bool) []float64 {
	n := len(y)
	sum, count := make([]float64, m), make([]float64, m)
	add := func(t int, level float64) {
		v := y[t] - level
		if times {
			v = y[t] / level
		}
		if v-v == 0 {
			sum[t%m] += v
			count[t%m]++
		}
	}
	if n >= 3*m {
		half := m / 2
		for t := half; t+half < n; t++ {
			level := 0.0
			for j := -half; j <= half; j++ {
				w := 1.0
				if m%2 == 0 && (j == -half || j == half) {
					w = 0.5
				}
				level += float64(w * y[t+j])
			}
			add(t, level/float64(m))
		}
	} else {
		mean := 0.0
		for _, v := range y {
			mean += v
		}
		for t := range y {
			add(t, mean/float64(n))
		}
	}
	total := 0.0
	for j := range sum {
		if count[j] > 0 {
			sum[j] /= count[j]
		} else if times {
			sum[j] = 1
		}
		if times {
			sum[j] = math.Max(sum[j], 1e-2)
		}
		total += sum[j]
	}
	total /= float64(m)
	for j := range sum {
		if times {
			sum[j] /= total
		} else {
			sum[j] -= total
		}
	}
	return sum
}

// firstStates returns states for a form to begin from: seasons by decomposition, and level and trend by a line
// through the first values without their season (Hyndman and Khandakar 2008, section 2.1).
func firstStates(y []float64, m int, f form) (x states) {
	x.Season = []float64{0}
	if f.season != 'N' {
		x.Season = seasons(y, m, f.season == 'M')
	}
	n := min(max(10, 2*m), len(y))
	at := func(t int) float64 {
		switch s := x.Season[t%len(x.Season)]; f.season {
		case 'A':
			return y[t] - s
		case 'M':
			return y[t] / s
		}
		return y[t]
	}
	var sum, line, square float64
	mid := float64(n+1) / 2 // of 1 … n
	for t := range n {
		sum += at(t)
	}
	mean := sum / float64(n)
	if f.trend == 'N' {
		x.Level = mean
		return x
	}
	for t := range n {
		d := float64(t+1) - mid
		line += float64(d * (at(t) - mean))
		square += float64(d * d)
	}
	x.Trend = line / square
	x.Level = mean - float64(x.Trend*mid)
	return x
}
