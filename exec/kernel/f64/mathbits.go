package f64

import "math"

// LogAll writes math.Log of each of x to y, to the bit.
func LogAll(y, x []float64) {
	n := len(x) &^ (Lanes - 1)
	if n > 0 {
		logs(y[:n], x[:n])
	}
	for i, v := range x[:n] {
		if !(v > 0 && v <= math.MaxFloat64) {
			y[i] = math.Log(v)
		}
	}
	logsGo(y[n:len(x)], x[n:])
}

// ExpAll writes math.Exp of each of x to y, to the bit.
func ExpAll(y, x []float64) {
	n := len(x) &^ (Lanes - 1)
	if n > 0 {
		exps(y[:n], x[:n])
	}
	for i, v := range x[:n] {
		if !(v >= expMin && v <= -expMin) {
			y[i] = math.Exp(v)
		}
	}
	expsGo(y[n:len(x)], x[n:])
}

// sineMax is the size from which math.Sin and math.Cos find the octant in many digits of pi.
const sineMax = 1 << 29

// SinAll writes math.Sin of each of x to y, to the bit.
func SinAll(y, x []float64) { sinesAll(y, x, sines, math.Sin) }

// CosAll writes math.Cos of each of x to y, to the bit.
func CosAll(y, x []float64) { sinesAll(y, x, cosines, math.Cos) }

func sinesAll(y, x []float64, all func(y, x []float64), one func(float64) float64) {
	n := len(x) &^ (Lanes - 1)
	if n > 0 {
		all(y[:n], x[:n])
	}
	for i, v := range x[:n] {
		if !(v > -sineMax && v < sineMax) {
			y[i] = one(v)
		}
	}
	for i, v := range x[n:] {
		y[n+i] = one(v)
	}
}

// sinesGo and cosinesGo are for any numbers; the other bodies are for those below sineMax in size.
func sinesGo(y, x []float64) {
	for i, v := range x {
		y[i] = math.Sin(v)
	}
}

func cosinesGo(y, x []float64) {
	for i, v := range x {
		y[i] = math.Cos(v)
	}
}

// logsGo is for any numbers; the other bodies are for positive ones.
func logsGo(y, x []float64) {
	for i, v := range x {
		y[i] = math.Log(v)
	}
}

// expsGo is for any numbers; the other bodies are for those of expMin to -expMin.
func expsGo(y, x []float64) {
	for i, v := range x {
		y[i] = math.Exp(v)
	}
}
